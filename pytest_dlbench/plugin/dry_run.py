"""The hooks of --dlbench-plan: collected items are shown as cases, and nothing is run."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_dlbench.data import Dataset, SyntheticData
from pytest_dlbench.data.cache import missing
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.model import Model, Recipe
from pytest_dlbench.options import Options
from pytest_dlbench.planning.matrix import AXES
from pytest_dlbench.planning.registry import Registry
from pytest_dlbench.plugin import parametrize
from pytest_dlbench.plugin.measured import measurements, stored
from pytest_dlbench.plugin.parametrize import SKIPPED, Point

if TYPE_CHECKING:
    from pytest_dlbench.planning.estimate import Estimator, PastProgram
    from pytest_dlbench.planning.plan import Outline, RunSettings
    from pytest_dlbench.reporting.dry_run import Row
    from pytest_dlbench.workflows.session import Session

# For tests that do not use the device axis.
DEFAULT_DEVICE = "cpu"


class Planner:
    """Registered if a plan is requested; pytest itself then only collects."""

    def __init__(
        self, config: pytest.Config, options: Options, registry: Registry, session: "Callable[[], Session]"
    ) -> None:
        self._config, self._options, self._registry, self._session = config, options, registry, session
        self._rows: list[Row] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_finish(self) -> Generator[None, None, None]:
        # Otherwise pytest would print the tree of all items, which the plan replaces.
        self._config.option.collectonly = False
        try:
            return (yield)
        finally:
            self._config.option.collectonly = True

    # Before pytest's own loop, which runs nothing: the recipe fixture needs the state that pytest has before tests.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        items = [item for item in session.items if "dlbench" in getattr(item, "fixturenames", ())]
        self._rows = list(_rows(items, self._options, self._registry, self._session())) if items else []

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        # Late, because of rich.
        from pytest_dlbench.reporting import dry_run, foreign, terminal  # noqa: PLC0415

        settings, skipped = self._session().settings, self._config.stash[SKIPPED]
        is_verbose = self._config.getoption("verbose") > 0
        terminalreporter.section("dlbench: the plan")
        terminalreporter.write_line(terminal.machine(settings.machine, self._options.threads, settings.scale))
        for line in dry_run.table(self._rows, skipped, is_verbose=is_verbose):
            terminalreporter.write_line(foreign.line(line))


def _rows(items: list[pytest.Item], options: Options, registry: Registry, session: "Session") -> "Iterable[Row]":
    """A row for every item that is a case, which items without a cell are not."""
    from pytest_dlbench.planning.estimate import Estimator, read_past  # noqa: PLC0415 - see hooks.session_of

    estimator = Estimator(session.settings.machine, read_past(options.journals))
    outlook = _Outlook(options, registry, session, estimator)
    for item, following in pairwise(chain(items, [None])):
        assert item is not None
        if any(_parameters(item).get(axis, "") is None for axis in AXES):
            continue
        yield outlook.row(item, following)


class _Outlook:
    """From items to rows."""

    def __init__(self, options: Options, registry: Registry, session: "Session", estimator: "Estimator") -> None:
        self._options, self._registry, self._session, self._estimator = options, registry, session, estimator
        self._states: dict[tuple[str, str], str] = {}

    def row(self, item: pytest.Item, following: pytest.Item | None) -> "Row":
        """What is known about an item without running it."""
        from pytest_dlbench.reporting.dry_run import Row  # noqa: PLC0415

        # A suite's own marks and fixtures may raise anything; the plan must continue.
        try:
            _raise_if_skipped(item)
            if not {"framework", "model", "dataset"} <= _parameters(item).keys():
                return self._of_body(item)
            return self._case(item, _recipe(item, following))
        except DlbenchError as error:
            return Row(case=item.name, state=f"fails: {_first_line(error)}")
        except pytest.skip.Exception as error:
            return Row(case=item.name, state=f"skipped: {_first_line(error)}")
        except (Exception, pytest.fail.Exception) as error:
            return Row(case=item.name, state=f"fails: {type(error).__name__}: {_first_line(error)}")

    def _of_body(self, item: pytest.Item) -> "Row":
        """The runs of the programs that a test's body names, as long as those of the same cases that are stored."""
        from pytest_dlbench.reporting.dry_run import RUNS, Row  # noqa: PLC0415

        if not (found := measurements(item, item.config.rootpath)):
            return Row(case=item.name, state=f"{RUNS} (its body decides what it trains)")
        runs, machine = self._options.runs, self._session.settings.machine
        past = [stored(one, self._programs, machine, _parameters(item)) for one in found]
        is_known = all(past)
        cases = [case for cases in past for case in cases]
        seconds = sum(median(case.seconds) for case in cases) * runs
        steps = {one.steps for one in found}
        return Row(
            case=item.name,
            state=RUNS if is_known else f"{RUNS} (how long is unknown: no run of it is stored)",
            steps=steps.pop() if len(steps) == 1 else None,
            runs=runs * (len(cases) if is_known else len(found)),
            seconds=seconds if is_known else None,
            is_measured=is_known,
        )

    @cached_property
    def _programs(self) -> "Sequence[Sequence[PastProgram]]":
        from pytest_dlbench.planning.estimate import read_programs  # noqa: PLC0415 - see hooks.session_of

        return read_programs(self._options.journals)

    def _case(self, item: pytest.Item, recipe: Recipe | None) -> "Row":
        from pytest_dlbench.reporting import dry_run, terminal  # noqa: PLC0415

        # Equivalence tests train once, with the recipe of their golden losses.
        is_exact = item.get_closest_marker("equivalence") is None
        outline = outline_of(item, self._options, self._registry, self._session.settings, recipe)
        size, state = self._estimator.size(outline.network), self._state(outline, _device(item, self._registry))
        estimate = self._estimator.run(outline, is_exact=is_exact) if state.startswith(dry_run.RUNS) else None
        runs = (self._options.runs if is_exact else 1) if estimate else 0
        return dry_run.Row(
            case=terminal.name(outline.case),
            state=state,
            parameters=size.parameters,
            multiply_adds=size.multiply_adds,
            steps=outline.steps if is_exact else None,
            recipe_steps=outline.recipe_steps,
            batch_size=outline.recipe.batch_size if is_exact else None,
            runs=runs,
            seconds=estimate.seconds * runs if estimate else None,
            is_measured=estimate is not None and estimate.is_measured,
        )

    def _state(self, outline: "Outline", device: Device) -> str:
        reason = outline.refusal or self._session.settings.lacking(outline.framework, device)
        if reason:
            return f"unsupported: {reason}"
        # On a GPU it may have another environment.
        key = (outline.framework.name, device.name)
        if key not in self._states:
            self._states[key] = self._state_of(outline.framework)
        state, absent = self._states[key], missing(outline.dataset)
        return f"skipped: {absent}" if absent and state.startswith("runs") else state

    def _state_of(self, framework: Framework) -> str:
        """Whether a framework would run, or how to install it."""
        if self._session.settings.places.ready(framework):
            return "runs"
        if self._options.build and framework.environments:
            return "runs, once its environment is built"
        return f"skipped: {parametrize.not_installed(framework)}"


def outline_of(
    item: pytest.Item, options: Options, registry: Registry, settings: "RunSettings", recipe: Recipe | None = None
) -> "Outline":
    """What an item trains, by its parameters; DlbenchError if nothing can, KeyError if its body decides it."""
    given = {"device": DEFAULT_DEVICE, **_parameters(item)}
    point: Point = given.get("dlbench") or parametrize.points(item, options)[0]
    values = [registry.find(axis, given[axis], item.nodeid) for axis in AXES]
    purpose, device = parametrize.purpose_of(item), cast("Device", values[3])
    return point.of(settings).outline(
        cast("Framework", values[0]).on(device.name),
        cast("Model", values[1]),
        cast("Dataset | SyntheticData", values[2]),
        device,
        recipe=recipe,
        label="equivalence" if item.get_closest_marker("equivalence") else purpose,
        purpose=purpose,
    )


def _device(item: pytest.Item, registry: Registry) -> Device:
    return cast("Device", registry.find("device", _parameters(item).get("device", DEFAULT_DEVICE), item.nodeid))


def _parameters(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return dict(callspec.params) if callspec else {}


def _raise_if_skipped(item: pytest.Item) -> None:
    """Raise pytest.skip.Exception if the marks of an item skip it, as pytest does before it sets an item up."""
    # Its built-in plugin evaluates conditions with the names that they may use. There is none with -p no:skipping.
    skipping: Any = item.config.pluginmanager.get_plugin("skipping")
    # A test that xfail(run=False) holds back is planned like any other.
    with suppress(pytest.xfail.Exception):
        if skipping:
            skipping.pytest_runtest_setup(item)


def _recipe(item: pytest.Item, following: pytest.Item | None) -> Recipe | None:
    """The value of the fixture ``recipe`` for this item, evaluated with only the fixtures that it requests."""
    # pytest evaluates fixtures only of an item that is set up, and setup would evaluate all of its fixtures. So the
    # item is entered into the setup state by hand, and torn down like any other. pytest has no public way.
    state: Any = item.session._setupstate
    request = cast("Any", item)._request
    for node in item.listchain():
        state.stack.setdefault(node, ([], None))
    try:
        return cast("Recipe | None", request.getfixturevalue("recipe"))
    finally:
        # The value is known by now; fixtures may fail in teardown because their test never ran.
        with suppress(Exception):
            state.teardown_exact(following)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
