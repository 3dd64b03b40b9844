"""Memory that grew between versions: how much of it is the import."""

from dataclasses import replace

from pytest_dlbench.records import VerdictOutcome
from pytest_dlbench.reporting.study import memory_growth
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


def rows(*verdicts, files=(None, None)):
    before, now = both_sides(verdicts=verdicts)
    found = memory_growth.blocks(measured(using(before, 100, 200, files[0]), using(now, 190, 320, files[1])))
    return [row for block in found if isinstance(block, Table) for row in block.rows]


def test_the_import_has_its_share_of_the_growth():
    assert rows(REGRESSED) == [
        ("pytorch==2.12.0", "pytorch==2.13.0", "tartu-mnist-cnn", "200 → 320", "100 → 190", "75 %", "–")
    ]


def test_mapped_files_have_their_own_column_where_both_sides_recorded_them():
    assert [row[-1] for row in rows(REGRESSED, files=(60, 90))] == ["60 → 90"]
    assert [row[-1] for row in rows(REGRESSED, files=(None, 90))] == ["–"]


def test_memory_that_did_not_regress_is_not_explained():
    assert rows(verdict(metric="peak_rss", outcome=VerdictOutcome.EQUIVALENT)) == []
    assert rows(verdict(metric="step_time")) == []
