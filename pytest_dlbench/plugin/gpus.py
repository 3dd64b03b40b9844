"""Sessions that ask for GPUs only, on a machine without one: they end before anything is collected or imported."""

import os
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

# Private, because pytest has no public way to ask what -m would select if an item had other marks, and a grammar of our
# own would differ from pytest's in signs of names and in arguments of marks.
from _pytest.mark.expression import Expression

from pytest_dlbench.environments import DEVICES, Framework
from pytest_dlbench.environments.devices import GPU_FILES, VISIBLE
from pytest_dlbench.options import Options
from pytest_dlbench.options.parsers import LOCAL
from pytest_dlbench.planning.registry import Registry

GPU, CPU = "gpu", "cpu"


def missing(asked: Options, registry: Registry) -> str:
    """Why a session with --dlbench-devices=gpu has nothing to run on; empty if it has, or asks for more."""
    if asked.plan or asked.on != LOCAL or {name.partition(":")[0] for name in asked.devices} != {GPU}:
        return ""
    return _absent(registry)


def missing_for_marks(asked: Options, expression: str, items: Sequence[pytest.Item], registry: Registry) -> str:
    """Why -m selects none of these items; empty if it does, or if a GPU of this machine would not change that."""
    if asked.on != LOCAL or GPU not in expression or not (absent := _absent(registry)):
        return ""
    chosen = Expression.compile(expression)
    marks = [{mark.name for mark in item.iter_markers()} for item in items]
    if any(_is_chosen(chosen, names) for names in marks):
        return ""
    cases = [names for item, names in zip(items, marks, strict=True) if "dlbench" in getattr(item, "fixturenames", ())]
    on_gpu = [names - {CPU} | {GPU} for names in cases if CPU in names]
    return absent if any(_is_chosen(chosen, names) for names in on_gpu) else ""


def _is_chosen(expression: Expression, marks: set[str]) -> bool:
    def has(name: str, /, **_: object) -> bool:
        return name in marks

    return expression.evaluate(has)


def _absent(registry: Registry) -> str:
    """One line: what was looked for, and what to do; empty if there may be a GPU."""
    frameworks = cast("Mapping[str, Framework]", registry.values["framework"])
    if DEVICES[GPU].may_exist or any(one.takes_processor_as_gpu for one in frameworks.values()):
        return ""
    if DEVICES[GPU].is_hidden:
        hidden = f"{VISIBLE}={os.environ[VISIBLE]!r} hides them all"
        return f"no GPU on this machine: {hidden}. Unset it, or name GPUs in it, such as {VISIBLE}=0"
    files = " nor ".join(map(str, GPU_FILES))
    looked = f"neither {files} exists, and NVML says: {_of_nvml()}; {VISIBLE} does not hide it"
    return f"no GPU on this machine: {looked}. Install the GPU's driver, or measure with --dlbench-devices=cpu"


def _of_nvml() -> str:
    # Late: every session would wait for it.
    from pytest_dlbench.sampling.nvml import NoGpuError, open_gpus  # noqa: PLC0415

    try:
        return f"{len(open_gpus())} GPUs"
    except NoGpuError as error:
        return str(error)
