"""The matrix in pytest: the axes that a test uses become one joint parametrization with the fitting cells."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_dlbench.data import Dataset
from pytest_dlbench.data.cache import missing
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.environments.placing import Places
from pytest_dlbench.environments.programs import lacking
from pytest_dlbench.errors import OptionError
from pytest_dlbench.model import Purpose
from pytest_dlbench.options import Options
from pytest_dlbench.planning import sweep
from pytest_dlbench.planning.matrix import AXES, Cell, Value, cells
from pytest_dlbench.planning.registry import Registry, is_pattern
from pytest_dlbench.planning.sides import AskedSides
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.plugin.guarded import guarded, guards
from pytest_dlbench.records import SkippedCell
from pytest_dlbench.reporting import skips

if TYPE_CHECKING:
    from pytest_dlbench.planning.plan import RunSettings

# By the node ID of the test, without its parameters.
SKIPPED_OF = pytest.StashKey[dict[str, list[SkippedCell]]]()
# Of the tests that are selected.
SKIPPED = pytest.StashKey[list[SkippedCell]]()

OPTION_OF_AXIS = {"framework": "frameworks", "model": "models", "dataset": "datasets", "device": "devices"}
# Axes of which a suite may train a few by default, and has many more.
BY_PATTERN = ("framework", "model")
FIXED_MARKS = {
    "training": "trains a model",
    "equivalence": "checks that frameworks train the same network",
    "cpu": "runs on the CPU",
    "gpu": "runs on a GPU",
    "opencl": "runs code for GPUs on the processor, with --dlbench-devices=opencl:cpu",
    "multi_device": "runs on several devices at once",
    "cnn": "a convolutional network",
    "fcn": "a fully connected network",
    "rnn": "a recurrent network",
    "transformer": "a Transformer",
    "detection": "an object detector",
    "inference": "only applies a model",
    "operator": "calls a single operator",
    "search": "searches for a network with a budget of processor time",
    "slow": "takes minutes",
    "target_accuracy": "measures the time to this test accuracy, such as target_accuracy(0.97)",
    "legacy": "a framework that is no longer developed",
}


def check_names(asked: Options, registry: Registry) -> None:
    """Raise OptionError, with the nearest known name, for unknown names on the command line."""
    for axis in OPTION_OF_AXIS:
        _chosen(axis, registry, asked)


def mark_lines(registry: Registry) -> Iterator[tuple[str, str]]:
    """Every mark that a cell may have, and its meaning."""
    yield from FIXED_MARKS.items()
    seen = set(FIXED_MARKS)
    for axis, values in registry.values.items():
        for value in values.values():
            for name in value.marks:
                if name not in seen:
                    seen.add(name)
                    yield name, f"{axis} of {value.name}"


def target_of(item: pytest.Item, default: float | None) -> float | None:
    """The target accuracy of a test's mark, else the default; raises pytest.UsageError."""
    mark = item.get_closest_marker("target_accuracy")
    if mark is None:
        return default
    target = mark.args[0] if len(mark.args) == 1 else None
    if not isinstance(target, float | int) or not 0 < target <= 1:
        given = ", ".join(map(repr, mark.args))
        raise pytest.UsageError(f"{item.nodeid}: target_accuracy({given}): expected a share of 1, such as 0.97")
    return float(target)


def parametrize(metafunc: pytest.Metafunc, registry: Registry, asked: Options, sides: AskedSides) -> list[SkippedCell]:
    """Parametrize a test with its cells, overriding the fixtures' own parameters; returns the skipped cells.

    With ``sides``, the frameworks are their candidates.
    """
    taken_axes = _already_parametrized(metafunc)
    axes = [axis for axis in AXES if axis in metafunc.fixturenames and axis not in taken_axes]
    if not axes:
        return []
    values = {axis: _values(metafunc, axis, registry, asked) for axis in axes}
    if sides and "framework" in values:
        values["framework"] = sides.candidates(cast("Sequence[Framework]", values["framework"]))
    named = {registry.find("framework", name, "").name for name in asked.frameworks if not is_pattern(name)}
    frameworks = cast("Sequence[Framework]", values.get("framework", ()))
    unnamed = [framework for framework in frameworks if framework.specification not in named]
    absent = {} if sides.named else _absent(unnamed, asked)
    if not asked.datasets:
        datasets = [data for data in values.get("dataset", ()) if isinstance(data, Dataset)]
        absent |= {data.name: reason for data in datasets if (reason := missing(data))}
    if not asked.devices:
        devices = [device for device in values.get("device", ()) if isinstance(device, Device)]
        absent |= {device.name: f"no {device.name} on this machine" for device in devices if not device.is_available}
    fitting, skipped = _cells(metafunc, values, absent, asked)
    decorators = _Decorators()
    parameters = [pytest.param(*cell.values, id=cell.id, marks=decorators.of(cell.values)) for cell in fitting]
    if not parameters:
        parameters = [_nothing(axes, skipped)]
    mark = pytest.mark.parametrize(",".join(axes), parameters, indirect=True)
    # Before a user's own parametrize marks, so that cells vary slowest and come first in the ID.
    metafunc.definition.add_marker(mark, append=False)
    return skipped


def _cells(
    metafunc: pytest.Metafunc, values: Mapping[str, Sequence[Value]], absent: Mapping[str, str], asked: Options
) -> tuple[list[Cell], list[SkippedCell]]:
    """The cells that fit, and those that are skipped; to a gate, one with a baseline is a case that cannot be run."""
    test = metafunc.definition
    purpose = purpose_of(test)
    fitting, skipped = cells(values, absent, purpose)
    # A certificate is no baseline.
    if not absent or not guards(asked) or test.get_closest_marker("equivalence"):
        return fitting, skipped
    every, _ = cells(values, purpose=purpose)
    there = {cell.id for cell in fitting}
    others, settings = [cell for cell in every if cell.id not in there], [point.of for point in points(test, asked)]
    kept = guarded(others, list(values), settings, purpose, asked)
    taken = [cell for cell in every if cell.id in there | kept]
    return taken, [cell for cell in skipped if cell.id not in kept]


def purpose_of(node: pytest.Item) -> Purpose:
    """Whether a test trains or applies a network, by its marks."""
    return "inference" if node.get_closest_marker("inference") else "training"


def is_paired(item: pytest.Item, sides: AskedSides) -> bool:
    """Whether a test runs its case in pairs, judging by its parameters."""
    if not sides or "dlbench" not in getattr(item, "fixturenames", ()) or item.get_closest_marker("equivalence"):
        return False
    given = getattr(item, "callspec", None)
    if given is None or "framework" not in given.params:
        # The body of the test names the framework.
        return True
    framework = given.params["framework"]
    return sides.has(getattr(framework, "name", framework))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What a case is trained with in addition to its cell: changes of its recipe, CPU threads, and workers."""

    changes: tuple[Change, ...]
    threads: int
    workers: int

    def of(self, settings: "RunSettings") -> "RunSettings":
        """The settings of a session for this point."""
        return replace(settings, changes=self.changes, threads=self.threads, workers=self.workers)


def parametrize_points(metafunc: pytest.Metafunc, asked: Options) -> None:
    """Make settings, threads and workers with several values axes, which vary fastest."""
    found = points(metafunc.definition, asked)
    if len(found) > 1:
        parameters = [pytest.param(point, id=_id(point, asked), marks=_marks(point)) for point in found]
        # As the last mark, because metafunc.parametrize would put it before the others.
        metafunc.definition.add_marker(pytest.mark.parametrize("dlbench", parameters, indirect=True))
    else:
        for mark in _marks(found[0]):
            metafunc.definition.add_marker(mark)


def points(node: pytest.Item, asked: Options) -> list[Point]:
    """The points of a test on those axes; a single one if no axis has several values."""
    # Golden losses belong to one recipe, which is not swept.
    is_fixed = node.get_closest_marker("equivalence") is not None
    combinations = [()] if is_fixed else sweep.points(asked.settings)
    axes = product(combinations, asked.threads, asked.workers)
    return [Point(changes=changes, threads=threads, workers=workers) for changes, threads, workers in axes]


def _marks(point: Point) -> list[pytest.MarkDecorator]:
    return [pytest.mark.multi_device] if point.workers > 1 else []


def _id(point: Point, asked: Options) -> str:
    """Only axes with several values: a single value leaves the test's ID as it was."""
    parts = [change.id for change in point.changes if len(asked.settings[change.name]) > 1]
    parts += [f"threads{point.threads}"] if len(asked.threads) > 1 else []
    return "-".join([*parts, f"workers{point.workers}"] if len(asked.workers) > 1 else parts)


def _already_parametrized(metafunc: pytest.Metafunc) -> set[str]:
    marks = metafunc.definition.iter_markers("parametrize")
    names = (mark.args[0] if mark.args else mark.kwargs.get("argnames", ()) for mark in marks)
    return {name.strip() for given in names for name in (given.split(",") if isinstance(given, str) else given)}


def _values(metafunc: pytest.Metafunc, axis: str, registry: Registry, asked: Options) -> Sequence[Value]:
    """The values on the command line, else the parameters of the suite's own fixture, else all known ones."""
    if chosen := _chosen(axis, registry, asked):
        return _named_once(axis, chosen)
    # pytest has no public way to read the parameters of a suite's fixture.
    definitions = metafunc._arg2fixturedefs.get(axis, ())
    if definitions and definitions[-1].params is not None:
        where = f"fixture {axis!r} in {definitions[-1].baseid or 'conftest.py'}"
        own = [registry.find(axis, _plain(given), where) for given in definitions[-1].params]
        asked_for = registry.named_in(axis, _node_ids(metafunc.config)) if axis in BY_PATTERN else ()
        of_studies = _of_studies(registry, metafunc.config.option.markexpr) if axis == "model" else ()
        return _named_once(axis, [*own, *asked_for, *of_studies])
    return [value for value in registry.values[axis].values() if not isinstance(value, Device) or value.is_available]


def _chosen(axis: str, registry: Registry, asked: Options) -> list[Value]:
    """The values on the command line; raises OptionError for unknown names."""
    option = OPTION_OF_AXIS[axis]
    names, where = getattr(asked, option), f"--dlbench-{option}"
    if axis in BY_PATTERN:
        return [value for name in names for value in registry.matching(axis, name, where)]
    return [registry.find(axis, name, where) for name in names]


def _node_ids(config: pytest.Config) -> Sequence[str]:
    """Node IDs, if only those select tests: what they name is added to the fixtures' values, so that cases are found.

    With --lf these are the failed cases, which then run again without the options of that session.
    """
    if config.getoption("lf", False) and hasattr(config, "cache"):
        assert config.cache
        return list(config.cache.get("cache/lastfailed", {}))
    return config.args if all(argument.endswith("]") for argument in config.args) else ()


def _of_studies(registry: Registry, expression: str) -> list[Value]:
    """The models of the studies that ``-m`` names, whatever their suite's default is: it selects among them."""
    words = set(re.findall(r"[\w-]+", expression)) - FIXED_MARKS.keys()
    return [model for model in registry.values["model"].values() if not words.isdisjoint(model.marks)]


def _absent(frameworks: Sequence[Framework], asked: Options) -> dict[str, str]:
    """Why frameworks that the command line does not name are skipped: unsupported, not installed, no program."""
    places = Places(store=EnvironmentStore(pythons=asked.pythons))
    reasons = {}
    for framework in frameworks:
        if framework.unsupported:
            reasons[framework.name] = framework.unsupported
        elif problem := lacking(framework.name, framework.programs):
            reasons[framework.name] = " ".join(problem.split())
        elif not asked.build and not places.ready(framework):
            reasons[framework.name] = not_installed(framework)
    return reasons


def not_installed(framework: Framework) -> str:
    """A sentence with the command that installs a framework."""
    if not framework.environments:
        return f"{framework.specification} is not installed: pip install {' '.join(framework.needs)}"
    return f"{framework.specification} is not installed: dlbench env build {framework.to_build}"


def _named_once(axis: str, values: Sequence[Value]) -> Sequence[Value]:
    """Each value once; two values with one name would share IDs and baselines."""
    named: dict[str, Value] = {}
    for value in values:
        if named.setdefault(value.name, value) != value:
            raise OptionError(f"two values of the axis {axis!r} are named {value.name!r}; give each its own name")
    return list(named.values())


def _plain(parameter: Any) -> Any:
    """The value of a pytest.param; the cell's marks and ID replace its own."""
    values = getattr(parameter, "values", None)
    return values[0] if isinstance(values, tuple) else parameter


class _Decorators:
    """Marks of values, cached because there may be thousands of cells."""

    def __init__(self) -> None:
        self._known: dict[int, list[pytest.MarkDecorator]] = {}

    def of(self, values: Sequence[Value]) -> list[pytest.MarkDecorator]:
        return [decorator for value in values for decorator in self._of_value(value)]

    def _of_value(self, value: Value) -> list[pytest.MarkDecorator]:
        if id(value) not in self._known:
            self._known[id(value)] = [getattr(pytest.mark, name) for name in value.marks]
        return self._known[id(value)]


def _nothing(axes: Sequence[str], skipped: Sequence[SkippedCell]) -> Any:
    reasons = "".join(skips.lines(skipped, is_listed=False)).removeprefix("skipped: ") or "an axis has no values"
    skip = pytest.mark.skip(reason=f"no cell of the matrix is left: {reasons}")
    return pytest.param(*[None] * len(axes), id="nothing-left", marks=skip)


def value(request: pytest.FixtureRequest) -> Any:
    """The value of an axis fixture."""
    if not hasattr(request, "param"):
        raise pytest.UsageError(
            f"the fixture {request.fixturename!r} is an axis of dlbench; a test that uses it must also use 'dlbench'"
        )
    return request.param
