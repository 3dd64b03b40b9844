"""Takes finished runs from the journal of the interrupted session that this one goes on with."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import Any

from pytest_dlbench.environments import contents
from pytest_dlbench.environments.placing import Place
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records import Run, codec
from pytest_dlbench.running.launch import OF_FIGURES
from pytest_dlbench.running.run_spec import NetworkSpec, OperatorSpec, ProgramSpec, RunSpec, recipe_json
from pytest_dlbench.storing.resuming import FinishedRuns


@dataclass(slots=True, kw_only=True)
class Resumption:
    """The runs that need not be made again. ``test`` is the test that runs now, and makes its runs its own."""

    settings: RunSettings
    samplers: Sequence[str] = ()
    recorded: FinishedRuns = field(default_factory=FinishedRuns)
    test: str = ""

    def take(self, spec: RunSpec, index: int) -> Run | None:
        """A finished run of this spec from the journal, if there is one left."""
        return self.recorded.take(spec.case.id, spec.seed + index, self.conditions(spec))

    def take_pair(self, specs: Sequence[RunSpec], index: int) -> tuple[Run, Run] | None:
        """A finished pair, in the order of these two specs."""
        names, conditions = [spec.case.id for spec in specs], [self.conditions(spec) for spec in specs]
        return self.recorded.take_pair(names, specs[0].seed + index, conditions)

    def conditions(self, spec: RunSpec) -> str:
        """A digest of all that the figures of a run depend on, apart from its seed and the state of the machine."""
        place = spec.place
        parts = {
            "test": self.test,
            "case": spec.case,
            "context": self.settings.context(spec),
            "environment": contents.digest(spec.framework, place) if isinstance(place, Place) else "",
            # It draws the first weights and the order of the examples.
            "numpy": _numpy_version(),
            "purpose": spec.purpose,
            "target": spec.target_accuracy,
            "is_timed": spec.is_timed,
            "samplers": sorted(self.samplers),
            "metrics": sorted(self.settings.metrics),
        }
        # Runs without any are those of sessions that are older.
        inherited = {name: os.environ[name] for name in OF_FIGURES if name in os.environ}
        variables = {"variables": inherited} if inherited else {}
        return hashlib.sha256(codec.encode_line(parts | variables | _training(spec))).hexdigest()[:16]


def _training(spec: RunSpec) -> dict[str, Any]:
    if isinstance(spec, NetworkSpec):
        evaluations = spec.evaluations, spec.evaluate_after
        # Runs without these are those of sessions that are older.
        broken_down = {"broken_down": spec.has_layers_timed} if spec.is_broken_down else {}
        saved = {"checkpoint": True} if spec.is_saved else {}
        return {"recipe": recipe_json(spec.recipe), "evaluations": evaluations, **broken_down, **saved}
    if isinstance(spec, OperatorSpec):
        return {"operator": spec.work, "steps": spec.steps}
    assert isinstance(spec, ProgramSpec)
    # Any file of its repository may be imported.
    return {"program": spec.program, "sources": contents.sources(spec.root), "steps": spec.steps}


@cache
def _numpy_version() -> str:
    """It takes a millisecond to read, and every run depends on it."""
    return metadata.version("numpy")
