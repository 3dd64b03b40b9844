"""The definition of an environment: a Python, pinned requirements, and what else a framework needs to run in it."""

import hashlib
import json
import platform
from dataclasses import dataclass

from pytest_dlbench.environments import local
from pytest_dlbench.environments.cuda import Cuda
from pytest_dlbench.environments.programs import Program

# Incremented when the build process changes, so that environments built before are not reused.
LAYOUT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A virtual environment that can be built.

    ``python`` is a minor version such as "3.11". ``requirements`` use pip's own notation, or are one path of a
    requirements file (``requirements_file``). ``build_constraints`` pin what source distributions are built with.
    ``steps`` are names in ``building.STEPS``, run after the installation. ``since`` is the oldest version of the
    framework that can replace the pinned one. ``programs`` are those of the system that building or running needs.
    """

    name: str
    python: str
    requirements: tuple[str, ...]
    build_constraints: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    steps: tuple[str, ...] = ()
    since: str = "0"
    programs: tuple[Program, ...] = ()
    notes: str = ""
    cuda: Cuda | None = None
    """What its build for CUDA needs of a machine; None for a build for processors."""

    @property
    def folder_name(self) -> str:
        """The name and a hash of the definition: a changed pin, or local file, gives another environment."""
        content = [LAYOUT, platform.machine(), self.python, self.requirements, self.build_constraints, self.steps]
        if files := local.digests(self.requirements):
            content.append(files)
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
        return f"{self.name}-{digest}"
