"""A real local HTTP server that serves a few files, with ranges, and misbehaves on request."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class FileServer(ThreadingHTTPServer):
    """``cuts`` lists after how many body bytes each of the next responses ends; ``asked`` the requested ranges."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.etag = '"first"'
        self.cuts: list[int] = []
        self.has_ranges = True
        self.shift = 0
        self.encoding = ""
        self.asked: list[str] = []

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        server = self.server
        server.asked.append(self.headers.get("Range", ""))
        body = server.files.get(self.path.lstrip("/"))
        if body is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        first = self._first()
        if first >= len(body) and first:
            self._answer(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, b"", {"Content-Range": f"bytes */{len(body)}"})
        elif first:
            shown = f"bytes {first + server.shift}-{len(body) - 1}/{len(body)}"
            self._answer(HTTPStatus.PARTIAL_CONTENT, body[first + server.shift :], {"Content-Range": shown})
        else:
            self._answer(HTTPStatus.OK, body, {})

    def _first(self) -> int:
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        is_same = self.headers.get("If-Range", self.server.etag) == self.server.etag
        return int(wanted[1]) if wanted and is_same and self.server.has_ranges else 0

    def _answer(self, status: HTTPStatus, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "ETag": self.server.etag, "Content-Encoding": self.server.encoding}.items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.cuts.pop(0)] if self.server.cuts and body else body)
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def serving() -> Iterator[FileServer]:
    """A server that runs until the end of the block."""
    with FileServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
