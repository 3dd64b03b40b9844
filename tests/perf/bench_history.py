"""The cost of a history of 100,000 records: append them, load all, filter one case, aggregate every case."""

from statistics import median
from time import process_time

import pytest

from pytest_dlbench.reporting.exports.rows import kinds, rows
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.recorded import Recorded
from tests.doubles import records

RECORDS = 100_000
MACHINE = "linux-acme-2cores-8gib"
ROUNDS = 5

pytestmark = pytest.mark.benchmark(group="history of 100,000 records")


@pytest.fixture(scope="module", params=[100, 1000], ids="{}-sessions".format)
def sessions(request):
    return request.param


@pytest.fixture(scope="module")
def table(sessions):
    """The rows of one session, with three runs per case."""
    runs = RECORDS // sessions
    cases = [records.case(f"training-pytorch-net{place}-digits28-cpu-quick") for place in range(runs // 3 + 1)]
    of = records.runs(steps=(0.01, 0.011, 0.012))
    found = [Recorded(record=records.record(of, case=case), result=records.case_result(case=case)) for case in cases]
    return rows(found)[:runs]


def append(folder, table, sessions):
    history = History(address=str(folder))
    for _ in range(sessions):
        history.append(table, kinds(), machine=MACHINE)
    return history


def query(history):
    """Filter one case, and take the medians of every case and session."""
    found = history.read().rows
    one = found[found["case"] == found["case"].iloc[0]]
    medians = found.groupby(["case", "session"])[["step_time", "accuracy", "peak_rss"]].median()
    return len(found), len(one), len(medians)


@pytest.fixture(scope="module")
def history(tmp_path_factory, table, sessions):
    return append(tmp_path_factory.mktemp("history"), table, sessions)


def bench_append(benchmark, tmp_path, table, sessions):
    """Seconds to append all sessions to an empty history in a local folder; 1 round."""
    benchmark.pedantic(append, args=(tmp_path / "history", table, sessions))


def bench_load(benchmark, pytestconfig, history):
    """Seconds to load all records into one pandas table; files are in the page cache."""
    rounds = pytestconfig.getoption("rounds") or ROUNDS
    loaded = benchmark.pedantic(history.read, rounds=rounds, warmup_rounds=1)
    assert len(loaded.rows) == RECORDS


def bench_query(benchmark, pytestconfig, history, conclude, sessions):
    """Seconds to load all records, filter one case and take the medians of every case and session.

    Their CPU time is in the conclusions and in ``extra_info``.
    """
    rounds, work = pytestconfig.getoption("rounds") or ROUNDS, []

    def timed():
        began = process_time()
        found = query(history)
        work.append(process_time() - began)
        return found

    read, one, medians = benchmark.pedantic(timed, rounds=rounds, warmup_rounds=1)
    assert read == RECORDS
    benchmark.extra_info["processor_seconds"] = median(work[1:])
    conclude(
        f"history of {sessions} sessions: one case has {one} records, {medians} medians; "
        f"the query takes {median(work[1:]):.2f} s of CPU time"
    )
