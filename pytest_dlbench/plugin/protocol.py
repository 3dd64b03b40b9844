"""A test's setup, call and teardown, as pytest runs them; what they report is not logged yet."""

from bdb import BdbQuit
from typing import Any, Literal

import pytest


def until_call(item: Any) -> list[pytest.TestReport]:
    """Set up and call; only the setup where that does not pass."""
    # A test that was run before has no request left. Plugins that run tests again all ask for a new one this way.
    if not item._request:
        item._initrequest()
    reports = [_report(item, "setup")]
    if reports[0].passed:
        reports.append(_report(item, "call"))
    return reports


def teardown(item: Any, following: pytest.Item | None) -> pytest.TestReport:
    """Tear down what the test that follows does not share."""
    try:
        return _report(item, "teardown", nextitem=following)
    finally:
        item._request = False
        item.funcargs = None


def _report(item: pytest.Item, when: Literal["setup", "call", "teardown"], **more: object) -> pytest.TestReport:
    hooks = item.ihook
    hook = {"setup": hooks.pytest_runtest_setup, "call": hooks.pytest_runtest_call}.get(
        when, hooks.pytest_runtest_teardown
    )
    # With --pdb Ctrl-C ends the test and not the session.
    raised = (pytest.exit.Exception, *(() if item.config.getoption("usepdb", False) else (KeyboardInterrupt,)))
    call = pytest.CallInfo.from_call(lambda: hook(item=item, **more), when=when, reraise=raised)
    report: pytest.TestReport = hooks.pytest_runtest_makereport(item=item, call=call)
    is_expected = report.skipped or hasattr(report, "wasxfail")
    if call.excinfo and not is_expected and not isinstance(call.excinfo.value, BdbQuit):
        hooks.pytest_exception_interact(node=item, call=call, report=report)
    return report
