"""What an environment is: a Python, pinned requirements, and what else it takes to make a framework run in it."""

import hashlib
import json
import platform
from dataclasses import dataclass

# Raised when building itself changes, so that what was built before is not taken for what would be built now.
LAYOUT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A virtual environment that can be built.

    ``python`` is a minor version such as "3.11". ``requirements`` are pip's own notation, or one path of a
    requirements file (``requirements_file``). ``build_constraints`` pin what source distributions are built with.
    ``steps`` are names of ``building.STEPS``, done after the installation. ``since`` is the oldest version of the
    framework that these pins serve when another version than the pinned one is asked for.
    """

    name: str
    python: str
    requirements: tuple[str, ...]
    build_constraints: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    steps: tuple[str, ...] = ()
    since: str = "0"
    notes: str = ""

    @property
    def folder_name(self) -> str:
        """Its name and a hash of all that is built: an edited pin is another environment."""
        content = [LAYOUT, platform.machine(), self.python, self.requirements, self.build_constraints, self.steps]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
        return f"{self.name}-{digest}"
