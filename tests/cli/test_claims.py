"""``dlbench claims``, as a user calls it."""

import json

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.storing import Journal
from tests.doubles.judged import both_sides, judged, write, write_pairs

MODEL = "gatech-lenet"


@pytest.fixture
def journals(tmp_path):
    """PyTorch twice as fast as TensorFlow and MXNet: the thesis' claim. And CNTK slower than PyTorch."""
    steps = {"pytorch": 0.01, "tensorflow": 0.02, "mxnet": 0.02, "cntk": 0.04}
    write(Journal(tmp_path), [judged(name, MODEL, step=step) for name, step in steps.items()])
    return tmp_path


def asked(capsys, *arguments):
    status = main(["claims", *map(str, arguments), "--json"])
    return status, {one["id"]: one for one in json.loads(capsys.readouterr().out)}


def test_verdicts_are_computed_from_records(journals, capsys):
    status, found = asked(capsys, journals)
    assert status == 0
    assert found["thesis-lenet-pytorch-cpu"]["verdict"] == "holds"
    assert found["thesis-lenet-cpu"]["verdict"] == "does_not_hold"
    assert found["thesis-lenet-gpu"]["verdict"] == "undecided"
    assert found["thesis-lenet-gpu"]["obstacle"] == "no_gpu"


def test_the_evidence_has_intervals_and_limits(journals, capsys):
    _, found = asked(capsys, journals, "--source", "thesis")
    (first, second) = found["thesis-lenet-pytorch-cpu"]["evidence"]
    assert first["subject"] == second["subject"] == "training-pytorch-gatech-lenet-digits28-cpu"
    assert first["reference"] == "training-mxnet-gatech-lenet-digits28-cpu"
    assert first["within"] == second["within"] == [1.3, None]
    assert first["estimate"] == pytest.approx(2.0)
    assert first["interval"][0] < 2 < first["interval"][1]


def test_the_text_states_claim_source_verdict_evidence_and_flaws(journals, capsys):
    assert main(["claims", str(journals), "--verdict", "does_not_hold"]) == 0
    out = capsys.readouterr().out
    assert "thesis-lenet-cpu: does not hold" in out
    assert "On a processor, CNTK is faster on LeNet than PyTorch, MXNet, TensorFlow and Caffe. (thesis, app" in out
    assert (
        "samples/s on gatech-lenet (digits28, 2 threads, batch 64, scale quick, Acme 9000), CNTK / PyTorch: 0.25" in out
    )
    assert "flaw: each framework's own network files" in out


def test_what_pairs_settled_is_shown_last_and_says_so(tmp_path, capsys):
    apart = [judged(name, MODEL, step=step, spread=0.3) for name, step in (("pytorch", 0.01), ("mxnet", 0.0125))]
    write(Journal(tmp_path / "apart"), apart)
    write_pairs(Journal(tmp_path / "pairs"), both_sides("mxnet", "pytorch", model=MODEL, step=0.005))
    _, found = asked(capsys, tmp_path / "apart", tmp_path / "pairs")
    evidence = found["thesis-lenet-pytorch-cpu"]["evidence"]
    assert [(one["says"], one["settled_by_pairs"]) for one in evidence] == [("undecided", True), ("holds", False)]
    assert main(["claims", str(tmp_path / "apart"), str(tmp_path / "pairs"), "--source", "thesis"]) == 0
    _, _, shown = capsys.readouterr().out.partition("thesis-lenet-pytorch-cpu")
    first, last = [line for line in shown.split("\n\n")[0].splitlines() if line.startswith("  samples/s")]
    assert "in 3 pairs; must be above 1.3" in first
    assert last.endswith("must be above 1.3, which pairs decide")


def test_markdown_is_a_table_for_each_study(journals, capsys):
    assert main(["claims", str(journals), "--source", "thesis", "--markdown"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("of 13 claims: 1 holds, ")
    assert "**thesis**" in out
    assert "| does not hold |" in out


def test_without_records_the_register_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status, found = asked(capsys)
    assert status == 0
    assert len(found) >= 60
    assert {one["verdict"] for one in found.values()} == {"undecided"}


def test_a_damaged_journal_is_named_and_the_rest_is_used(journals, capsys):
    (path,) = journals.glob("*.jsonl")
    path.write_text(path.read_text() + "no JSON\n")
    assert main(["claims", str(journals), "--source", "thesis"]) == 1
    captured = capsys.readouterr()
    assert "thesis-lenet-pytorch-cpu: holds" in captured.out
    assert path.name in captured.err


def test_an_unknown_study_is_reported_with_the_closest_match(capsys):
    assert main(["claims", "--source", "hkub"]) == 2
    assert "did you mean 'hkbu'?" in capsys.readouterr().err
