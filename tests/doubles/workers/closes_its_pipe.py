"""Closes its pipe and stays alive."""

import os
import signal

from pipe_ends import receive, replies

receive()
os.close(replies)
signal.pause()
