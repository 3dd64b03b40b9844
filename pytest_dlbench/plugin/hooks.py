"""The hooks of the process that runs tests, and the fixtures."""

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from pytest_dlbench import judging, options
from pytest_dlbench.errors import DlbenchError, OptionError
from pytest_dlbench.judging import Metrics
from pytest_dlbench.model import Recipe
from pytest_dlbench.options import Options
from pytest_dlbench.planning import hookspecs
from pytest_dlbench.planning.registry import KNOWN, Registry, hooked
from pytest_dlbench.planning.sides import Sides, sides_of
from pytest_dlbench.plugin import markers, parametrize
from pytest_dlbench.plugin.dry_run import Planner
from pytest_dlbench.plugin.terminal import RESUMED, Reporter
from pytest_dlbench.records import CaseOutcome, CaseResult, Record, codec
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.storing.resuming import resume

if TYPE_CHECKING:
    from pytest_dlbench.plugin.fixture import Dlbench
    from pytest_dlbench.workflows.session import Session

REPORTER = "dlbench-reporter"
OPTIONS = pytest.StashKey[Options]()
SESSION: pytest.StashKey["Session"] = pytest.StashKey()
REGISTRY = pytest.StashKey[Registry]()
SIDES = pytest.StashKey[Sequence[Sides]]()
RESULT = pytest.StashKey[CaseResult]()
RUNS = pytest.StashKey[list[dict[str, float]]]()
PAIRED = pytest.StashKey[int]()
NAME = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    try:
        # Before the options, which may name metrics of hooks.
        registry = KNOWN.measuring(_flat(config.hook.pytest_dlbench_record(config=config)))
        options.check_keys(_written_keys(config))
        asked = options.read(config.getoption, config.getini, config.rootpath, metrics=registry.metrics)
        registry = hooked(registry, config.hook, config)
        parametrize.check_names(asked, registry)
        config.stash[SIDES] = sides_of(asked.ab, asked.frameworks, registry)
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[REGISTRY] = registry
    config.stash[parametrize.SKIPPED] = []
    config.stash[OPTIONS] = asked
    # So that other plugins know it too: pytest-xdist then starts no workers.
    config.option.collectonly |= asked.plan
    for name, meaning in parametrize.mark_lines(registry):
        config.addinivalue_line("markers", f"{name}: {meaning}")
    config.addinivalue_line("markers", markers.LINE)


def _written_keys(config: pytest.Config) -> Iterator[str]:
    """Our keys in the ini file and in -o, including unknown ones, which getini does not return."""
    text = config.inipath.read_text(encoding="utf-8") if config.inipath else ""
    # At the start of a line: an indented line continues a value.
    yield from re.findall(r'^"?(dlbench[-_][\w-]*)"?\s*[=:]', text, re.MULTILINE)
    yield from (text.partition("=")[0].strip() for text in config.getoption("override_ini") or ())


def _flat(answers: Iterable[Iterable[Any]]) -> list[Any]:
    return [value for answer in answers for value in answer]


def session_of(config: pytest.Config) -> "Session":
    """The benchmark session of a pytest session, opened on first use."""
    if SESSION not in config.stash:
        # Late: every pytest session with this plugin installed, and every collection, would wait for NumPy and psutil.
        from pytest_dlbench.options import settings  # noqa: PLC0415
        from pytest_dlbench.workflows.session import open_session  # noqa: PLC0415

        asked, reporter = config.stash[OPTIONS], config.pluginmanager.get_plugin(REPORTER)
        progress = reporter.progress if reporter else Silent()
        worker = getattr(config, "workerinput", {})
        config.stash[SESSION] = open_session(
            settings.run_settings(asked, progress, config.stash[REGISTRY].metrics),
            settings.gate_policy(asked),
            settings.storage(asked),
            progress,
            repeat_flags=asked.again,
            samplers=_flat(config.hook.pytest_dlbench_samplers(config=config)),
            worker=worker.get("workerid", ""),
            workers=worker.get("workercount", 1),
            tests=config.stash.get(PAIRED, 1),
            name=config.stash[NAME],
            resumed=config.stash[RESUMED],
        )
    return config.stash[SESSION]


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    _name_and_resume(config)
    # Workers of pytest-xdist report to the controller, which may have no terminal either.
    if not hasattr(config, "workerinput"):
        reporter = Reporter(config, terminal, config.stash[OPTIONS], lambda: session_of(config))
        config.pluginmanager.register(reporter, REPORTER)
    if config.stash[OPTIONS].plan:
        if terminal is None:
            raise pytest.UsageError("--dlbench-plan: a plan is printed, and -p no:terminal prints nothing; omit one")
        planner = Planner(config, config.stash[OPTIONS], config.stash[REGISTRY], lambda: session_of(config))
        config.pluginmanager.register(planner)


def _name_and_resume(config: pytest.Config) -> None:
    """The name of this session and the journal that it goes on with, which workers of pytest-xdist receive."""
    asked, worker = config.stash[OPTIONS], getattr(config, "workerinput", {})
    name, resumed = worker.get("dlbench_session", uuid4().hex[:12]), worker.get("dlbench_resumed", "")
    path = Path(resumed) if resumed else None
    if asked.resume and not worker and not config.option.collectonly:
        try:
            if found := resume(asked.journals, asked.resume):
                path, name = found
        except (DlbenchError, OSError) as error:
            raise pytest.UsageError(str(error)) from error
    config.stash[NAME], config.stash[RESUMED] = name, path


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    stash = node.config.stash
    node.workerinput |= {"dlbench_session": stash[NAME], "dlbench_resumed": str(stash[RESUMED] or "")}


# First, so that pytest sees the cells as if the test itself had parametrized them.
@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dlbench" not in metafunc.fixturenames:
        return
    config = metafunc.config
    try:
        stash = config.stash
        skipped = parametrize.parametrize(metafunc, stash[REGISTRY], stash[OPTIONS], stash[SIDES])
        parametrize.parametrize_points(metafunc, config.stash[OPTIONS])
        if hasattr(config, "workerinput"):
            # To pytest-xdist, a usage error later would be a crash of the worker.
            markers.tolerances(metafunc.definition, stash[OPTIONS], stash[REGISTRY].metrics)
    except OptionError as error:
        raise pytest.Collector.CollectError(str(error)) from error
    config.stash[parametrize.SKIPPED].extend(skipped)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    try:
        for item in items:
            markers.tolerances(item, config.stash[OPTIONS], config.stash[REGISTRY].metrics)
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_collection_finish(session: pytest.Session) -> None:
    # Here, because deselected items get no share of the time.
    stash = session.config.stash
    stash[PAIRED] = sum(parametrize.is_paired(item, stash[SIDES]) for item in session.items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    except DlbenchError as error:
        # Late, as below.
        from pytest_dlbench.reporting import explain  # noqa: PLC0415

        text = explain.error(error, item.config.stash[REGISTRY].metrics)
    # Outside the handler: pytest would report the handled exception as well.
    pytest.fail(text, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if "dlbench" in getattr(item, "fixturenames", ()):
        # Plain data, which a worker of pytest-xdist can send.
        report.__dict__["dlbench"] = _reported(item) if RESULT in item.stash else {}
    return report


def _reported(item: pytest.Item) -> dict[str, Any]:
    known = {name for name, _ in parametrize.mark_lines(item.config.stash[REGISTRY])}
    parent = item.parent.nodeid if item.parent else ""
    return {
        "result": codec.builtins(item.stash[RESULT]),
        "runs": item.stash[RUNS],
        "test": f"{parent}::{getattr(item, 'originalname', None) or item.name}",
        "marks": sorted({mark.name for mark in item.iter_markers()} & known),
    }


def pytest_sessionfinish(session: pytest.Session) -> None:
    # In a worker of pytest-xdist: the controller, which collects nothing, needs these.
    stash = session.config.stash
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["dlbench_left_out"] = codec.builtins(stash[parametrize.SKIPPED])
        if SESSION in stash:
            output["dlbench_journal"] = str(stash[SESSION].journal.path)
            output["dlbench_taken"] = stash[SESSION].resumption.recorded.taken


@pytest.fixture
def framework(request: pytest.FixtureRequest) -> Any:
    """The framework of this cell. Override it with a parametrized fixture to choose the frameworks."""
    return parametrize.value(request)


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Any:
    """The model of this cell, in framework-neutral layers."""
    return parametrize.value(request)


@pytest.fixture
def dataset(request: pytest.FixtureRequest) -> Any:
    """The data set of this cell."""
    return parametrize.value(request)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Any:
    """The device of this cell."""
    return parametrize.value(request)


@pytest.fixture
def recipe() -> Recipe | None:
    """The training recipe of a suite; None means each model's own."""
    return None


@pytest.fixture
def dlbench(request: pytest.FixtureRequest, recipe: Recipe | None) -> "Dlbench":
    """Trains cells in fresh worker processes, records them, and gates on the result."""
    from pytest_dlbench.plugin.fixture import Dlbench  # noqa: PLC0415 - see session_of
    from pytest_dlbench.reporting import junit  # noqa: PLC0415 - not needed to collect

    config, node, asked = request.config, request.node, request.config.stash[OPTIONS]
    session = session_of(config)
    session.resumption.test = node.nodeid

    def report(record: Record, result: CaseResult) -> None:
        config.hook.pytest_dlbench_case_finished(config=config, record=record, result=result)

    def settle(record: Record, result: CaseResult) -> None:
        node.stash[RESULT] = result
        node.stash[RUNS] = [judging.summarise([run]) for run in record.runs]
        node.user_properties += junit.properties(result, session.settings.metrics)
        _settle(asked, result, session.settings.metrics)

    point = getattr(request, "param", None) or parametrize.points(node, asked)[0]
    target = parametrize.target_of(node, asked.target_accuracy)
    return Dlbench(
        session=session,
        settings=replace(session.settings, threads=point.threads, changes=point.changes, target_accuracy=target),
        registry=config.stash[REGISTRY],
        sides=config.stash[SIDES],
        node=node.nodeid,
        recipe=recipe,
        tolerance=markers.tolerances(node, asked, session.settings.metrics),
        report=report,
        settle=settle,
        skip=pytest.skip,
    )


def _settle(asked: Options, result: CaseResult, metrics: Metrics) -> None:
    """Pass, fail or skip, by the outcome."""
    from pytest_dlbench.reporting import cautions, explain  # noqa: PLC0415 - as above

    warnings = "".join(f"\nwarning: {warning}" for warning in cautions.warnings(result, metrics))
    text = f"{result.outcome}: {result.case.id}\n{explain.message(result, metrics)}{warnings}"
    # A case that could not be saved must not look as if it had been.
    is_gate = (asked.compare and not asked.shadow) or (asked.save and result.outcome is CaseOutcome.INVALID)
    fails = judging.fails(
        result.outcome, is_gate=is_gate, is_strict=asked.strict, allowed=asked.allow, is_shadow=asked.shadow
    )
    if fails:
        pytest.fail(text, pytrace=False)
    if result.outcome in judging.SKIPPING:
        pytest.skip(text)
