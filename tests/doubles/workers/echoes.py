"""Answers correctly, with the length of the request."""

from pipe_ends import receive, send

while True:
    send(b'{"status": "done", "length": %d}\n' % len(receive()))
