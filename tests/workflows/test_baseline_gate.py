"""Records compared with baselines within a session: suggested commands, the history, and what is saved."""

import json
import shlex
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from pytest_dlbench import options
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.judging import METRICS, Metric, extended
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting.explain import message, settled_by
from pytest_dlbench.reporting.exports.rows import remember
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.recorded import Recorded
from pytest_dlbench.storing.repository import commit_of
from pytest_dlbench.workflows.baseline_gate import Comparer
from tests.doubles import records

NODE = "bench/test_training.py::test_training[pytorch-mnist-cnn-digits28-cpu]"
USUAL = options.read({}.get, {}.get, Path()).tolerance
NEWER = {**records.VERSIONS, "torch": "2.13.0+cpu"}


@pytest.fixture
def comparer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return comparer_of(tmp_path)


def comparer_of(folder, **typed):
    asked = read(folder, **typed)
    return Comparer(
        reason=asked.reason,
        repeat_flags=asked.again,
        history=asked.history,
        baselines=BaselineStore(folder=asked.baselines),
        metrics=METRICS,
    )


def read(folder, **typed):
    given = {f"dlbench_{name}": text for name, text in typed.items()}
    return options.read(given.get, {}.get, folder)


def slower(factor=1.0, versions=records.VERSIONS, began=""):
    runs = records.runs(steps=(0.01 * factor,) * 3)
    return [replace(run, versions=versions, began=began or run.began) for run in runs]


def compared(comparer, runs, **tolerance):
    return judged(comparer, records.record(runs), **tolerance)


def judged(comparer, record, **tolerance):
    return comparer.compare(record, FRAMEWORKS["pytorch"], NODE, {**USUAL, **tolerance})


def saved(comparer, runs):
    record = records.record(runs)
    return comparer.save(record, judged(comparer, record))


def kept(comparer):
    return comparer.baselines.read(records.case(), records.machine())


# The command that settles a suspicion


def test_a_suspicion_is_settled_by_pairs_of_the_two_versions(comparer):
    saved(comparer, slower())
    command = shlex.split(settled_by(compared(comparer, slower(1.5, NEWER))))
    assert command[:2] == ["pytest", "bench/test_training.py::test_training"]
    assert "--dlbench-ab=pytorch==2.12.0,pytorch==2.13.0" in command
    assert {"--dlbench-models=mnist-cnn", "--dlbench-datasets=digits28", "--dlbench-devices=cpu"} <= set(command)


def test_the_plugin_accepts_the_suggested_command(comparer, tmp_path):
    saved(comparer, slower())
    flags = shlex.split(settled_by(compared(comparer, slower(1.5, NEWER))))[2:]
    typed = dict(flag.removeprefix("--dlbench-").partition("=")[::2] for flag in flags)
    found = read(tmp_path, **{name: text or "true" for name, text in typed.items()})
    assert (found.ab, found.models, found.build) == (("pytorch==2.12.0", "pytorch==2.13.0"), ("mnist-cnn",), True)


def test_without_a_version_change_the_sides_are_two_requirements_files(comparer):
    saved(comparer, slower())
    command = shlex.split(settled_by(compared(comparer, slower(1.5))))
    assert {"--dlbench-ab=old.txt,new.txt", "--dlbench-frameworks=pytorch"} <= set(command)


def test_the_command_has_the_tolerance_of_the_comparison(comparer):
    saved(comparer, slower())
    command = shlex.split(settled_by(compared(comparer, slower(2), step_time=0.4)))
    assert "--dlbench-tolerance=step_time:40%" in command


def test_without_a_suspicion_no_command_is_suggested(comparer):
    saved(comparer, slower())
    assert settled_by(compared(comparer, slower())) == ""


# Saving


def test_saving_adds_a_session_and_keeps_the_reference_session(comparer):
    saved(comparer, slower())
    saved(comparer, slower())
    first, second = kept(comparer).sessions
    assert (kept(comparer).anchor, first.id != second.id) == (first.id, True)


def test_a_saved_change_starts_a_new_level_and_is_no_longer_suspect(comparer):
    saved(comparer, slower())
    assert saved(comparer, slower(1.5)).outcome is CaseOutcome.PASSED
    assert kept(comparer).sessions[-1].accepted == ("step_time",)
    again = compared(comparer, slower(1.5))
    assert [verdict.outcome.value for verdict in again.verdicts if verdict.metric == "step_time"] == ["inconclusive"]


def test_a_change_since_the_reference_session_is_reported_even_if_saved(comparer):
    saved(comparer, slower())
    saved(comparer, slower(1.5))
    again = compared(comparer, slower(1.5))
    assert again.outcome is CaseOutcome.SUSPECT
    assert f"dlbench baseline anchor {records.case().id} --last" in message(again)


def test_the_command_that_moves_the_reference_names_the_baselines_folder(comparer, tmp_path):
    elsewhere = comparer_of(tmp_path, baselines="figures")
    saved(elsewhere, slower())
    saved(elsewhere, slower(1.5))
    assert "--last --baselines figures" in message(compared(elsewhere, slower(1.5)))


def test_runs_of_another_network_start_a_new_baseline(comparer):
    saved(comparer, slower())
    record = records.record(slower(), context=records.context(network_digest="another"))
    assert "instead of 1 session of other conditions" in message(comparer.save(record, judged(comparer, record)))
    assert len(kept(comparer).sessions) == 1


CONFLICT = b"<<<<<<< HEAD\n"


@pytest.mark.parametrize("damage", [b"{", CONFLICT, b""])
def test_a_damaged_baseline_is_not_replaced(comparer, damage):
    saved(comparer, slower())
    path = comparer.baselines.path(records.case(), records.machine())
    text = damage + path.read_bytes()
    path.write_bytes(text.replace(b'"step_time":0.01', b'"step_time":0.02'))
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match=rf"{path.name}, line \d+: "):
        saved(comparer, slower())
    assert path.read_bytes() == before


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize(("old", "new"), [('"step_time":0.01', '"step_time":0.02'), ('"step_time":0.01,', "")])
def test_a_damaged_baseline_is_an_outcome_of_its_own_however_few_runs_there_are(comparer, runs, old, new):
    saved(comparer, slower())
    path = comparer.baselines.path(records.case(), records.machine())
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    found = compared(comparer, slower()[:runs])
    assert found.outcome is CaseOutcome.DAMAGED_BASELINE
    assert message(found).startswith(f"the baseline is damaged: {path}: line ")


def test_a_deleted_figure_in_a_file_without_a_checksum_is_damage_however_few_runs_there_are(comparer):
    saved(comparer, slower())
    path = comparer.baselines.path(records.case(), records.machine())
    content = json.loads(path.read_text()) | {"format": 2}
    del content["sessions"][0]["medians"]["step_time"]
    path.write_text(json.dumps(content))
    assert compared(comparer, slower()[:1]).outcome is CaseOutcome.DAMAGED_BASELINE


# Too good to be true


def test_a_gain_that_is_too_good_to_be_true_says_what_to_check_and_how_to_accept_it(comparer):
    saved(comparer, slower())
    found = compared(comparer, slower(1 / 165))
    said = message(found)
    assert found.outcome is CaseOutcome.SUSPECT
    assert said.startswith("suspect, too good to be true: step_time is 165 times as good as before")
    assert "each step does all its work" in said
    assert "--dlbench-allow=suspect" in said
    assert settled_by(found) == ""


def test_a_saved_session_has_the_commit_of_its_repository(comparer, tmp_path):
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True, timeout=60)
    saved(comparer, slower())
    assert kept(comparer).sessions[0].commit == commit_of(tmp_path) != ""


def test_a_folder_outside_a_repository_has_no_commit(tmp_path):
    assert commit_of(tmp_path) == ""


# A figure that got lost

TOKENS = replace(records.evaluation(), answers="tokens")


def of_text(factor=1.0, lost=()):
    """Runs that answer with tokens, and so have a perplexity, except for those with the lost indices."""
    runs = slower(factor)
    return [run if run.index in lost else replace(run, evaluation=TOKENS) for run in runs]


@pytest.fixture
def known(comparer):
    """A comparer with as many sessions as a verdict on time needs."""
    for _ in range(6):
        saved(comparer, of_text())
    return comparer


def test_a_figure_that_the_baseline_has_and_one_run_has_not_is_not_passed(known):
    assert compared(known, of_text(), perplexity=0.05).outcome is CaseOutcome.PASSED
    found = compared(known, of_text(lost={1}), perplexity=0.05)
    assert found.outcome is CaseOutcome.INCONCLUSIVE
    assert "perplexity" not in {verdict.metric for verdict in found.verdicts}
    expected = "not judged, because the baseline has what some run of this session has not: perplexity"
    assert expected in message(found)


def test_a_session_that_was_saved_without_a_figure_is_no_damage_and_hides_no_change(known):
    saved(known, of_text(lost={1}))
    again = compared(known, of_text(), perplexity=0.05)
    assert again.outcome is CaseOutcome.PASSED
    verdict = next(one for one in again.verdicts if one.metric == "perplexity")
    # What it is compared with are the six sessions before.
    assert (verdict.outcome.value, kept(known).sessions[-1].medians.get("perplexity")) == ("equivalent", None)
    worse = [replace(run, evaluation=replace(TOKENS, loss=TOKENS.loss + 1)) for run in slower()]
    assert compared(known, worse, perplexity=0.05).outcome is CaseOutcome.REGRESSED


def test_a_figure_that_no_stored_session_has_is_open_until_it_is_saved(comparer):
    for _ in range(6):
        saved(comparer, slower())
    found = compared(comparer, of_text(), perplexity=0.05)
    assert found.outcome is CaseOutcome.INCONCLUSIVE
    assert "perplexity" not in {verdict.metric for verdict in found.verdicts}
    assert message(found).endswith("not judged, because the baseline does not have it yet: perplexity")
    record = records.record(of_text())
    assert comparer.save(record, found).outcome is CaseOutcome.PASSED
    assert compared(comparer, of_text(), perplexity=0.05).outcome is CaseOutcome.PASSED


REWARD = Metric(
    name="reward", unit="points", better="higher", kind="points", value=lambda run: run.hooked.get("reward")
)


@pytest.mark.parametrize("reward", [-0.42, -1e6])
def test_a_metric_of_a_hook_may_be_negative(comparer, reward):
    known, rewarded = replace(comparer, metrics=extended(METRICS, [REWARD])), partial(with_reward, reward)
    for _ in range(6):
        saved(known, rewarded())
    assert compared(known, rewarded(), reward=1.0).outcome is CaseOutcome.PASSED
    assert compared(known, rewarded(-0.05), reward=1.0).outcome is CaseOutcome.REGRESSED


def with_reward(reward, change=0.0):
    return [replace(run, hooked={"reward": reward + change}) for run in slower()]


def test_a_figure_that_is_none_is_not_saved_over_the_others(known):
    runs = with_reward(float("inf"))
    with pytest.raises(FileFormatError, match="nothing was saved"):
        saved(known, runs)
    assert len(kept(known).sessions) == 6


def test_a_regression_of_another_figure_remains_one(known):
    assert compared(known, of_text(2.0, lost={0}), perplexity=0.05).outcome is CaseOutcome.REGRESSED


def test_a_figure_without_a_tolerance_may_get_lost(known):
    assert "perplexity" not in USUAL
    assert compared(known, of_text(lost={0, 1, 2})).outcome is CaseOutcome.PASSED


# The history


def write_history(folder, factors, **changes):
    """A history with one session per night and factor."""
    for night, factor in enumerate(factors):
        began = datetime(2026, 10, 1, 2, tzinfo=UTC) + timedelta(days=night)
        record = records.record(slower(factor, began=began.isoformat()), **changes)
        remember(History(address=str(folder)), [Recorded(record=record, result=records.case_result())])


CLEAN = (1.0, 1.01, 0.99, 1.02, 0.98) * 6


def test_a_drift_is_detected_in_the_history(comparer, tmp_path):
    write_history(tmp_path / "history", [*CLEAN, 1.1, 1.1])
    with_history = comparer_of(tmp_path, history="history")
    saved(with_history, slower())
    assert compared(with_history, slower(1.1), step_time=0.5).drifting == {"step_time": 3}
    assert compared(comparer, slower(1.1)).drifting == {}


def test_a_change_that_was_accepted_is_no_drift_of_the_history(tmp_path):
    write_history(tmp_path / "history", [*CLEAN, 1.1, 1.1])
    with_history = comparer_of(tmp_path, history="history")
    saved(with_history, slower())
    changed = compared(with_history, slower(1.1))
    assert changed.outcome is CaseOutcome.SUSPECT
    assert changed.drifting == {"step_time": 3}
    with_history.save(records.record(slower(1.1)), changed)
    assert compared(with_history, slower(1.1)).drifting == {}


@pytest.mark.parametrize("changes", [{"network_digest": "another"}, {"batch_size": 128}, {"precision": "bfloat16"}])
def test_a_history_of_other_conditions_is_ignored(tmp_path, changes):
    write_history(tmp_path / "history", [*CLEAN, 1.1, 1.1], context=records.context(**changes))
    with_history = comparer_of(tmp_path, history="history")
    saved(with_history, slower())
    assert compared(with_history, slower(1.1), step_time=0.5).drifting == {}


def test_a_drift_of_a_program_is_detected_which_has_no_batch_size(tmp_path):
    context = records.context(batch_size=None)
    # Sessions of the same case that had one are others.
    write_history(tmp_path / "history", [1.1, 0.9])
    write_history(tmp_path / "history", [*CLEAN, 1.1, 1.1], context=context)
    with_history = comparer_of(tmp_path, history="history")
    first = records.record(slower(), context=context)
    with_history.save(first, judged(with_history, first))
    found = judged(with_history, records.record(slower(1.1), context=context), step_time=0.5)
    assert found.drifting == {"step_time": 3}


def test_a_history_that_does_not_exist_yet_is_empty(tmp_path, comparer):
    new = comparer_of(tmp_path, history="none-yet")
    saved(new, slower())
    assert compared(new, slower()).drifting == {}
