"""Starts a child that holds both pipes and outlives it; prints its id. Then answers, or dies, by its first argument."""

import os
import signal
import sys

from pipe_ends import DONE, receive, send

receive()
child = os.fork()
if not child:
    signal.pause()
print(child, flush=True)
if sys.argv[1] == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
send(DONE)
