"""What computes a recurrent layer."""

from typing import Literal

RecurrentKernel = Literal["cudnn", "onednn", "fused", "scan", "unrolled", "loop"]
"""The kinds of kernels.

One call for all steps, of a library or of the framework's own operator ("fused"); a loop within a graph or compiled
program; a graph or program that has each step; or calls step by step from outside.
"""
