"""``dlbench published``, as a user calls it."""

import json

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.storing import Journal
from tests.doubles.judged import judged, write


def test_the_studies_are_listed(capsys):
    assert main(["published"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == ["tartu", "hkbu", "gatech", "rosetta", "thesis"]


def test_the_figures_that_can_be_placed_are_counted_and_the_others_explained(capsys):
    assert main(["published"]) == 0
    _, _, text = capsys.readouterr().out.partition("\n\n")
    first, *reasons = text.splitlines()
    placed = int(first.split(", ")[1].split()[0].replace(",", ""))
    assert first.startswith("of 2,888 published figures, ")
    assert placed + sum(int(line.split()[0].replace(",", "")) for line in reasons) == 2888


def test_the_counts_are_printed_as_json(capsys):
    assert main(["published", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert sum(sum(study["counts"].values()) for study in answer.values()) == 2888


def test_a_study_is_shown_with_sources_figures_and_flaws(capsys):
    assert main(["published", "hkbu"]) == 0
    out = capsys.readouterr().out
    assert "hkbu_table7.csv: table 7" in out
    assert "FCN-R on MNIST: CNTK: trains 4096-2048-1024" in out
    assert sum(line.startswith("MXNet ") for line in out.splitlines()) == 100


def test_a_study_is_printed_as_json(capsys):
    assert main(["published", "thesis", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer) == 675
    assert answer[0]["flaws"]
    assert (answer[0]["file"], answer[0]["row"], answer[0]["absence"]) == ("thesis_appendix_a.csv", 1, "no_equivalent")


def test_an_unknown_study_is_reported_with_the_closest_match(capsys):
    assert main(["published", "hkub"]) == 2
    assert "did you mean 'hkbu'?" in capsys.readouterr().err


@pytest.fixture
def journals(tmp_path):
    cases = [judged("tensorflow", "hkbu-fcn-r"), judged("mxnet", "hkbu-fcn-r", step=0.03)]
    write(Journal(tmp_path), cases)
    return tmp_path


def test_published_figures_are_compared_with_ours(journals, capsys):
    assert main(["published", "hkbu", "--beside", str(journals)]) == 0
    out = capsys.readouterr().out
    assert "published orders of two frameworks" in out
    assert "hkbu, hkbu-fcn-r: MXNet: is fed raw bytes" in out


def test_the_comparison_is_printed_as_json(journals, capsys):
    assert main(["published", "--beside", str(journals), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {one["held"] for one in answer["orders"]} <= {"held", "did not hold", "undecided"}
    assert all(one["cell"]["source"] == "hkbu" for one in answer["orders"])
    ours = [one for one in answer["figures"] if one["unmatched"] is None]
    assert {(one["framework"], one["model"]) for one in ours} == {("MXNet", "FCN-R"), ("TensorFlow", "FCN-R")}
    assert all(one["ours"] > 0 for one in ours)
    assert {"condition": "dataset", "theirs": "MNIST", "ours": "digits28"} in ours[0]["differences"]
    assert sum(answer["counts"].values()) == 2888


def test_a_single_framework_has_figures_next_to_ours_but_no_order(tmp_path, capsys):
    write(Journal(tmp_path), [judged("mxnet", "hkbu-fcn-r")])
    assert main(["published", "--beside", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "published orders" not in out
    assert "of 2,888 published figures, 10 can be placed next to ours" in out


def test_records_that_match_no_published_figure_have_exit_status_1(tmp_path, capsys):
    write(Journal(tmp_path), [judged("tensorflow", "mine")])
    assert main(["published", "--beside", str(tmp_path)]) == 1
    assert "no published figure has the model" in capsys.readouterr().out


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_damaged_journal_is_named_and_the_rest_is_used(journals, capsys, options):
    (path,) = journals.glob("*.jsonl")
    path.write_text(path.read_text() + "no JSON\n")
    assert main(["published", "hkbu", "--beside", str(journals), *options]) == 1
    captured = capsys.readouterr()
    assert "FCN-R" in captured.out
    assert captured.err.count(path.name) == 1
