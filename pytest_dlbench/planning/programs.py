"""From the arguments of ``dlbench.measure`` to the spec of a program's runs."""

import ast
import hashlib
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_dlbench.data import Dataset, Prepared
from pytest_dlbench.data.cache import prepared_root
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.environments.placing import Absent, Elsewhere, Lack, Place
from pytest_dlbench.errors import DataMissingError, OptionError
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.sweep import Change, show
from pytest_dlbench.records import Case, Program
from pytest_dlbench.running.run_spec import ProgramSpec

LABEL = "program"
# Fewer steps have no steady ones: the first compiles.
FEWEST_STEPS = 2
# A longer part of an id is replaced by a digest: an id names files.
LONGEST_PART, LONGEST_ID = 40, 180
IMPORTABLE = (
    "the worker imports it in a process of its own, so that it must be a function at the top of a module;"
    " move it there, and pass what it uses from around it as parameters: dlbench.measure(function, name=value)"
)


def program_of(given: object, parameters: Mapping[str, Any], root: Path) -> Program:
    """The program that a test names: a file, ``FILE.py::FUNCTION``, a module, or a function. Raises OptionError."""
    _check_parameters(parameters)
    if callable(given):
        source, function = _importable(given, root)
    elif isinstance(given, str | os.PathLike):
        source, _, function = os.fsdecode(given).partition("::")
        source, function = _found(source, function, root)
    else:
        raise OptionError(
            f"dlbench.measure: {given!r} is no program; give a file, such as programs/our_model.py, a module, such as"
            " package.module, or a function"
        )
    return Program(source=source, function=function, parameters=dict(parameters))


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    for name, value in parameters.items():
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"dlbench.measure: the parameter {name} is {value!r}: {error}; a program gets JSON values: numbers,"
                " text, true, false, null, lists and dictionaries of them"
            ) from None
        if json.loads(text) != value:
            raise OptionError(f"dlbench.measure: the parameter {name} is {value!r}, which JSON has as {text}")


def _importable(given: Callable[..., Any], root: Path) -> tuple[str, str]:
    """The file and the name of a function that another process can import."""
    name = getattr(given, "__qualname__", repr(given))
    if not inspect.isfunction(given) or name != given.__name__ or name == "<lambda>":
        what = (
            "a lambda"
            if "<lambda>" in name
            else "a function within another one"
            if "<locals>" in name
            else "no function"
        )
        raise OptionError(f"dlbench.measure: {name} is {what}; {IMPORTABLE}")
    return _relative(Path(inspect.getfile(given)), root), name


def _relative(file: Path, root: Path) -> str:
    try:
        return file.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise OptionError(
            f"dlbench.measure: {file} is not below {root}, the folder of this pytest session; start pytest in a folder"
            " above it, or set --rootdir"
        ) from None


def _found(source: str, function: str, root: Path) -> tuple[str, str]:
    """The source as the worker finds it, and the function that is called in it."""
    if not source.endswith(".py"):
        if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", source):
            raise OptionError(
                f"dlbench.measure: {source!r} is neither a file, such as programs/our_model.py, nor a module, such as"
                " package.module"
            )
        file = _file_of(source, root)
        return source, function or (_defined(file) if file else "build")
    file = root / source
    if not file.is_file():
        raise OptionError(f"dlbench.measure: there is no file {file}; a program is named relative to {root}")
    return _relative(file, root), function or _defined(file)


def _file_of(module: str, root: Path) -> Path | None:
    """The file of a module in the repository; None for one that is installed."""
    path = Path(*module.split("."))
    places = (base / path for base in (root, root / "src"))
    files = (file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    return next((file for file in files if file.is_file()), None)


def _defined(file: Path) -> str:
    """Which of ``build`` and ``main`` a file defines, read and not run; empty if neither, as the worker will report."""
    try:
        body = ast.parse(file.read_bytes()).body
    except (SyntaxError, ValueError):
        return "build"
    names = {name for statement in body for name in _bound(statement)}
    return next((name for name in ("build", "main") if name in names), "")


def _bound(statement: ast.stmt) -> Sequence[str]:
    """The names that a statement binds."""
    match statement:
        case ast.FunctionDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name for alias in aliases]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def program_spec(
    settings: RunSettings,
    program: Program,
    framework: Framework,
    device: Device,
    *,
    root: Path,
    steps: int,
    data: Sequence[Dataset] = (),
    label: str = LABEL,
    changes: Sequence[Change] = (),
) -> ProgramSpec:
    """How a program is run; raises OptionError. If data files are missing, the spec has no place to run.

    ``changes`` are those of a side of a comparison, whose framework's name has them. A revision's side runs its files.
    """
    _check(settings, steps)
    framework = framework.on(device.name)
    prepared, place = _prepared(data, settings.place(framework, device, _refusal(framework, settings.workers)))
    program = replace(program, parameters=_of_side(program, changes))
    axes = label, "+".join(one.name for one in data), frozenset(change.name for change in changes)
    return ProgramSpec(
        case=_case(settings, program, framework, device, axes),
        framework=framework,
        place=place,
        program=program,
        root=_root(program, framework, root),
        data=prepared,
        steps=steps,
        seed=settings.seed,
        timeout_seconds=settings.timeout_seconds,
        allocator=settings.allocator,
        wait_seconds=settings.wait_seconds,
        hourly_price=settings.hourly_price,
        gpu_numbers=device.numbers,
    )


def _check(settings: RunSettings, steps: int) -> None:
    if steps < FEWEST_STEPS:
        raise OptionError(f"dlbench.measure: steps={steps}: expected {FEWEST_STEPS} or more, the first is not steady")
    if settings.changes:
        names = ", ".join(change.name for change in settings.changes)
        raise OptionError(
            f"--dlbench-set {names}: a program has no recipe; its test gives its parameters:"
            " dlbench.measure(..., name=value)"
        )


def _of_side(program: Program, changes: Sequence[Change]) -> dict[str, Any]:
    """The parameters as a side has them, which may only change those that the test gives."""
    if unknown := [change.name for change in changes if change.name not in program.parameters]:
        known = ", ".join(sorted(program.parameters)) or "none"
        raise OptionError(
            f"--dlbench-ab: set:{unknown[0]}: the test of {program.source} gives no parameter of that name, but"
            f" {known}; give its usual value in the test: dlbench.measure(..., {unknown[0]}=value)"
        )
    given = {change.name: program.parameters[change.name] for change in changes}
    if several := [name for name, value in given.items() if isinstance(value, list | tuple | dict)]:
        raise OptionError(
            f"--dlbench-ab: set:{several[0]}: the test of {program.source} gives {given[several[0]]!r}, and a side only"
            " a number, true, false, none or text; give the parts parameters of their own"
        )
    return {**program.parameters, **{change.name: change.value for change in changes}}


def _root(program: Program, framework: Framework, root: Path) -> Path:
    """The folder that a program's files are in; raises NotInRevisionError if a revision lacks them."""
    checkout = framework.checkout
    if checkout is None:
        return root
    source = program.source
    file = root / source if source.endswith(".py") else _file_of(source, root)
    if file is None:
        raise OptionError(
            f"--dlbench-ab: the program {source} is not in {root}, so that all revisions have the same; name a file or"
            " a module of the repository"
        )
    checkout.existing(file, "--dlbench-ab")
    return checkout.path(root)


def _refusal(framework: Framework, workers: int) -> str:
    several = "a program is run by one worker: it may start others of its own" if workers > 1 else ""
    return framework.unsupported or several


def _prepared(
    data: Sequence[Dataset], place: Place | Elsewhere | Absent
) -> tuple[dict[str, Prepared], Place | Elsewhere | Absent]:
    try:
        return {dataset.name: prepare(dataset) for dataset in data}, place
    except DataMissingError as error:
        nothing = {
            dataset.name: Prepared(dataset=dataset, folder=prepared_root() / dataset.folder_name, digest="")
            for dataset in data
        }
        return nothing, place if isinstance(place, Absent) else Absent(lack=Lack.NO_DATA, reason=str(error))


def _case(
    settings: RunSettings, program: Program, framework: Framework, device: Device, axes: tuple[str, str, frozenset[str]]
) -> Case:
    """The case of a program; ``axes`` are the label that begins its id, its data sets, and what its side changes."""
    name, (label, dataset, changed) = _name(program), axes
    # What a side changes is in its framework's name.
    given = sorted((key, value) for key, value in program.parameters.items() if key not in changed)
    parameters = tuple(_part(key, value) for key, value in given)
    parts = (label, framework.name, name, *([dataset] if dataset else []), device.name, *parameters)
    text = "-".join((*parts, *settings.processors_id))
    if len(text) > LONGEST_ID:
        text = f"{text[:LONGEST_ID]}-{_digest(text)}"
    return Case(
        id=text,
        framework=framework.name,
        model=name,
        dataset=dataset,
        device=device.name,
        scale="",
        threads=settings.threads,
        settings={key: _scalar(value) for key, value in sorted(program.parameters.items())},
        revision=framework.checkout.revision if framework.checkout else None,
        variables=dict(framework.more_variables),
        workers=settings.workers,
    )


def _name(program: Program) -> str:
    """The program's name in reports: that of its file or module, and of a function that is not the usual one."""
    stem = program.source.removesuffix(".py")
    usual = program.function in ("build", "main", "")
    return re.sub(r"[^\w.+]", "_", (stem if usual else f"{stem}.{program.function}").replace("/", "."))


def _scalar(value: Any) -> int | float | bool | str | None:
    return value if value is None or isinstance(value, int | float | str) else json.dumps(value, sort_keys=True)


def _part(name: str, value: Any) -> str:
    """A parameter in the id of a case: ``batch_size64``, ``optimizer_adam``."""
    scalar = _scalar(value)
    is_number = isinstance(scalar, int | float) and not isinstance(scalar, bool)
    text = show(scalar)
    # Two values that differ must not get one id, nor may an id hold just any character.
    plain = re.sub(r"[^\w.+=@]" if not is_number else r"[^\w.+=@-]", "_", text)
    if plain != text or len(plain) > LONGEST_PART:
        plain = f"{plain[:LONGEST_PART]}_{_digest(text)}"
    return f"{name}{'' if is_number else '_'}{plain}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
