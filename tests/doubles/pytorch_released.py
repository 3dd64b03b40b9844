"""PyTorch in releases of its builder: ``dlbench bisect pytorch-released -p tests.doubles.pytorch_released``.

Release n of the package ``planted-releases`` is one of ``write``'s wheels, which pip and uv find by PIP_FIND_LINKS.
PLANTED is that of builders/released_pytorch.py.
"""

import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import cast

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.declared import PYTORCH
from pytest_dlbench.planning.registry import KNOWN

NAME, PACKAGE = "pytorch-released", "planted-releases"
MODULE = PACKAGE.replace("-", "_")


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


def write(folder: Path, releases: int) -> None:
    """The wheels of releases 1.0, 2.0 and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, releases + 1):
        information = f"{MODULE}-{number}.0.dist-info"
        files = {
            f"{MODULE}.py": f'__version__ = "{number}.0"\n',
            f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {number}.0\n",
            f"{information}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        recorded = "".join(f"{name},,\n" for name in (*files, f"{information}/RECORD"))
        with zipfile.ZipFile(folder / f"{MODULE}-{number}.0-py3-none-any.whl", "w") as wheel:
            for name, text in {**files, f"{information}/RECORD": recorded}.items():
                wheel.writestr(name, text)
