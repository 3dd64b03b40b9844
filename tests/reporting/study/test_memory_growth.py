"""Memory that grew between versions: how much of it is the import."""

from dataclasses import replace

from pytest_dlbench.records import VerdictOutcome
from pytest_dlbench.reporting.study import memory_growth, versions
from pytest_dlbench.reporting.study.document import Table
from tests.doubles.judged import both_sides, measured
from tests.doubles.records import MIB, verdict

REGRESSED = verdict(metric="peak_rss")


def using(side, of_import, peak, files=None):
    """The side with runs with these peaks after the import and in training, and mapped files, in MiB."""
    runs = []
    for run in side.runs:
        mib = {name: peak if name == "train" else of_import for name in run.usage}
        mapped = files and files * MIB
        usage = {
            name: replace(used, rss_peak_bytes=mib[name] * MIB, file_peak_bytes=mapped)
            for name, used in run.usage.items()
        }
        runs.append(replace(run, usage=usage))
    return replace(side, runs=tuple(runs))


def pair(*verdicts, files=(None, None)):
    """Both sides of a session."""
    before, now = both_sides(verdicts=verdicts)
    return using(before, 100, 200, files[0]), using(now, 190, 320, files[1])


def rows_of(*sides):
    cases = measured(*sides)
    found = versions.by_comparison(versions.compared(cases))
    blocks = memory_growth.blocks(found, [case for case in cases if case.is_baseline])
    return [row for block in blocks if isinstance(block, Table) for row in block.rows]


def rows(*verdicts, files=(None, None)):
    return rows_of(*pair(*verdicts, files=files))


def test_the_import_has_its_share_of_the_growth():
    (row,) = rows(REGRESSED)
    assert row[:4] == ("pytorch==2.12.0", "pytorch==2.13.0", "tartu-mnist-cnn · digits28 · 2 threads", "1")
    assert row[4:] == ("200 → 320", "100 → 190", "75 %", "–")


def test_sessions_of_one_comparison_are_numbered():
    passed = verdict(metric="peak_rss", outcome=VerdictOutcome.EQUIVALENT)
    sessions = (("3", REGRESSED), ("1", REGRESSED), ("2", passed))
    sides = [replace(side, session=name) for name, found in sessions for side in pair(found)]
    assert [row[3] for row in rows_of(*sides)] == ["1", "3"]


def test_mapped_files_have_their_own_column_where_both_sides_recorded_them():
    assert [row[-1] for row in rows(REGRESSED, files=(60, 90))] == ["60 → 90"]
    assert [row[-1] for row in rows(REGRESSED, files=(None, 90))] == ["–"]


def test_memory_that_did_not_regress_is_not_explained():
    assert rows(verdict(metric="peak_rss", outcome=VerdictOutcome.EQUIVALENT)) == []
    assert rows(verdict(metric="step_time")) == []
