"""The hooks of the process that runs tests, and the fixtures."""

from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from pytest_dlbench import judging, options
from pytest_dlbench.errors import DlbenchError, OptionError
from pytest_dlbench.judging import Metrics
from pytest_dlbench.model import Recipe
from pytest_dlbench.options import Options
from pytest_dlbench.options.parsers import RAY
from pytest_dlbench.planning import hookspecs
from pytest_dlbench.planning.hookspecs import TAKER
from pytest_dlbench.planning.registry import KNOWN, Registry, hooked
from pytest_dlbench.planning.sides import AskedSides, sides_of
from pytest_dlbench.plugin import gpus, markers, parametrize
from pytest_dlbench.plugin.agenda import Collected
from pytest_dlbench.plugin.dry_run import Planner
from pytest_dlbench.plugin.relay import Outlet, Relaying, Unplanned
from pytest_dlbench.plugin.signals import Signals
from pytest_dlbench.plugin.terminal import MACHINE, RESUMED, UNOPENED, Reporter
from pytest_dlbench.records import CaseOutcome, CaseResult, Certificate, Record, codec
from pytest_dlbench.records.reasons import Caution
from pytest_dlbench.reporting import foreign, progress
from pytest_dlbench.running.hosts import membership
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.sampling.survivors import end_orphans
from pytest_dlbench.storing.resuming import resume

if TYPE_CHECKING:
    from pytest_dlbench.plugin.fixture import Dlbench
    from pytest_dlbench.workflows.session import Session

REPORTER, RELAY, SIGNALS = "dlbench-reporter", "dlbench-relay", "dlbench-signals"
OPTIONS = pytest.StashKey[Options]()
SESSION: pytest.StashKey["Session"] = pytest.StashKey()
REGISTRY = pytest.StashKey[Registry]()
SIDES = pytest.StashKey[AskedSides]()
RESULT = pytest.StashKey[CaseResult]()
# The results with which a test went on; present once it has the fixture, which it may request as it runs.
SETTLED = pytest.StashKey[list[CaseResult]]()
# By case.
RUNS = pytest.StashKey[dict[str, list[dict[str, float]]]]()
HOSTS = pytest.StashKey[dict[str, list[str]]]()
# Results of other tests that this one changed.
CHANGED = pytest.StashKey[list[CaseResult]]()
PAIRED = pytest.StashKey[int]()
NAME = pytest.StashKey[str]()
CASES = pytest.StashKey[int]()
# Why all tests of a worker of pytest-xdist fail.
REFUSED = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


# Around the others, so that a suite's conftest.py has added its own options.
@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    yield
    if any(text.startswith("--dlbench-") for text in args):
        _, unknown = parser.parse_known_and_unknown_args(args, copy(early_config.option))
        try:
            options.check_flags(unknown)
        except OptionError as error:
            raise pytest.UsageError(str(error)) from error


def pytest_configure(config: pytest.Config) -> None:
    try:
        # Before the options, which may name metrics of hooks.
        registry = KNOWN.measuring(_flat(config.hook.pytest_dlbench_record(config=config)))
        written = _written(config)
        # Another plugin may have keys that begin like ours.
        options.check_keys(written.keys() - config._parser._inidict.keys())
        has_pairs = _is_taken(config)
        asked = options.read(
            config.getoption,
            written.get,
            config.rootpath,
            metrics=registry.metrics,
            has_pairs=has_pairs,
            has_marks=True,
        )
        registry = hooked(registry, config.hook, config)
        parametrize.check_names(asked, registry)
        config.stash[SIDES] = sides_of(asked.ab, asked.frameworks, registry, config.rootpath)
        if asked.on == RAY and not config.option.collectonly:
            membership.check()
    except OptionError as error:
        raise pytest.UsageError(foreign.block(str(error))) from error
    _exit_if(gpus.missing(asked, registry))
    config.stash[REGISTRY] = registry
    config.stash[parametrize.SKIPPED_OF] = {}
    config.stash[parametrize.SKIPPED] = []
    config.stash[OPTIONS] = asked
    # So that other plugins know it too: pytest-xdist then starts no workers.
    config.option.collectonly |= asked.plan
    for name, meaning in parametrize.mark_lines(registry):
        config.addinivalue_line("markers", f"{name}: {meaning}")
    config.addinivalue_line("markers", markers.LINE)


def _written(config: pytest.Config) -> dict[str, Any]:
    """The keys of the ini file and of -o with their values, as TOML has them, also unknown ones.

    pytest has no public way: getini refuses a list or a number where text was declared, and unknown keys.
    """
    # pytest 9 wraps the values, and has renamed the attribute.
    found = config._inicfg if hasattr(config, "_inicfg") else config.inicfg
    values = {key: getattr(value, "value", value) for key, value in found.items()}
    typed = (text.partition("=") for text in config.getoption("override_ini") or ())
    return values | {key.strip(): value.strip() for key, _, value in typed}


def _exit_if(problem: str) -> None:
    """End the session as one that collected no test, if there is a reason to."""
    if problem:
        pytest.exit(problem, returncode=pytest.ExitCode.NO_TESTS_COLLECTED)


def _is_taken(config: pytest.Config) -> bool:
    """Whether a command of dlbench takes the cases, and measures them in pairs."""
    return config.pluginmanager.hasplugin(TAKER)


def _flat(answers: Iterable[Iterable[Any]]) -> list[Any]:
    return [value for answer in answers for value in answer]


def session_of(config: pytest.Config) -> "Session":
    """The benchmark session of a pytest session, opened on first use."""
    if SESSION not in config.stash:
        # Late: every pytest session with this plugin installed, and every collection, would wait for NumPy and psutil.
        from pytest_dlbench.options import settings  # noqa: PLC0415
        from pytest_dlbench.workflows.session import open_session  # noqa: PLC0415

        asked = config.stash[OPTIONS]
        # A command of dlbench that takes the cases has a progress of its own.
        shown = next(filter(None, map(config.pluginmanager.get_plugin, (TAKER, REPORTER, RELAY))), None)
        listener = shown.progress if shown else Silent()
        worker = getattr(config, "workerinput", {})
        hosts = settings.hosts(asked, config.stash.get(MACHINE, None))
        config.stash[SESSION] = open_session(
            settings.run_settings(asked, hosts, listener, config.stash[REGISTRY].metrics),
            settings.gate_policy(asked),
            settings.storage(asked),
            listener,
            hosts=hosts,
            repeat_flags=asked.again,
            samplers=_flat(config.hook.pytest_dlbench_samplers(config=config)),
            worker=worker.get("workerid", ""),
            workers=worker.get("workercount", 1),
            tests=config.stash.get(PAIRED, 1),
            # Only a session of pytest can be resumed, by the name in its journal.
            name="" if _is_taken(config) else config.stash[NAME],
            resumed=config.stash[RESUMED],
            cases=config.stash.get(CASES, 1),
        )
    return config.stash[SESSION]


def _opened(config: pytest.Config) -> "Session":
    """The benchmark session; fails the test if it cannot be opened."""
    if UNOPENED not in config.stash:
        try:
            return session_of(config)
        except DlbenchError as error:
            from pytest_dlbench.reporting import explain  # noqa: PLC0415 - see session_of

            config.stash[UNOPENED] = explain.error(error, config.stash[REGISTRY].metrics)
    # Outside the handler: pytest would report the handled exception as well.
    pytest.fail(config.stash[UNOPENED], pytrace=False)


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    _name_and_resume(config)
    # Workers of pytest-xdist report to the controller, which may have no terminal either.
    if not hasattr(config, "workerinput") and not _is_taken(config):
        asked = config.stash[OPTIONS]
        agenda = Collected(asked, config.stash[REGISTRY], config.stash[SIDES], lambda: session_of(config))
        reporter = Reporter(config, terminal, asked, agenda, lambda: session_of(config))
        config.pluginmanager.register(reporter, REPORTER)
    elif told := getattr(config, "workerinput", {}).get("dlbench_progress"):
        _relay(config, told)
    if config.stash[OPTIONS].plan:
        if terminal is None:
            raise pytest.UsageError("--dlbench-plan: a plan is printed, and -p no:terminal prints nothing; omit one")
        planner = Planner(config, config.stash[OPTIONS], config.stash[REGISTRY], lambda: session_of(config))
        config.pluginmanager.register(planner)
    if config.pluginmanager.hasplugin("dsession"):
        # The controller of pytest-xdist collects nothing: whether there are benchmarks is not known here.
        _begin(config)


def _relay(config: pytest.Config, told: Mapping[str, Any]) -> None:
    """Show progress on the terminal of the controller of pytest-xdist, which is on this machine or not."""

    def host() -> str:
        return config.stash[SESSION].hosts.leased if SESSION in config.stash else ""

    with suppress(OSError):
        worker = getattr(config, "workerinput", {})
        outlet = Outlet(told, worker["workerid"], host)
        asked = config.stash[OPTIONS]
        agenda = Unplanned(asked, config.stash[REGISTRY], config.stash[SIDES], lambda: session_of(config))
        config.pluginmanager.register(Relaying(outlet, agenda, asked), RELAY)


def _begin(config: pytest.Config) -> None:
    """Before the first benchmark: handle signals, and end what killed sessions left running."""
    if config.pluginmanager.hasplugin(SIGNALS):
        return
    config.pluginmanager.register(Signals(config), SIGNALS)
    reporter = config.pluginmanager.get_plugin(REPORTER)
    if reporter and (ended := end_orphans()):
        reporter.write(f"{progress.orphans(ended)}\n")


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
        raise pytest.Collector.CollectError(foreign.block(str(error))) from error
    config.stash[parametrize.SKIPPED_OF][metafunc.definition.nodeid] = skipped


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    try:
        _check_marks(config, items)
    except OptionError as error:
        refused = foreign.block(str(error))
        if not hasattr(config, "workerinput"):
            raise pytest.UsageError(refused) from error
        # To pytest-xdist, a usage error would be a crash of the worker: all of its tests fail instead.
        config.stash[REFUSED] = refused
    if config.stash[OPTIONS].plan:
        return
    if problem := gpus.missing_for_marks(config.stash[OPTIONS], config.option.markexpr, items, config.stash[REGISTRY]):
        # As pytest itself would have done.
        config.hook.pytest_deselected(items=items[:])
        items.clear()
        if (output := getattr(config, "workeroutput", None)) is None:
            _exit_if(problem)
        else:
            # An exit would be a crash, too: the controller exits.
            output["dlbench_nothing"] = problem


def _check_marks(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Learn the metrics that tests declare; raises OptionError for wrong marks, and for unknown tolerances."""
    asked = config.stash[OPTIONS]
    registry = config.stash[REGISTRY] = markers.measuring(config.stash[REGISTRY], items)
    markers.check_later(asked, registry.metrics)
    for item in items:
        markers.tolerances(item, asked, registry.metrics)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if refused := item.config.stash.get(REFUSED, ""):
        pytest.fail(refused, pytrace=False)


def pytest_collection_finish(session: pytest.Session) -> None:
    # Here, because deselected items get no share of the time, nor of the false alarms.
    stash = session.config.stash
    stash[CASES] = sum("dlbench" in getattr(item, "fixturenames", ()) for item in session.items)
    stash[PAIRED] = sum(parametrize.is_paired(item, stash[SIDES]) for item in session.items)
    selected = set(map(_test_of, session.items))
    skipped = (cells for test, cells in stash[parametrize.SKIPPED_OF].items() if test in selected)
    stash[parametrize.SKIPPED].extend(chain.from_iterable(skipped))
    is_run = not session.config.option.collectonly
    if is_run and any("dlbench" in getattr(item, "fixturenames", ()) for item in session.items):
        _begin(session.config)


def _test_of(item: pytest.Item) -> str:
    """The node ID without parameters. Folders may have brackets in their names, too."""
    return item.nodeid.removesuffix(item.name) + str(getattr(item, "originalname", item.name))


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


# Outermost: other plugins decide whether a test that failed was expected to.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if "dlbench" in getattr(item, "fixturenames", ()) or SETTLED in item.stash:
        if report.when == "call" and report.failed:
            _mark_failed(item, call.excinfo.exconly() if call.excinfo else report.longreprtext)
        if SESSION in item.config.stash and (report.when != "setup" or not report.passed):
            _save(item, report)
        report.user_properties = list(item.user_properties)
        # Plain data, which a worker of pytest-xdist can send.
        changed = {"changed": codec.builtins(item.stash[CHANGED])} if CHANGED in item.stash else {}
        report.__dict__["dlbench"] = changed | (_reported(item) if RESULT in item.stash else {})
    return report


def _mark_failed(item: pytest.Item, problem: str) -> None:
    """If not an outcome but the test itself failed, its results must not say that it passed."""
    settled = item.stash.get(SETTLED, [])
    if settled and settled[-1] is item.stash[RESULT]:
        from pytest_dlbench.workflows import recording  # noqa: PLC0415 - as below

        session, line = session_of(item.config), problem.partition("\n")[0]
        _amend(item, [recording.body_failed(session, result, line) for result in settled])


def _amend(item: pytest.Item, results: list[CaseResult]) -> None:
    """Replace the results with which a test went on, also in JUnit."""
    from pytest_dlbench.reporting import junit  # noqa: PLC0415 - as below

    metrics = item.config.stash[REGISTRY].metrics
    item.stash[SETTLED], item.stash[RESULT] = results, results[-1]
    item.user_properties = [pair for pair in item.user_properties if not pair[0].startswith("dlbench_")]
    for result in results:
        item.user_properties += junit.properties(result, metrics)


def _save(item: pytest.Item, report: pytest.TestReport) -> None:
    """Save what the test measured if it passed; a case that could not be saved fails it."""
    from pytest_dlbench.records.reasons import NotSaved  # noqa: PLC0415 - late, as above
    from pytest_dlbench.workflows.saving import settle  # noqa: PLC0415

    refusal = None if report.passed else NotSaved(cause="skipped" if report.skipped else "failed")
    current = _results_of(item)
    settled = settle(session_of(item.config), item.nodeid, current, refusal=refusal)
    if settled.results:
        _amend(item, list((current | {result.case.id: result for result in settled.results}).values()))
    if settled.problems:
        report.outcome, report.longrepr = "failed", "\n".join(f"not saved: {text}" for text in settled.problems)


def _reported(item: pytest.Item) -> dict[str, Any]:
    """What the terminal needs to know of a test that measured something."""
    known = {name for name, _ in parametrize.mark_lines(item.config.stash[REGISTRY])}
    parent = item.parent.nodeid if item.parent else ""
    # A hook may have raised between the result of a case and this.
    runs, hosts = item.stash.get(RUNS, {}), item.stash.get(HOSTS, {})
    return {
        "cases": [
            {"result": codec.builtins(result), "runs": runs.get(case, []), "hosts": hosts.get(case, [])}
            for case, result in _results_of(item).items()
        ],
        # The controller of pytest-xdist collects nothing, and so knows none of those that marks declare.
        "metrics": codec.builtins(judging.facts(item.config.stash[REGISTRY].metrics)),
        "test": f"{parent}::{getattr(item, 'originalname', None) or item.name}",
        "marks": sorted({mark.name for mark in item.iter_markers()} & known),
    }


def pytest_sessionfinish(session: pytest.Session) -> None:
    # In a worker of pytest-xdist: the controller, which collects nothing, needs these.
    stash = session.config.stash
    if SESSION in stash:
        _conclude_interrupted(stash[SESSION])
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["dlbench_left_out"] = codec.builtins(stash[parametrize.SKIPPED])
        if SESSION in stash:
            output["dlbench_machine"] = codec.builtins(stash[SESSION].settings.machine)
            output["dlbench_journal"] = str(stash[SESSION].journal.path)
            output["dlbench_taken"] = stash[SESSION].resumption.recorded.taken
            output["dlbench_journal_problem"] = stash[SESSION].journal.problem


def _conclude_interrupted(session: "Session") -> None:
    """Of a test that Ctrl-C ended there is no report."""
    from pytest_dlbench.records.reasons import NotSaved  # noqa: PLC0415 - late, as above
    from pytest_dlbench.workflows.saving import settle  # noqa: PLC0415

    for node in list(session.unsaved):
        settle(session, node, {}, refusal=NotSaved(cause="interrupted"))


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
    from pytest_dlbench.workflows import recording  # noqa: PLC0415 - see session_of

    config, node, asked = request.config, request.node, request.config.stash[OPTIONS]
    _announce(node)
    session = _opened(config)
    session.resumption.test, session.comparer.suite = node.nodeid, node.path.parent

    def report(record: Record, result: CaseResult) -> None:
        config.hook.pytest_dlbench_case_finished(config=config, record=record, result=result)

    def note(result: CaseResult, caution: Caution) -> None:
        settled = node.stash[SETTLED]
        _amend(node, [recording.noted(session, one, caution) if one.case == result.case else one for one in settled])

    point = getattr(request, "param", None) or parametrize.points(node, asked)[0]
    target = parametrize.target_of(node, asked.target_accuracy)
    return Dlbench(
        session=session,
        settings=replace(point.of(session.settings), target_accuracy=target),
        registry=config.stash[REGISTRY],
        sides=config.stash[SIDES],
        node=node.nodeid,
        recipe=recipe,
        weights=asked.weights,
        tolerance=markers.tolerances(node, asked, session.settings.metrics),
        root=config.rootpath,
        environment=markers.environment(node),
        declared=tuple(markers.declared(node)),
        report=report,
        settle=partial(_keep, node, asked, session.settings.metrics),
        note=note,
        certified=partial(_certified, node, session),
        skip=pytest.skip,
        taker=config.pluginmanager.get_plugin(TAKER),
    )


def _announce(node: pytest.Item) -> None:
    """Let the session know of a test that measures: of one that requests the fixture as it runs, nothing was known."""
    node.stash[SETTLED] = []
    _begin(node.config)
    if reporter := node.config.pluginmanager.get_plugin(REPORTER):
        reporter.saw_benchmarks = True


def _certified(node: pytest.Item, session: "Session", certificate: Certificate) -> None:
    """Attach a certificate to the results of tests that trained before."""
    from pytest_dlbench.workflows import certify, recording  # noqa: PLC0415 - see session_of

    cases, changed = certify.trained_before(session, certificate), dict[str, CaseResult]()
    for item in node.session.items:
        known = _results_of(item)
        new = {case: recording.certified(session, known[case], certificate) for case in cases & known.keys()}
        if new:
            changed |= new
            item.stash[RESULT] = new.get(item.stash[RESULT].case.id, item.stash[RESULT])
            item.stash[SETTLED] = [new.get(result.case.id, result) for result in item.stash.get(SETTLED, ())]
    node.stash[CHANGED] = [*node.stash.get(CHANGED, ()), *changed.values()]


def _results_of(item: pytest.Item) -> dict[str, CaseResult]:
    """The results of a test by case, in the order of its cases. The last one may have ended it."""
    last = (item.stash[RESULT],) if RESULT in item.stash else ()
    return {result.case.id: result for result in (*item.stash.get(SETTLED, ()), *last)}


def _keep(node: pytest.Item, asked: Options, metrics: Metrics, record: Record, result: CaseResult) -> None:
    """Keep a result for the reports of its test, and settle it."""
    from pytest_dlbench.reporting import junit  # noqa: PLC0415 - not needed to collect

    node.stash[RESULT] = result
    node.stash.setdefault(RUNS, {})[result.case.id] = [judging.summarise([run]) for run in record.runs]
    node.stash.setdefault(HOSTS, {})[result.case.id] = sorted({run.host for run in record.runs} - {""})
    node.user_properties += junit.properties(result, metrics)
    _settle(asked, result, metrics)
    node.stash[SETTLED].append(result)


def _settle(asked: Options, result: CaseResult, metrics: Metrics) -> None:
    """Pass, fail or skip, by the outcome."""
    from pytest_dlbench.reporting import cautions, explain  # noqa: PLC0415 - as above

    warnings = "".join(f"\nwarning: {warning}" for warning in cautions.warnings(result, metrics))
    text = f"{result.outcome}: {foreign.line(result.case.id)}\n{explain.message(result, metrics)}{warnings}"
    # A case that could not be saved must not look as if it had been.
    is_unsaved = asked.save and result.outcome in (CaseOutcome.INVALID, CaseOutcome.SUSPECT)
    is_gate = (asked.compare and not asked.shadow) or is_unsaved
    fails = judging.fails(
        result.outcome, is_gate=is_gate, is_strict=asked.strict, allowed=asked.allow, is_shadow=asked.shadow
    )
    if fails:
        pytest.fail(text, pytrace=False)
    if result.outcome in judging.SKIPPING:
        pytest.skip(text)
