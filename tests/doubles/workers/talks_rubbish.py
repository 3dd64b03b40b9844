"""Answers with the bytes that are, in hexadecimal, its first argument, and lives on."""

import signal
import sys

from pipe_ends import receive, send

receive()
send(bytes.fromhex(sys.argv[1]))
signal.pause()
