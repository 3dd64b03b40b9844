"""What a builder can build: the names in its SUPPORTS, read from its source without importing a framework."""

import ast
from collections.abc import Iterable
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.errors import DlbenchError

WORKER = Path(__file__).parents[1] / "worker"
# The placement of workers that are devices of one process.
ONE_PROCESS = "one_process"


def supports(framework: Framework) -> frozenset[str] | None:
    """The names in SUPPORTS; None where the builder is not found, or where only running it would say."""
    return _names("SUPPORTS", framework.builder, (*framework.folders, WORKER)) if framework.builder else None


def operators(framework: Framework) -> frozenset[str] | None:
    """The kinds of single operators that a builder has; None where it has no module ``operators``."""
    return _names("OPERATORS", f"{framework.builder}.operators", (*framework.folders, WORKER))


def has_workers(framework: Framework, *, is_one_process: bool = False) -> bool:
    """Whether several workers of a framework, or devices of one process, can train together.

    They can if its builder has a module for it.
    """
    folders = (*framework.folders, WORKER)
    return (
        bool(framework.builder) and source(parallel_of(framework, is_one_process=is_one_process), folders) is not None
    )


def of_each_worker(framework: Framework, *, is_one_process: bool = False) -> frozenset[str] | None:
    """The layers that each of several workers computes by itself: OF_EACH of their module, or None."""
    return _of_parallel("OF_EACH", framework, is_one_process=is_one_process)


def placements(framework: Framework) -> frozenset[str]:
    """How several workers can be placed other than on one host: PLACEMENTS of the module ``parallel``."""
    return _of_parallel("PLACEMENTS", framework) or frozenset()


def exchanges(framework: Framework, *, is_one_process: bool = False) -> frozenset[str]:
    """How several workers can exchange gradients other than in full: EXCHANGES of their module."""
    return _of_parallel("EXCHANGES", framework, is_one_process=is_one_process) or frozenset()


def exact_exchanges(framework: Framework, *, is_one_process: bool = False) -> frozenset[str]:
    """Those of them that change no loss: EXACT of their module."""
    return _of_parallel("EXACT", framework, is_one_process=is_one_process) or frozenset()


def shared_operators(framework: Framework) -> frozenset[str]:
    """The kinds of operators that several workers compute together: OPERATORS of the module ``parallel``."""
    return _of_parallel("OPERATORS", framework) or frozenset()


def _of_parallel(collection: str, framework: Framework, *, is_one_process: bool = False) -> frozenset[str] | None:
    module = parallel_of(framework, is_one_process=is_one_process)
    return _names(collection, module, (*framework.folders, WORKER))


def parallel_of(framework: Framework, *, is_one_process: bool = False) -> str:
    """The module by which several workers train: of a folder ``parallel``, else the builder's name and _parallel.

    For devices of one process it is ``devices``. Of a back end, its name follows.
    """
    file = source(framework.builder, (*framework.folders, WORKER))
    separator = "." if file and file.name == "__init__.py" else "_"
    module = f"{framework.builder}{separator}{'devices' if is_one_process else 'parallel'}"
    return f"{module}_{framework.backend}" if framework.backend else module


def source(module: str, folders: Iterable[Path]) -> Path | None:
    """The file of a module, or of a package, in one of several folders."""
    places = [folder.joinpath(*module.split(".")) for folder in folders]
    files = (file for place in places for file in (place / "__init__.py", place.with_suffix(".py")))
    return next((file for file in files if file.is_file()), None)


@cache
def _names(collection: str, module: str, folders: tuple[Path, ...]) -> frozenset[str] | None:
    """The names in a collection, or the keys of a table, that a module assigns or imports under this name."""
    file = source(module, folders)
    package = module if file and file.name == "__init__.py" else module.rpartition(".")[0]
    for node in _parsed(file).body if file else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=assigned)], value=value) if assigned == collection:
                return _united(_part(part, module, folders) for part in _parts(value))
            case ast.ImportFrom(module=str(other), names=aliases, level=level):
                for alias in aliases:
                    if (alias.asname or alias.name) == collection:
                        return _names(alias.name, resolve_name("." * level + other, package), folders)
    return None


def _parsed(file: Path) -> ast.Module:
    try:
        # Bytes, because a source may declare its encoding.
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        place = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise DlbenchError(f"{file}{place}: this builder is not Python that can be read: {error}") from error


def _united(parts: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """All names; None where those of one part are not known."""
    found: frozenset[str] = frozenset()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


def _parts(value: ast.expr) -> list[ast.expr]:
    """What a display consists of: of {"a": 1, **b} that is "a" and *b."""
    match value:
        case ast.Set(elts=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return parts
        case ast.Dict(keys=keys, values=values):
            return [key or ast.Starred(spread) for key, spread in zip(keys, values, strict=True)]
    return [value]


def _part(part: ast.expr, module: str, folders: tuple[Path, ...]) -> frozenset[str] | None:
    """The names that one part adds; None for what is computed."""
    match part:
        case ast.Constant(value=str(name)):
            return frozenset({name})
        case ast.Starred(value=ast.Name(id=other)):
            return _names(other, module, folders)
    return None
