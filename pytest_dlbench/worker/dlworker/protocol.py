"""JSON lines over two inherited pipes: one request in, one answer out.

An answer is ``{"status": "done", ...}`` or ``{"status": "failed", "kind": ..., "message": ..., "traceback": ...}``.
Standard output is not part of it: frameworks may write there, and it goes to the log.
"""

import json
import os

VERSION = 1
# NaN is not JSON: a loss that is not finite travels as text, see training.py. Made once: a pair waits for each answer.
ENCODER = json.JSONEncoder(allow_nan=False)


class RequestError(Exception):
    """A request that this worker cannot serve; ``kind`` is what the driver acts on."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Channel:
    """The worker's ends of the two pipes."""

    def __init__(self, request_fd, reply_fd):
        self.requests = os.fdopen(request_fd, "rb")
        self.replies = os.fdopen(reply_fd, "wb")

    def receive(self):
        """The next request, or None when the driver has closed the pipe."""
        line = self.requests.readline()
        return json.loads(line.decode("utf-8")) if line else None

    def send(self, line):
        """Send one encoded answer, flushed before this returns."""
        self.replies.write(line)
        self.replies.flush()


def encode(answer):
    """An answer as one line; raises TypeError or ValueError for what JSON cannot represent."""
    return ENCODER.encode(answer).encode("utf-8") + b"\n"


def required(request, field):
    """A field of a request; raises RequestError naming the field if it is missing."""
    if field not in request:
        raise RequestError("bad_request", "request %r lacks the field %r" % (request.get("op"), field))
    return request[field]
