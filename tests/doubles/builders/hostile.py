"""The NumPy double as somebody would write it who wants to reach the terminal, the log and the page."""

import sys

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

TEXT = (
    "\x1b[31mred\x9b2J\r\n::error file=a.py::forged\n##[error]forged\nsection_start:1:forged\r\x1b[0K\n"
    "<script>window.hacked=1</script>\u202edesrever\u200b"
)


def versions():
    return {"hostile": TEXT}


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        sys.stderr.buffer.write((TEXT + "\n").encode())
        sys.stderr.flush()
        raise ValueError(TEXT)
