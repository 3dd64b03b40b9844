"""Reading the cases of a report from journals and documents."""

import errno
from dataclasses import replace

import fsspec
import pytest

from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting import charts
from pytest_dlbench.reporting.exports import document
from pytest_dlbench.reporting.exports.rows import remember
from pytest_dlbench.reporting.page.gathering import gather
from pytest_dlbench.storing import Entry, Journal, recorded
from pytest_dlbench.storing.history import History
from tests.doubles import records
from tests.doubles.judged import both_sides, judged, session, write, write_pairs
from tests.storing.test_certificates import CERTIFICATE


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path)
    write(journal, [judged(), judged("jax")])
    return journal


def test_a_case_has_its_runs_and_their_context(journal):
    first, second = gather([journal.path]).cases
    assert (len(first.finished), first.case.framework, second.case.framework) == (3, "pytorch", "jax")
    assert first.context == records.context()
    assert first.session == journal.path.stem


def test_all_journals_of_a_folder_are_read(journal, tmp_path):
    write(Journal(tmp_path, "gw1"), [judged("mxnet")])
    found = gather([tmp_path])
    assert {case.case.framework for case in found.cases} == {"pytorch", "jax", "mxnet"}
    assert len(found.sessions) == 2


def test_a_document_has_the_same_cases_as_its_journal(journal, tmp_path):
    path = tmp_path / "session.json"
    path.write_bytes(document.write(recorded.read([journal.path]).cases, []))
    assert [case.case for case in gather([path]).cases] == [case.case for case in gather([journal.path]).cases]


def test_runs_without_a_verdict_are_not_a_case(journal):
    journal.append(Entry(run=records.run(case="cut-short")))
    assert len(gather([journal.path]).cases) == 2


def certificates(tmp_path, **changes):
    """Those of two sessions' cases; the first of them certified PyTorch, and the second trained with these changes."""
    certificate = replace(CERTIFICATE, framework="pytorch")
    write(Journal(tmp_path), [judged(result={"certificate": certificate}), judged("jax")])
    write(Journal(tmp_path, "gw1"), [judged(steps=70, context={"steps": 70, **changes})])
    return {
        (case.case.framework, case.context.steps): case.result.certificate for case in gather([tmp_path]).cases
    }, certificate


def test_a_certificate_of_one_session_is_that_of_the_same_training_in_another(tmp_path):
    found, certificate = certificates(tmp_path)
    assert found == {("pytorch", 50): certificate, ("pytorch", 70): certificate, ("jax", 50): None}


@pytest.mark.parametrize("changes", [{"precision": "bfloat16"}, {"network_digest": "other"}])
def test_a_certificate_of_one_session_is_not_that_of_another_training(changes, tmp_path):
    found, _ = certificates(tmp_path, **changes)
    assert found["pytorch", 70] is None


@pytest.mark.parametrize(
    ("of_file", "context", "is_shown"),
    [
        ({}, {}, True),
        # As in files older than these fields.
        ({"machine": "", "dataset_digest": ""}, {}, True),
        ({"machine": "", "dataset_digest": ""}, {"precision": "bfloat16"}, False),
        ({"machine": "", "dataset_digest": ""}, {"execution": ("tf32",)}, False),
        ({"machine": "linux-other"}, {}, False),
    ],
)
def test_a_certificate_that_does_not_cover_its_case_is_not_shown(of_file, context, is_shown, tmp_path):
    certificate = replace(CERTIFICATE, **of_file)
    journal = Journal(tmp_path)
    write(journal, [judged(result={"certificate": certificate}, context=context)])
    (found,) = gather([journal.path]).cases
    assert found.result.certificate == (certificate if is_shown else None)


def test_a_damaged_line_is_named_and_the_rest_is_kept(journal):
    journal.path.write_bytes(journal.path.read_bytes()[:-20])
    found = gather([journal.path])
    assert [case.case.framework for case in found.cases] == ["pytorch"]
    assert "line 8" in found.damages[0]


# Programs, operators and searches have no batch size; pandas has none as NaN, and 64 as 64.0 where some have none.
@pytest.mark.parametrize(("size", "other_size"), [(64, 64), (None, None), (None, 64), (64, None)])
def test_a_history_has_each_session_of_the_cases_of_the_report_once(size, other_size, tmp_path):
    history = History(address=str(tmp_path / "history"))

    def of_day(number):
        return replace(session(number), context=records.context(batch_size=size))

    for number, name in enumerate(("first", "second")):
        another = judged("jax", context={"batch_size": other_size})
        write(journal := Journal(tmp_path / name), [of_day(number), another])
        remember(history, recorded.read([journal.path]).cases)
    write(other := Journal(tmp_path / "other"), [of_day(0)])
    found = gather([other.path], history)
    assert sorted(past.began for past in found.past) == [f"2026-01-0{day}T02:00:00+00:00" for day in (1, 2)]
    assert {(past.case, past.runs) for past in found.past} == {(found.cases[0].case.id, 3)}
    # One of them is that of the report.
    assert len({row[2] for row in charts.history.chart(found.cases, found.past).rows}) == 2


class Unreachable(fsspec.AbstractFileSystem):
    """A file system whose server does not answer."""

    protocol = "unreachable"

    def find(self, path, *_, **__):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused", path)


def test_a_history_that_cannot_be_reached_is_named_and_the_session_is_shown(journal):
    fsspec.register_implementation("unreachable", Unreachable, clobber=True)
    found = gather([journal.path], History(address="unreachable://host/history"))
    assert len(found.cases) == 2
    (damage,) = found.damages
    assert damage.startswith("the history at unreachable://host/history cannot be read: ")
    assert "Connection refused" in damage


def test_both_sides_of_pairs_are_cases_and_only_the_candidate_is_judged(tmp_path):
    journal = Journal(tmp_path)
    write_pairs(journal, both_sides(step=0.02, outcome=CaseOutcome.REGRESSED, verdicts=(records.verdict(),)))
    old, new = gather([journal.path]).cases
    assert (old.label, new.label) == (
        "pytorch==2.12.0 (baseline) · tartu-mnist-cnn",
        "pytorch==2.13.0 · tartu-mnist-cnn",
    )
    assert (old.outcome, new.outcome) == ("baseline", "regressed")
    assert (len(old.finished), len(new.finished)) == (3, 3)
    assert new.is_pair_of(old)
    assert old.result.figures["step_time"] == pytest.approx(0.01)
