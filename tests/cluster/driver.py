"""A driver whose runs are made on a cluster: ``python -m tests.cluster.driver ON BUILDER SETTINGS FOLDER``.

ON is a value of --dlbench-on, SETTINGS are JSON: of the case, the number of steps, the hosts of a run and the seconds
that it may take, fields of the recipe, the units of two hidden layers, and the Python of a framework, which BUILDER
then names. It prints every run that it keeps as a line of JSON.
"""

import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.frameworks import PROCESSOR_AS_GPU
from pytest_dlbench.environments.placing import Elsewhere
from pytest_dlbench.model import Dense, Flatten, Layer
from pytest_dlbench.options.reading import read
from pytest_dlbench.options.settings import hosts as hosts_of
from pytest_dlbench.records import Run, codec
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.series import train_series
from tests.running.specs import CLASSES, LINEAR, spec

WAIT_SECONDS = 60.0


def keep(run: Run) -> None:
    """Print the run."""
    print(codec.encode_line(run).decode(), end="", flush=True)


def hidden(units: int) -> tuple[Layer, ...]:
    """The layers of softmax regression, and two more if they have any units."""
    return (Flatten(), Dense(units), Dense(units), Dense(CLASSES)) if units else LINEAR


def main(on: str, builder: str, settings: str, folder: str) -> None:
    """Train."""
    case = json.loads(settings)
    steps, device = case.pop("steps"), case.get("device", "cpu")
    hosts, python, changes = case.pop("hosts", 1), case.pop("python", ""), case.pop("recipe", {})
    limits = {"wait_seconds": WAIT_SECONDS, "timeout_seconds": case.pop("timeout", 60.0)}
    layers = hidden(case.pop("units", 0))
    given = {"dlbench_on": on, "dlbench_devices": device, "dlbench_wait": f"{WAIT_SECONDS:g}s"}
    cluster = hosts_of(read(given.get, lambda _: None, Path()))
    asked = spec(builder, Path(folder), layers=layers, steps=steps, place=Elsewhere(), **limits)
    # As a framework may that computes on an OpenCL driver of the processor: there is no real GPU here.
    as_gpu = replace(asked.framework, variables={PROCESSOR_AS_GPU: "1"})
    framework = replace(FRAMEWORKS[builder], python=Path(python)) if python else as_gpu
    recipe = replace(asked.recipe, **changes)
    asked = replace(asked, case=replace(asked.case, **case), recipe=recipe, framework=framework, hosts=hosts)
    train_series(asked, 1, keep=keep, progress=Silent(), hosts=cluster)


if __name__ == "__main__":
    # The jobs that a shell runs in the background ignore it, and so would this process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(*sys.argv[1:])
