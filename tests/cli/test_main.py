"""The ``dlbench`` command, as a user calls it."""

import json
import subprocess
import sys

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.storing import Entry, Journal
from tests.doubles import records


@pytest.fixture
def journal(tmp_path):
    """A journal of one judged case and of one whose session was cut short."""
    journal = Journal(tmp_path)
    case = records.case("training-jax-mnist-cnn-digits28-cpu-quick")
    for run in records.runs():
        journal.append(Entry(run=run))
    journal.append(Entry(result=records.case_result()))
    journal.append(Entry(run=records.run(case=case.id)))
    return journal.path


def test_models_are_listed_with_parameters_and_multiply_adds(capsys):
    assert main(["models"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("hkbu-fcn-r "))
    assert line.split()[1:5] == ["hkbu", "1×28×28", "14,205,962", "14,198,784"]


def test_a_model_is_shown_layer_by_layer_with_the_total(capsys):
    assert main(["layers", "gatech-lenet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = lines[1].split()
    assert " ".join(first[:-3]) == "conv1 Conv2D(filters=20, kernel=5, stride=1, padding='valid', bias=True, groups=1)"
    assert first[-3:] == ["20×24×24", "520", "288,000"]
    assert lines[-1].split() == ["total", "431,080", "2,293,000"]


def test_an_unknown_model_is_told_with_the_nearest(capsys):
    assert main(["layers", "gatech-lennet"]) == 2
    assert "did you mean 'gatech-lenet'?" in capsys.readouterr().err


def test_a_journal_shows_judged_cases_and_runs_that_were_not(journal, capsys):
    assert main(["journal", str(journal)]) == 0
    out = capsys.readouterr().out
    assert "pytorch-mnist-cnn-digits28-cpu" in out
    assert "not judged: training-jax-mnist-cnn-digits28-cpu-quick: run 1 finished" in out


def test_a_journal_that_was_cut_short_is_told_with_its_line_and_the_rest_is_kept(journal, capsys):
    journal.write_bytes(journal.read_bytes()[:-30])
    assert main(["journal", str(journal)]) == 1
    shown = capsys.readouterr()
    assert "pytorch-mnist-cnn-digits28-cpu" in shown.out
    assert f"{journal}, line 5: not complete JSON" in shown.err
    assert "the others are kept" in shown.err


def test_a_journal_that_is_not_there_is_an_error(tmp_path, capsys):
    assert main(["journal", str(tmp_path / "none.jsonl")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_the_command_runs_without_loading_pytest():
    check = "import sys; from pytest_dlbench.cli.main import main; main(['models']); sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_a_journal_in_json_has_its_entries(journal, capsys):
    assert main(["journal", str(journal), "--json"]) == 0
    assert [
        next(iter(entry.keys() - {"format", "context", "recipe"})) for entry in json.loads(capsys.readouterr().out)
    ] == [
        *["run"] * 3,
        "result",
        "run",
    ]
