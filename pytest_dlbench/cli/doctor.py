"""``dlbench doctor``: what makes this machine's figures noisy, and what observing costs."""

import argparse

from pytest_dlbench.cli.output import Commands, answer, command
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.records.codec import builtins

MORE = """
examples:
  dlbench doctor                               what makes noise on this machine, and what to do about each
  dlbench doctor --observer                    what sampling costs a training, as a ratio of step times
  dlbench doctor --observer --framework jax --pairs 300
  dlbench doctor --observer --rate 5           with five times the looks: the answer should be the same

exit status: 0 told, 2 a wrong call, or a training that did not finish
"""
MODEL, DATASET = "tartu-mnist-cnn", "digits28"
SEED, TIMEOUT_SECONDS = 1, 600.0


def declare(commands: Commands) -> None:
    """Add ``doctor``."""
    text = "Tell what makes this machine's figures noisy, or what observing costs."
    parser = command(commands, "doctor", help_text=text, more=MORE)
    parser.add_argument("--observer", action="store_true", help="Train, and sample often in every other second.")
    parser.add_argument("--framework", metavar="NAME", default="pytorch", help="Who trains [pytorch].")
    parser.add_argument("--pairs", metavar="N", type=int, default=60, help="How many pairs of seconds, 2 or more [60].")
    parser.add_argument(
        "--rate",
        metavar="N",
        type=int,
        help="How many times the usual looks, 1 or more [a fifth of a core, 20 at most].",
    )
    parser.set_defaults(run=_doctor)


def _doctor(asked: argparse.Namespace) -> int:
    if asked.observer:
        return _observer(asked)
    # Late, as all that this command alone needs: psutil is slow to load.
    from pytest_dlbench.sampling.noise import findings  # noqa: PLC0415

    found = findings()
    lines = [line for finding in found for line in _lines(finding.topic, finding.state, finding.advice)]
    answer(asked, [builtins(finding) for finding in found], lines)
    return 0


def _lines(topic: str, state: str, advice: str) -> list[str]:
    return [f"{'!' if advice else ' '} {topic}: {state}", *([f"    {advice}"] if advice else [])]


def _observer(asked: argparse.Namespace) -> int:
    from pytest_dlbench.data import DATASETS  # noqa: PLC0415 - see above
    from pytest_dlbench.environments import DEVICES  # noqa: PLC0415
    from pytest_dlbench.planning.plan import Settings  # noqa: PLC0415
    from pytest_dlbench.running import devices  # noqa: PLC0415
    from pytest_dlbench.sampling.machine import this_machine  # noqa: PLC0415
    from pytest_dlbench.workflows.observing import FEWEST_PAIRS, observer_cost  # noqa: PLC0415
    from pytest_dlbench.zoo import MODELS  # noqa: PLC0415

    if asked.framework not in FRAMEWORKS:
        raise OptionError(unknown_name("framework", asked.framework, "dlbench doctor", FRAMEWORKS))
    if asked.pairs < FEWEST_PAIRS:
        raise OptionError(
            f"dlbench doctor --pairs: {FEWEST_PAIRS} or more, for one says nothing of the spread; got {asked.pairs}"
        )
    if asked.rate is not None and asked.rate < 1:
        raise OptionError(f"dlbench doctor --rate: a whole number, 1 or more, of which 1 is usual; got {asked.rate}")
    machine = this_machine()
    settings = Settings(
        machine=machine, scale="quick", threads=machine.cores, seed=SEED, timeout_seconds=TIMEOUT_SECONDS
    )
    model, device = MODELS[MODEL].for_input(DATASETS[DATASET].shape), DEVICES["cpu"]
    plan = settings.plan(FRAMEWORKS[asked.framework], model, DATASETS[DATASET], device, label="observer")
    with devices.held(device.name, lambda: print("waiting: another session measures on this machine")):
        cost = observer_cost(plan, asked.pairs, lambda line: None if asked.json else print(line), asked.rate)
    interval = f"95 % interval {cost.lower - 1:+.3%} to {cost.upper - 1:+.3%}, {cost.pairs} pairs of seconds"
    lines = [
        f"sampling costs {cost.ratio - 1:+.3%} of step time ({interval})",
        f"measured with {cost.rate} times the looks, and divided by {cost.dose:.1f}",
        f"and the driver takes {cost.core_share:.2%} of one core while a worker trains",
    ]
    answer(asked, builtins(cost), lines)
    return 0
