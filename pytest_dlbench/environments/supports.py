"""What a builder says it can build: the literal SUPPORTS of its file, read without importing a framework."""

import ast
from functools import cache
from pathlib import Path

from pytest_dlbench.environments.frameworks import Framework

WORKER = Path(__file__).parents[1] / "worker"


def supports(framework: Framework) -> frozenset[str] | None:
    """The names in SUPPORTS; None where the builder is nowhere to be read, or says nothing."""
    folders = (*framework.folders, WORKER)
    files = (folder.joinpath(*framework.builder.split(".")).with_suffix(".py") for folder in folders)
    file = next((file for file in files if framework.builder and file.is_file()), None)
    return _read(file) if file else None


@cache
def _read(file: Path) -> frozenset[str] | None:
    for node in ast.parse(file.read_text()).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="SUPPORTS")], value=value):
                return frozenset(ast.literal_eval(value))
            case ast.ImportFrom(module=str(module), names=names) if "SUPPORTS" in {name.name for name in names}:
                # A variant has what the builder has that it varies, which lies in the same folder.
                return _read(file.with_name(f"{module.rpartition('.')[2]}.py"))
    return None
