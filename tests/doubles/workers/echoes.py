"""Answers as it should: with how long the request was."""

from pipe_ends import receive, send

while True:
    send(b'{"status": "done", "length": %d}\n' % len(receive()))
