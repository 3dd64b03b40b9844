"""What a builder says it can build: the literal SUPPORTS of its file, read without importing a framework."""

import ast
from functools import cache
from pathlib import Path

from pytest_dlbench.environments.frameworks import Framework

WORKER = Path(__file__).parents[1] / "worker"


def supports(framework: Framework) -> frozenset[str] | None:
    """The names in SUPPORTS; None where the builder is nowhere to be read, or says nothing."""
    return _supports(framework.builder, (*framework.folders, WORKER)) if framework.builder else None


@cache
def _supports(module: str, folders: tuple[Path, ...]) -> frozenset[str] | None:
    files = (folder.joinpath(*module.split(".")).with_suffix(".py") for folder in folders)
    file = next((file for file in files if file.is_file()), None)
    for node in ast.parse(file.read_text()).body if file else ():
        match node:
            case ast.Assign(targets=[ast.Name(id="SUPPORTS")], value=value):
                return frozenset(ast.literal_eval(value))
            case ast.ImportFrom(module=str(other), names=names) if "SUPPORTS" in {name.name for name in names}:
                # A variant has what the builder has that it varies.
                return _supports(other, folders)
    return None
