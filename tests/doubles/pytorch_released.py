"""PyTorch in releases of its builder: ``dlbench bisect pytorch-released -p tests.doubles.pytorch_released``.

Releases of the package ``planted-releases`` are wheels of tests/environments/wheels.py, which pip and uv find by
PIP_FIND_LINKS. PLANTED is that of builders/released_pytorch.py.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import cast

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.declared import PYTORCH
from pytest_dlbench.planning.registry import KNOWN

NAME, PACKAGE = "pytorch-released", "planted-releases"


def pytest_dlbench_frameworks():
    plain = cast("Framework", KNOWN.values["framework"]["pytorch"])
    own = replace(PYTORCH, name=NAME, requirements=(*PYTORCH.requirements, f"{PACKAGE}==1.0"), since="1.0")
    released = replace(
        plain,
        name=NAME,
        builder="released_pytorch",
        package=PACKAGE,
        needs=(PACKAGE,),
        environments=(own,),
        gpu_needs=(),
        gpu_environments=(),
        folders=(Path(__file__).parent / "builders",),
        variables=(*plain.variables, ("PLANTED", os.environ["PLANTED"])),
    )
    return [released]
