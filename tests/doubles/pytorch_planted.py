"""PyTorch again, with steps of one network that take longer. ``PLANTED`` is that of builders/planted_pytorch.py."""

import os
from dataclasses import replace
from pathlib import Path
from typing import cast

from pytest_dlbench.environments import Framework
from pytest_dlbench.planning.registry import KNOWN


def pytest_dlbench_frameworks():
    plain = cast("Framework", KNOWN.values["framework"]["pytorch"])
    planted = replace(
        plain,
        name="pytorch-planted",
        builder="planted_pytorch",
        folders=(Path(__file__).parent / "builders",),
        variables=(*plain.variables, ("PLANTED", os.environ["PLANTED"])),
    )
    return [replace(plain, name="pytorch-again"), planted]
