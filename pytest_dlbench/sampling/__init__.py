"""Samplers: each reads one resource of a worker from outside, by its process id."""

from pytest_dlbench.sampling.processes import ProcessTree

__all__ = ["ProcessTree"]
