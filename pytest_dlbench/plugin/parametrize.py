"""How the matrix gets into pytest: axes that a test asks for become one joint parametrization of fitting cells."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_dlbench.data import Dataset
from pytest_dlbench.data.cache import missing
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.environments.placing import Places
from pytest_dlbench.errors import OptionError
from pytest_dlbench.model import Purpose
from pytest_dlbench.options import Options
from pytest_dlbench.planning import sweep
from pytest_dlbench.planning.matrix import AXES, Value, cells
from pytest_dlbench.planning.registry import Registry
from pytest_dlbench.planning.sides import Sides
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.records import SkippedCell

SKIPPED = pytest.StashKey[list[SkippedCell]]()

OPTION_OF_AXIS = {"framework": "frameworks", "model": "models", "dataset": "datasets", "device": "devices"}
FIXED_MARKS = {
    "training": "trains a model",
    "equivalence": "checks that frameworks train the same network",
    "cpu": "runs on the processor",
    "gpu": "runs on a graphics processor",
    "multi_device": "runs on several devices at once",
    "cnn": "a convolutional network",
    "fcn": "a fully connected network",
    "rnn": "a recurrent network",
    "detection": "an object detector",
    "inference": "only applies a model",
    "slow": "takes minutes",
    "target_accuracy": "tells when a training reached this test accuracy, such as target_accuracy(0.97)",
    "legacy": "a framework that is no longer developed",
}


def check_names(asked: Options, registry: Registry) -> None:
    """Refuse names on the command line that nobody knows; raises OptionError with the nearest one."""
    for axis in OPTION_OF_AXIS:
        _chosen(axis, registry, asked)


def mark_lines(registry: Registry) -> Iterator[tuple[str, str]]:
    """Every mark that a cell may bear, and what it means."""
    yield from FIXED_MARKS.items()
    seen = set(FIXED_MARKS)
    for axis, values in registry.values.items():
        for value in values.values():
            for name in value.marks:
                if name not in seen:
                    seen.add(name)
                    yield name, f"{axis} of {value.name}"


def target_of(item: pytest.Item, usual: float | None) -> float | None:
    """The accuracy that the mark of a test names, else the usual one; raises pytest.UsageError."""
    mark = item.get_closest_marker("target_accuracy")
    if mark is None:
        return usual
    target = mark.args[0] if len(mark.args) == 1 else None
    if not isinstance(target, float | int) or not 0 < target <= 1:
        given = ", ".join(map(repr, mark.args))
        raise pytest.UsageError(f"{item.nodeid}: target_accuracy({given}): expected a share of 1, such as 0.97")
    return float(target)


def parametrize(
    metafunc: pytest.Metafunc, registry: Registry, asked: Options, sides: Sequence[Sides] = ()
) -> list[SkippedCell]:
    """Give a test its cells, as a mark that comes before the fixtures' own parameters; gives what was left out.

    If there are ``sides``, their candidates are the frameworks.
    """
    taken_axes = _already_parametrized(metafunc)
    axes = [axis for axis in AXES if axis in metafunc.fixturenames and axis not in taken_axes]
    if not axes:
        return []
    values = {axis: _values(metafunc, axis, registry, asked) for axis in axes}
    if sides and "framework" in values:
        values["framework"] = [pair.new for pair in sides]
    absent = {} if asked.frameworks or sides else _absent(values.get("framework", ()), asked)
    if not asked.datasets:
        datasets = [data for data in values.get("dataset", ()) if isinstance(data, Dataset)]
        absent |= {data.name: reason for data in datasets if (reason := missing(data))}
    if not asked.devices:
        devices = [device for device in values.get("device", ()) if isinstance(device, Device)]
        absent |= {device.name: f"no {device.name} on this machine" for device in devices if not device.is_available}
    fitting, left_out = cells(values, absent, purpose_of(metafunc.definition))
    decorators = _Decorators()
    parameters = [pytest.param(*cell.values, id=cell.id, marks=decorators.of(cell.values)) for cell in fitting]
    if not parameters:
        parameters = [_nothing(axes, left_out)]
    mark = pytest.mark.parametrize(",".join(axes), parameters, indirect=True)
    # In front of a user's own parametrize marks: cells vary slowest, as axes do in the id.
    metafunc.definition.add_marker(mark, append=False)
    return left_out


def purpose_of(node: pytest.Item) -> Purpose:
    """What a test does with a network, by its marks."""
    return "inference" if node.get_closest_marker("inference") else "training"


def is_paired(item: pytest.Item, sides: Sequence[Sides]) -> bool:
    """Whether a test runs its case in pairs, as far as its parameters say."""
    if not sides or "dlbench" not in getattr(item, "fixturenames", ()) or item.get_closest_marker("equivalence"):
        return False
    given = getattr(item, "callspec", None)
    if given is None or "framework" not in given.params:
        # Its body names the framework.
        return True
    framework = given.params["framework"]
    return getattr(framework, "name", framework) in {pair.new.name for pair in sides}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What a case is trained with beside its cell: changes of its recipe, and CPU threads."""

    changes: tuple[Change, ...]
    threads: int


def parametrize_points(metafunc: pytest.Metafunc, asked: Options) -> None:
    """Settings and threads are axes where they have several values; they vary the quickest."""
    found = points(metafunc.definition, asked)
    if len(found) > 1:
        ids = [_id(point, asked) for point in found]
        # A mark behind all others, for what is parametrized at once would come before them.
        metafunc.definition.add_marker(pytest.mark.parametrize("dlbench", found, indirect=True, ids=ids))


def points(node: pytest.Item, asked: Options) -> list[Point]:
    """Where a test is to be run on those axes: a single point where no axis has several values."""
    # Golden losses are of one recipe, whatever else is swept.
    is_fixed = node.get_closest_marker("equivalence") is not None
    combinations = [()] if is_fixed else sweep.points(asked.settings)
    return [Point(changes=changes, threads=count) for changes in combinations for count in asked.threads]


def _id(point: Point, asked: Options) -> str:
    """Only what varies: a single value changes no test's id, so that it can be selected as before."""
    parts = [change.id for change in point.changes if len(asked.settings[change.name]) > 1]
    return "-".join([*parts, f"threads{point.threads}"] if len(asked.threads) > 1 else parts)


def _already_parametrized(metafunc: pytest.Metafunc) -> set[str]:
    marks = metafunc.definition.iter_markers("parametrize")
    names = (mark.args[0] if mark.args else mark.kwargs.get("argnames", ()) for mark in marks)
    return {name.strip() for given in names for name in (given.split(",") if isinstance(given, str) else given)}


def _values(metafunc: pytest.Metafunc, axis: str, registry: Registry, asked: Options) -> Sequence[Value]:
    """What the command line names, else the parameters of the suite's own fixture, else all that is known."""
    if chosen := _chosen(axis, registry, asked):
        return _named_once(axis, chosen)
    # Private in pytest, and the only way to see what a suite's fixture of this name is parametrized with.
    definitions = metafunc._arg2fixturedefs.get(axis, ())
    if definitions and definitions[-1].params is not None:
        where = f"fixture {axis!r} in {definitions[-1].baseid or 'conftest.py'}"
        own = [registry.find(axis, _plain(given), where) for given in definitions[-1].params]
        return _named_once(axis, [*own, *(registry.models_in(_node_ids(metafunc.config)) if axis == "model" else ())])
    return [value for value in registry.values[axis].values() if not isinstance(value, Device) or value.is_available]


def _chosen(axis: str, registry: Registry, asked: Options) -> list[Value]:
    """What the command line names; raises OptionError for names that nobody knows."""
    option = OPTION_OF_AXIS[axis]
    names, where = getattr(asked, option), f"--dlbench-{option}"
    if axis == "model":
        return [value for name in names for value in registry.models(name, where)]
    return [registry.find(axis, name, where) for name in names]


def _node_ids(config: pytest.Config) -> Sequence[str]:
    """Cases that are asked for by their ids, and by nothing else: whatever the fixture lists, they are found.

    Those of --lf are where they failed, so that they are run again without the options of that session.
    """
    if config.getoption("lf", False) and hasattr(config, "cache"):
        assert config.cache
        return list(config.cache.get("cache/lastfailed", {}))
    return config.args if all(argument.endswith("]") for argument in config.args) else ()


def _absent(frameworks: Sequence[Value], asked: Options) -> dict[str, str]:
    """Why frameworks are not trained that nobody named on the command line: there is no Python here that has them."""
    places = Places(store=EnvironmentStore(pythons=asked.pythons))
    reasons = {}
    for framework in frameworks:
        assert isinstance(framework, Framework)
        if framework.unsupported:
            reasons[framework.name] = framework.unsupported
        elif not asked.build and not places.ready(framework):
            reasons[framework.name] = f"{framework.name} is not here: {way_here(framework)}"
    return reasons


def way_here(framework: Framework) -> str:
    """The command that brings a framework."""
    if framework.environments:
        return f"dlbench env build {framework.name}"
    return f"pip install {' '.join(framework.needs)}"


def _named_once(axis: str, values: Sequence[Value]) -> Sequence[Value]:
    """Each value once; two values of one name would share ids and baselines."""
    named: dict[str, Value] = {}
    for value in values:
        if named.setdefault(value.name, value) != value:
            raise OptionError(f"two values of the axis {axis!r} are named {value.name!r}; give each its own name")
    return list(named.values())


def _plain(parameter: Any) -> Any:
    """The value of a pytest.param; its own marks and id give way to those of the cell."""
    values = getattr(parameter, "values", None)
    return values[0] if isinstance(values, tuple) else parameter


class _Decorators:
    """Marks of values; cells share their values' decorators, for there may be thousands of cells."""

    def __init__(self) -> None:
        self._known: dict[int, list[pytest.MarkDecorator]] = {}

    def of(self, values: Sequence[Value]) -> list[pytest.MarkDecorator]:
        return [decorator for value in values for decorator in self._of_value(value)]

    def _of_value(self, value: Value) -> list[pytest.MarkDecorator]:
        if id(value) not in self._known:
            self._known[id(value)] = [getattr(pytest.mark, name) for name in value.marks]
        return self._known[id(value)]


def _nothing(axes: Sequence[str], left_out: Sequence[SkippedCell]) -> Any:
    reasons = "; ".join(sorted({cell.reason for cell in left_out})) or "an axis has no values"
    skip = pytest.mark.skip(reason=f"no cell of the matrix is left: {reasons}")
    return pytest.param(*[None] * len(axes), id="nothing-left", marks=skip)


def value(request: pytest.FixtureRequest) -> Any:
    """What the axis fixture of this test stands for."""
    if not hasattr(request, "param"):
        raise pytest.UsageError(
            f"the fixture {request.fixturename!r} is an axis of dlbench; a test that uses it must also use 'dlbench'"
        )
    return request.param
