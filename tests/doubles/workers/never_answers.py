"""Reads, but never answers. It ignores the signals that a shell would send."""

import signal

from pipe_ends import receive

for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
receive()
while True:
    signal.pause()
