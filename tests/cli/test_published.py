"""``dlbench published``, as a user calls it."""

import json

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.storing import Journal
from tests.doubles.judged import judged, write


def test_the_studies_are_listed(capsys):
    assert main(["published"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert names == ["tartu", "hkbu", "gatech", "rosetta", "thesis"]


def test_a_study_is_shown_with_its_sources_figures_and_flaws(capsys):
    assert main(["published", "hkbu"]) == 0
    out = capsys.readouterr().out
    assert "hkbu_table7.csv: table 7" in out
    assert "FCN-R on MNIST: CNTK: trains 4096-2048-1024" in out
    assert sum(line.startswith("MXNet ") for line in out.splitlines()) == 100


def test_a_study_is_there_as_json(capsys):
    assert main(["published", "thesis", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told) == 675
    assert told[0]["flaws"]


def test_an_unknown_study_is_told_with_the_nearest(capsys):
    assert main(["published", "hkub"]) == 2
    assert "did you mean 'hkbu'?" in capsys.readouterr().err


@pytest.fixture
def journals(tmp_path):
    cases = [judged("tensorflow", "hkbu-fcn-r"), judged("mxnet", "hkbu-fcn-r", step=0.03)]
    write(Journal(tmp_path), cases)
    return tmp_path


def test_ours_is_set_beside_theirs_with_what_held(journals, capsys):
    assert main(["published", "hkbu", "--beside", str(journals)]) == 0
    out = capsys.readouterr().out
    assert "published orders of two frameworks" in out
    assert "hkbu, hkbu-fcn-r: MXNet: is fed raw bytes" in out


def test_ours_beside_theirs_is_there_as_json(journals, capsys):
    assert main(["published", "--beside", str(journals), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {one["held"] for one in told} <= {"held", "did not hold", "undecided"}
    assert all(one["cell"]["source"] == "hkbu" for one in told)


def test_records_of_nothing_that_was_published_are_told(tmp_path, capsys):
    write(Journal(tmp_path), [judged("tensorflow", "mine")])
    assert main(["published", "--beside", str(tmp_path)]) == 1
    assert "no published cell has a model" in capsys.readouterr().out
