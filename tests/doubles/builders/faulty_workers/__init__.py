"""The builder that OF in the environment names, whose workers have the fault that a file names (parallel.py)."""

import os
from importlib import import_module

builder = import_module(os.environ["OF"])

SUPPORTS, Trainer, configure, threads, versions = (
    getattr(builder, name) for name in ("SUPPORTS", "Trainer", "configure", "threads", "versions")
)
