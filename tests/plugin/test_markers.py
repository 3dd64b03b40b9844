"""Tolerances in the ini file, in marks and on the command line."""

import pytest

TEST = """
import pytest

{module}

@pytest.mark.dlbench(tolerance={{"accuracy": "7pp"}})
class TestSome:
    {function}
    def test_training(self, dlbench, request):
        dlbench.train("numpy", "softmax", "digits")
"""
MODULE = 'pytestmark = pytest.mark.dlbench(tolerance={"step_time": "41.5%", "peak_rss": "31%", "accuracy": "9pp"})'
FUNCTION = '@pytest.mark.dlbench(tolerance={"peak_rss": "22%"})'


def shown(pytester, *arguments):
    """Tolerances by metric of the tests of a module."""
    pytester.makeconftest("""
import pytest
from pytest_dlbench.judging import METRICS
from pytest_dlbench.plugin import markers
from pytest_dlbench.plugin.hooks import OPTIONS

def pytest_collection_finish(session):
    for item in session.items:
        print(sorted(markers.tolerances(item, session.config.stash[OPTIONS], METRICS).items()))
""")
    return pytester.runpytest_inprocess("--collect-only", "-s", *arguments)


def test_the_nearest_mark_wins_metric_by_metric_and_the_command_line_over_all(pytester):
    pytester.makepyfile(TEST.format(module=MODULE, function=FUNCTION))
    pytester.makeini("[pytest]\ndlbench_tolerance = step_time:60%, throughput:70%\n")
    shown(pytester).stdout.fnmatch_lines(
        [
            "[[]('accuracy', 7.0), * ('peak_rss', 0.22), ('step_time', 0.415), ('throughput', 0.7)]",
        ]
    )
    shown(pytester, "--dlbench-tolerance=accuracy:2pp").stdout.fnmatch_lines(
        [
            "[[]('accuracy', 2.0), * ('peak_rss', 0.22), ('step_time', 0.415), ('throughput', 0.7)]",
        ]
    )


@pytest.mark.parametrize(
    ("mark", "line"),
    [
        ('tolerance={"step_time": "3pp"}', "unknown unit 'pp' in 'step_time:3pp'; step_time is judged in %: *"),
        ('tolerance={"step_time": "3"}', "a unit is missing in 'step_time:3'*"),
        ('tolerance={"step_tme": "3%"}', "unknown metric 'step_tme'"),
        ('tolerance={"step_time": 0.03}', "expected @pytest.mark.dlbench(tolerance={*, got dlbench(tolerance={*0.03})"),
        ('tolerances={"step_time": "3%"}', "expected @pytest.mark.dlbench(tolerance={*, got dlbench(tolerances={*"),
        ('"3%"', "expected @pytest.mark.dlbench(tolerance={*, got dlbench('3%')"),
    ],
)
def test_a_malformed_mark_is_a_usage_error_that_names_its_test(pytester, mark, line):
    pytester.makepyfile(test_it=TEST.format(module="", function=f"@pytest.mark.dlbench({mark})"))
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: the mark dlbench of test_it.py::TestSome::test_training: {line}"])


def test_a_mark_decides_what_regressed(suite):
    suite.saved_earlier()
    mark = 'import pytest\n@pytest.mark.dlbench(tolerance={"step_time": "900%", "peak_rss": "10%"})\n'
    body = "def test_training(dlbench):\n    dlbench.train('numpy', 'softmax', 'digits')\n"
    suite.write(builder="slowed", test=mark + body)
    result = suite.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu *passed"])


def test_a_malformed_mark_is_reported_by_workers_of_xdist_too(pytester):
    pytester.makepyfile(test_it=TEST.format(module="", function='@pytest.mark.dlbench(tolerance={"step_time": "3pp"})'))
    result = pytester.runpytest_subprocess("-p", "xdist", "-n1")
    assert result.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR)
    result.stdout.fnmatch_lines(["*the mark dlbench of test_it.py::TestSome::test_training: unknown unit 'pp'*"])


TWO_MEANINGS = """
import pytest
from pytest_dlbench import Metric

@pytest.mark.dlbench(metrics=[Metric(name="tokens", unit="tokens", better="higher")])
def test_one(dlbench):
    pass

@pytest.mark.dlbench(metrics=[Metric(name="tokens", unit="bytes", better="higher")])
def test_other(dlbench):
    pass
"""


def test_a_metric_with_two_meanings_fails_the_tests_of_workers(pytester):
    pytester.makepyfile(test_it=TWO_MEANINGS)
    result = pytester.runpytest_subprocess("-p", "xdist", "-n1")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*test_it.py::test_other declare different metrics named 'tokens'*"])
    assert "crashed" not in result.stdout.str()
