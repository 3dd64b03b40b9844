"""``dlbench calibrate``: measure what the gate can detect on this machine."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, cast

from pytest_dlbench.cli.cases import (
    SETTINGS,
    Cell,
    declare_settings,
    live,
    options_of,
    planner,
    registry_of,
    session_of,
)
from pytest_dlbench.cli.output import Commands, answer, command
from pytest_dlbench.cli.tested import taken
from pytest_dlbench.environments import Framework
from pytest_dlbench.errors import OptionError
from pytest_dlbench.options.parsers import positive_int
from pytest_dlbench.planning.registry import Registry
from pytest_dlbench.planning.sides import Side
from pytest_dlbench.records import Calibration, codec
from pytest_dlbench.records.reasons import Reason
from pytest_dlbench.reporting import calibrations as reporting
from pytest_dlbench.reporting import explain
from pytest_dlbench.storing.calibrations import FOLDER, CalibrationStore

if TYPE_CHECKING:
    from pytest_dlbench.reporting.progress import Live
    from pytest_dlbench.running.run_spec import RunSpec
    from pytest_dlbench.workflows.session import Session

WHERE = "dlbench calibrate"
INTERRUPTED = 130
# That is ten runs in a row, enough to show their spread.
FEWEST_PAIRS = 5
# Two small models of different kinds, which train within seconds.
MODELS = ("tartu-mnist-cnn", "gatech-lenet")
DATASETS = ("digits28",)
AXES = ("frameworks", "models", "datasets", "devices")
# A case against itself, and with each of its faults.
PARTS = 7
MORE = """
Each case is first run against itself in pairs, as with --dlbench-ab: any change detected is a false alarm, and the
spread of the runs determines the smallest tolerance at which the gate can decide. Then faults are planted on one side:
steps that take 10, 5, 2 and 1 % longer (the worker spins after every step; the tolerance is half the slowdown, and once
a slowdown is missed, smaller ones are not tried), half the learning rate, and dropout switched off.

The result is stored per case and machine class alongside the baselines, where the gate reads it. Without names, the
first framework that is installed trains two small models on the embedded digits. With TESTS, such as
tests/test_ours.py, what their calls of dlbench.measure and dlbench.train run is calibrated; in programs of your own,
only slowdowns are planted, and in inference and operators nothing.

examples:
  dlbench calibrate
  dlbench calibrate --frameworks pytorch,jax --models tartu-mnist-cnn --datasets digits28 --pairs 20
  dlbench calibrate "tests/test_ours.py::test_ours[64]" --pairs 20
  dlbench calibrate --frameworks pytorch --scale full --tolerance step_time:3% --json

exit status: 0 all cases calibrated, no false alarm, and your tolerances can be resolved; 1 a false alarm, or a
case could not be run; 2 usage error; 3 a tolerance is too tight for this machine; 130 Ctrl-C: what was
measured by then is stored and reported
"""


def declare(commands: Commands) -> None:
    """Add ``calibrate``."""
    parser = command(commands, "calibrate", help_text="Measure what the gate can detect on this machine.", more=MORE)
    parser.add_argument("tests", metavar="TESTS", nargs="*", help="Files of tests, or node IDs, in place of names.")
    parser.add_argument("--pairs", metavar="N", default="10", help="Pairs of each case against itself, 5 or more [10].")
    declare_settings(parser, (*AXES, *SETTINGS, "tolerance", "build", "baselines"))
    parser.set_defaults(run=_calibrate)


def _calibrate(asked: argparse.Namespace) -> int:
    # Late: what measures is slow to load.
    from pytest_dlbench.workflows import calibrate  # noqa: PLC0415

    pairs = positive_int(asked.pairs, "--pairs")
    if pairs < FEWEST_PAIRS:
        raise OptionError(f"--pairs: expected {FEWEST_PAIRS} or more, got {pairs}: too few to estimate the spread")
    subjects, progress = (_of_tests if asked.tests else _of_matrix)(asked)
    session = subjects[0].session
    kept = _Kept(CalibrationStore(folder=session.storage.baselines))
    is_whole = True
    try:
        for one in subjects:
            if reason := calibrate.attempt(one.session, one.spec, pairs, partial(kept.keep, one.session)):
                kept.failed[one.name] = reason
    except KeyboardInterrupt:
        is_whole = False
    finally:
        progress.clear()
    failed = {name: explain.text(reason) for name, reason in kept.failed.items()}
    told = {"calibrations": list(kept.found.values()), "failed": failed, "journal": str(session.journal.path)}
    answer(asked, codec.builtins(told), _lines(session, kept))
    return _status(kept) if is_whole else INTERRUPTED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """What is calibrated; ``spec`` raises DlbenchError."""

    name: str
    session: "Session"
    spec: "Callable[[], RunSpec]"


def _of_matrix(asked: argparse.Namespace) -> "tuple[list[_Subject], Live]":
    """The cells that the options choose."""
    registry, options = registry_of(asked), options_of(asked)
    cells = [
        Cell(model=model, dataset=dataset, device=device)
        for model, dataset, device in product(
            options.models or MODELS, options.datasets or DATASETS, options.devices or ("cpu",)
        )
    ]
    session, progress = session_of(options, len(cells) * PARTS)
    specs_of = {cell: planner(session, registry, cell, WHERE) for cell in cells}
    named = [cast("Framework", registry.find("framework", name, WHERE)) for name in options.frameworks]
    frameworks = named or [_first_here(registry, session)]
    return [
        _Subject(
            name=f"{framework.name}-{cell.model}-{cell.dataset}-{cell.device}",
            session=session,
            spec=partial(specs_of[cell], framework.name),
        )
        for framework, cell in product(frameworks, cells)
    ], progress


def _of_tests(asked: argparse.Namespace) -> "tuple[list[_Subject], Live]":
    """What tests measure, each judged by the tolerances of its test."""
    progress = live(len(asked.tests) * PARTS)
    return [
        _Subject(
            name=handed.node,
            session=replace(handed.session, policy=replace(handed.session.policy, tolerances=handed.tolerance)),
            spec=partial(handed.spec_of, Side(framework=handed.framework)),
        )
        for handed in taken(asked, asked.tests, WHERE, progress)
    ], progress


class _Kept:
    """The results so far, and the sessions that they are of, by case; each result is written to disk at once."""

    def __init__(self, store: CalibrationStore) -> None:
        self._store = store
        self.found: dict[str, Calibration] = {}
        self.sessions: dict[str, Session] = {}
        self.failed: dict[str, Reason] = {}

    def keep(self, session: "Session", calibration: Calibration) -> None:
        """Replace the earlier calibration of the case; ``session`` has the tolerances that it is judged by."""
        self.found[calibration.case.id] = calibration
        self.sessions[calibration.case.id] = session
        self._store.write(calibration)


def _first_here(registry: Registry, session: "Session") -> Framework:
    for framework in registry.values["framework"].values():
        if session.settings.places.ready(cast("Framework", framework)):
            return cast("Framework", framework)
    raise OptionError(f"{WHERE}: no framework is installed; to build one: dlbench env build pytorch")


def _lines(session: "Session", kept: _Kept) -> Iterator[str]:
    # Late, as above.
    from pytest_dlbench.judging.pairs import reported  # noqa: PLC0415

    for name, calibration in kept.found.items():
        own = kept.sessions[name]
        tolerances = {**reported(own.policy.tolerances), **own.policy.tolerances}
        yield from reporting.lines(calibration, tolerances, own.settings.metrics)
    if kept.found:
        yield "* rate over data sets made from these pairs by swapping their sides at random"
        yield f"stored for the gate in {session.storage.baselines / session.settings.machine.name / FOLDER}"
    yield from (f"{name}: {explain.text(reason)}" for name, reason in kept.failed.items())
    yield f"journal: {session.journal.path}"


def _status(kept: _Kept) -> int:
    verdicts = [verdict for one in kept.found.values() for verdict in one.verdicts if verdict.decides]
    if kept.failed or any(verdict.outcome in reporting.CHANGED for verdict in verdicts):
        return 1
    return 3 if any(_is_narrow(one, kept.sessions[name]) for name, one in kept.found.items()) else 0


def _is_narrow(found: Calibration, session: "Session") -> bool:
    """Whether one of its tolerances is below what can be resolved."""
    metrics, tolerances = session.settings.metrics, session.policy.tolerances
    return any(reporting.is_too_narrow(found, metrics[name], tolerances) for name in found.smallest)
