"""Programs of the system that frameworks need, and that no Python package brings."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that must be on PATH, under one of its names.

    ``purpose`` is what it is needed for. ``debian`` are the packages of Debian and Ubuntu that bring it, ``elsewhere``
    says what to look for on other systems.
    """

    names: tuple[str, ...]
    purpose: str
    debian: str
    elsewhere: str

    @property
    def is_there(self) -> bool:
        """Whether it is on PATH."""
        return any(map(shutil.which, self.names))

    @property
    def lacking(self) -> str:
        """What is missing, and what brings it, in one line."""
        bring = f"Debian and Ubuntu: apt install {self.debian}; elsewhere: {self.elsewhere}"
        return f"{' or '.join(self.names)}, which {self.purpose}, is not on PATH ({bring})"


CLANG = Program(
    names=("clang",),
    purpose="compiles its kernels",
    debian="clang",
    elsewhere="the C compiler of LLVM, usually the package clang",
)
CXX = Program(
    names=("g++",),
    purpose="compiles its kernels",
    debian="g++",
    elsewhere="the C++ compiler of GCC, such as gcc-c++ (Fedora) or gcc (Arch)",
)
CC = Program(
    names=("cc", "gcc"),
    purpose="compiles a stub of MPI",
    debian="gcc libc6-dev",
    elsewhere="a C compiler with its headers, such as gcc and glibc-devel (Fedora)",
)
NM = Program(
    names=("nm",),
    purpose="lists the symbols of the MPI stub",
    debian="binutils",
    elsewhere="GNU binutils, usually the package binutils",
)

MPIEXEC = Program(
    names=("mpiexec",),
    purpose="starts the processes of MPI",
    debian="openmpi-bin",
    elsewhere="Open MPI 4 with its libraries, usually the package openmpi",
)


def lacking(name: str, programs: Iterable[Program]) -> str:
    """What ``name`` needs but this machine does not have, a line each; empty if nothing is missing."""
    lines = [program.lacking for program in programs if not program.is_there]
    return "\n  ".join([f"{name} cannot run on this machine:", *lines]) if lines else ""
