"""The section of a study about comparisons in pairs that are not of two versions."""

from dataclasses import replace

import pytest

from pytest_dlbench.records import VerdictOutcome
from pytest_dlbench.reporting.study import in_pairs, study, versions
from pytest_dlbench.reporting.study.document import Lacking, Table
from pytest_dlbench.storing import Journal
from tests.doubles.judged import both_sides, measured, write_pairs
from tests.doubles.records import verdict

SLOWER = verdict(change=1.05, lower=1.03, upper=1.07)
VERSIONS = (
    ("pytorch==2.12.0", "pytorch==2.13.0"),
    ("pytorch-1.0", "pytorch"),
    ("keras2-tensorflow", "keras-tensorflow"),
    ("jax@old", "jax@old-2"),
)


def rows(*sides):
    section = in_pairs.section(measured(*sides))
    return [row for block in section.blocks if isinstance(block, Table) for row in block.rows] if section else []


def with_settings(of_old, of_new):
    """Both sides of a framework with these settings."""
    old, new = both_sides("jax", "jax", verdicts=(SLOWER,))
    before, after = (
        replace(side.result.case, id=f"{side.result.case.id}-{name}", settings=settings)
        for side, name, settings in ((old, "old", of_old), (new, "new", of_new))
    )
    pairing = replace(new.result.pairing, old=before)
    return replace(new, result=replace(new.result, case=after, pairing=pairing))


def test_two_frameworks_have_a_row_with_the_change():
    (row,) = rows(both_sides("tensorflow", "keras-tensorflow", verdicts=(SLOWER,))[1])
    assert row[:2] == ("tensorflow", "keras-tensorflow")
    assert row[4] == "1.050 [1.030, 1.070]"


def test_two_settings_are_named_by_what_differs():
    (row,) = rows(with_settings({"batch_size": 32, "epochs": 2}, {"batch_size": 128, "epochs": 2}))
    assert row[:2] == ("jax, batch_size 32", "jax, batch_size 128")


@pytest.mark.parametrize(("old", "new"), VERSIONS)
def test_two_versions_of_a_framework_are_in_the_other_section(old, new):
    sides = both_sides(old, new, verdicts=(SLOWER,))
    assert rows(*sides) == []
    assert not isinstance(versions.section(measured(*sides)), Lacking)


def test_what_is_not_of_two_versions_is_not_in_the_other_section(tmp_path):
    write_pairs(Journal(tmp_path / "journals"), both_sides("tensorflow", "keras-tensorflow", verdicts=(SLOWER,)))
    made = study.make(tmp_path)
    page = made.files["index.md"].decode()
    _, _, section = page.partition("## Compared in pairs")
    assert "| tensorflow | keras-tensorflow |" in section
    assert versions.TITLE in [lacking.title for lacking in made.lacking]
    assert "From tensorflow to keras-tensorflow" not in page


def test_a_regression_is_stated_with_the_other_changes():
    memory = verdict(metric="peak_rss", outcome=VerdictOutcome.REGRESSED, old=5e8, new=6e8)
    (row,) = rows(both_sides("tensorflow", "keras-tensorflow", verdicts=(SLOWER, memory))[1])
    assert row[5].startswith("peak RSS regressed")
