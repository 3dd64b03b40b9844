"""Sends a line that has no end."""

from pipe_ends import receive, send

receive()
while True:
    send(b"[" * 2**16)
