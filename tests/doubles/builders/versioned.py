"""clocked.py in several versions, selected by an environment variable."""

import os

import clocked
from clocked import SUPPORTS, configure, threads

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

VERSION = os.environ["DOUBLE_VERSION"]
if VERSION == "broken":
    raise ModuleNotFoundError("this version cannot be imported")


def versions():
    return {"versioned": VERSION}


class Trainer(clocked.Trainer):
    step_seconds = clocked.Trainer.step_seconds * float(os.environ["DOUBLE_FACTOR"])
