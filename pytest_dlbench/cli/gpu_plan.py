"""``dlbench gpu-plan``: what would run on another GPU than this machine has."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_dlbench.cli.output import Commands, answer, command
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.options.parsers import names
from pytest_dlbench.planning.matrix import SCALES
from pytest_dlbench.planning.registry import ALL, KNOWN

if TYPE_CHECKING:
    from pytest_dlbench.judging.data_sheets import Card
    from pytest_dlbench.planning.gpu_plan import Planned

WHERE = "dlbench gpu-plan"
SEED, TIMEOUT_SECONDS = 1, 600.0
MORE = """
A dry run for one model of GPU, by its data sheet: which cases would run, in which environment, how much memory they
need at least, how long a run should take, and why the others would not. Nothing is installed and no GPU is needed.

The expected seconds are a model's. Import, build and first step of each framework are measured, on a processor; the
time to launch kernels in three frameworks, and 2 s for a GPU to start, on one H100. A step is assumed to reach 30 % of
the data sheet's arithmetic.

examples:
  dlbench gpu-plan H100
  dlbench gpu-plan T4 --frameworks 'keras-*' --models mnist-cnn,lenet
  dlbench gpu-plan K80 --json | jq '.cases[] | select(.reason == "")'

exit status: 0 planned, 2 usage error, or no such GPU, framework or model
"""


def declare(commands: Commands) -> None:
    """Add ``gpu-plan``."""
    text = "Show which cases would run on a model of GPU, and why others would not."
    parser = command(commands, "gpu-plan", help_text=text, more=MORE)
    parser.add_argument("card", metavar="GPU", help="A model of GPU, such as K80, T4, A100-40GB or B200.")
    parser.add_argument("--frameworks", default=ALL, metavar="NAMES", help="Names, patterns or all [all].")
    parser.add_argument("--models", default=ALL, metavar="NAMES", help="Names, patterns or all [all].")
    parser.add_argument("--scale", default="quick", choices=SCALES, help="How much a run trains [quick].")
    parser.set_defaults(run=_plan)


def _plan(asked: argparse.Namespace) -> int:
    # Late: what plans runs is slow to load.
    from pytest_dlbench.judging.data_sheets import CARDS  # noqa: PLC0415
    from pytest_dlbench.planning.gpu_plan import planned  # noqa: PLC0415
    from pytest_dlbench.planning.plan import RunSettings  # noqa: PLC0415
    from pytest_dlbench.sampling.machine import this_machine  # noqa: PLC0415

    named = {name.lower(): card for name, card in CARDS.items()}
    card = named.get(asked.card.lower())
    if card is None:
        raise OptionError(unknown_name("GPU", asked.card, WHERE, CARDS))
    settings = RunSettings(
        machine=this_machine(), scale=asked.scale, threads=1, seed=SEED, timeout_seconds=TIMEOUT_SECONDS
    )
    cases = list(planned(card, _values("framework", asked.frameworks), _values("model", asked.models), settings))
    answer(asked, {"gpu": asdict(card), "cases": [asdict(case) for case in cases]}, _lines(card, cases))
    return 0


def _values(axis: str, text: str) -> Any:
    return [value for name in names(text, WHERE) for value in KNOWN.matching(axis, name, WHERE)]


def _lines(card: "Card", cases: "Sequence[Planned]") -> Iterator[str]:
    yield f"{card.name}: {card.memory_gib} GiB, driver {card.driver} assumed; steps and memory of a run are minima"
    yield "seconds: start + first step + timed steps + evaluation, by a model with figures of one H100"
    memory, runs = card.memory_gib * 1024, [case for case in cases if not case.reason]
    for case in runs:
        yield (
            f"{case.framework}-{case.model}: {case.environment}, {case.steps:,} steps,"
            f" {case.least_bytes / 2**20:,.0f} of {memory:,} MiB, {_seconds(case)}"
        )
    reasons: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        if case.reason:
            reasons.setdefault((case.framework, case.reason), []).append(case.model)
    for (framework, reason), models in reasons.items():
        yield f"not {framework} ({', '.join(models) if len(models) < 4 else f'{len(models)} models'}): {reason}"
    minutes = sum(case.expected_seconds for case in runs) / 60
    yield f"total: {len(runs)} of {len(cases)} cases would run, about {minutes:.0f} min for one run of each"


def _seconds(case: "Planned") -> str:
    """``9.4 s (3.6 + 0.4 + 5.2 + 0.2)``."""
    assert case.parts
    found = case.parts
    shown = (found.start_seconds, found.first_step_seconds, found.timed_seconds, found.evaluation_seconds)
    return f"{case.expected_seconds:.1f} s ({' + '.join(f'{seconds:.1f}' for seconds in shown)})"
