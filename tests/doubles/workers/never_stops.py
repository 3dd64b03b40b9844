"""Sends an endless line."""

from pipe_ends import receive, send

receive()
while True:
    send(b"[" * 2**16)
