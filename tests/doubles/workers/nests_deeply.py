"""Answers with JSON of a hundred thousand nested lists."""

import signal

from pipe_ends import receive, send

receive()
send(b"[" * 10**5 + b"]" * 10**5 + b"\n")
signal.pause()
