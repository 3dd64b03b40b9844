"""Does nothing at all."""

import signal

signal.pause()
