"""Placeholder until the helper's file arrives."""

from pathlib import Path


def build(python: Path) -> None:
    raise NotImplementedError
