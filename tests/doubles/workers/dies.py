"""Prints something and is killed by the signal named in its first argument, or calls abort() without one."""

import os
import signal
import sys

from pipe_ends import receive

receive()
for number in range(30):
    print("line %d" % number, flush=True)
os.write(2, b"*** Error in `python': free(): invalid pointer")
if sys.argv[1] == "abort":
    os.abort()
os.kill(os.getpid(), getattr(signal, sys.argv[1]))
signal.pause()
