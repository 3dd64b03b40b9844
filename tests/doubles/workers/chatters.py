"""Prints four megabytes to each stream, through Python and bypassing it, and then answers."""

import os
import sys

from pipe_ends import DONE, receive, send

receive()
print("{" + "p" * 2**20)
sys.stderr.write("e" * 2**22)
for _ in range(48):
    os.write(1, b"f" * 2**16)
print("\nthe last line")
send(DONE)
receive()
