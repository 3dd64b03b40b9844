"""A program: a training loop of the user's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is run.

    ``source`` is a file, relative to the folder of its repository, or the name of a module; ``function`` is the one
    that is called in it, empty if it defines none of those that would be. ``parameters`` are JSON values by name.
    """

    source: str
    function: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_loop(self) -> bool:
        """Whether it is a loop of its own, ``main(run)``, rather than steps that can be taken one by one."""
        return self.function == "main" or self.function.startswith("main_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a program reported at the end of its run.

    ``values`` are figures by name, of its evaluation and of ``run.report``; ``evaluation_seconds`` is None if it has no
    evaluation of its own, ``flops_per_step`` if it did not state it.
    """

    values: Mapping[str, float]
    evaluation_seconds: float | None = None
    flops_per_step: float | None = None
