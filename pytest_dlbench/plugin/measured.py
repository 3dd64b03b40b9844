"""What a test measures with ``dlbench.measure``, as far as its source says it: a plan runs no test."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dlbench.records import Machine, Program

if TYPE_CHECKING:
    from pytest_dlbench.planning.estimate import PastProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A call of ``dlbench.measure``. ``steps`` is None if it names none, or if they are computed."""

    program: Program
    steps: int | None


def measurements(item: pytest.Item, root: Path) -> Sequence[Measurement]:
    """The calls in a test's function whose program stands there; raises OptionError for one that cannot be run."""
    function: Any = getattr(item, "function", None)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return ()
    return tuple(_measurements(tree, function.__globals__, root))


def _measurements(tree: ast.AST, names: Mapping[str, Any], root: Path) -> Iterator[Measurement]:
    from pytest_dlbench.planning.programs import program_of  # noqa: PLC0415 - see hooks.session_of

    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "measure":
            given = _value(node.args[0], names) if node.args else None
            if isinstance(given, str | PathLike) or callable(given):
                steps = next((_value(one.value, names) for one in node.keywords if one.arg == "steps"), None)
                program = program_of(given, {}, root)
                yield Measurement(program=program, steps=steps if isinstance(steps, int) else None)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """A constant, or what a name of the module stands for; None for what is computed."""
    return node.value if isinstance(node, ast.Constant) else names.get(node.id) if isinstance(node, ast.Name) else None


def stored(
    measured: Measurement, past: "Sequence[Sequence[PastProgram]]", machine: Machine, given: Mapping[str, Any]
) -> "Sequence[PastProgram]":
    """The cases that a call made in the newest session that has some; ``given`` are the test's parameters."""
    sessions = ([one for one in session if _is_of(one, measured, machine, given)] for session in past)
    return next(filter(None, sessions), [])


def _is_of(one: "PastProgram", measured: Measurement, machine: Machine, given: Mapping[str, Any]) -> bool:
    facts = {**one.program.parameters, "framework": one.case.framework, "device": one.case.device}
    return (
        (one.program.source, one.program.function) == (measured.program.source, measured.program.function)
        and one.context.machine.name == machine.name
        and measured.steps in (None, one.context.steps)
        and all(facts[name] == getattr(value, "name", value) for name, value in given.items() if name in facts)
    )
