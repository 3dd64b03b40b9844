"""Answers with the bytes given in hexadecimal as its first argument, and stays alive."""

import signal
import sys

from pipe_ends import receive, send

receive()
send(bytes.fromhex(sys.argv[1]))
signal.pause()
