"""The published tables in the package: all there, and as they were published."""

import pytest

from pytest_dlbench.environments.known import FRAMEWORKS as KNOWN
from pytest_dlbench.reporting.published import names, studies
from pytest_dlbench.zoo import MODELS

COUNTS = {"tartu": 966, "hkbu": 500, "gatech": 495, "rosetta": 252, "thesis": 675}


def find(source, **fields):
    return [
        figure
        for figure in studies.figures(source)
        if all(getattr(figure, name) == value for name, value in fields.items())
    ]


def test_every_study_is_there_with_all_its_figures():
    assert {name: len(studies.figures(name)) for name in studies.studies()} == COUNTS


@pytest.mark.parametrize("source", COUNTS)
def test_every_figure_names_its_study_and_what_it_is_of(source):
    for figure in studies.figures(source):
        assert figure.source == source
        assert figure.framework
        assert figure.model
        assert figure.metric


def test_a_figure_is_what_the_paper_prints():
    (figure,) = find("hkbu", framework="MXNet", model="ResNet-50", device="NVIDIA GTX 1080", note="Table 7")
    assert figure.number == 0.136
    (other,) = find("thesis", framework="MXNet", model="LeNet", device="NVIDIA Tesla P100", gpus="1", unit="images/s")
    assert other.number == 46691


@pytest.mark.parametrize("printed", ["", "87-88", ">86400", "0"])
def test_what_is_not_one_number_above_0_is_no_number(printed):
    (figure, *_) = studies.figures("hkbu")
    assert studies.Figure(**{**_fields(figure), "value": printed}).number is None


def _fields(figure):
    return {name: getattr(figure, name) for name in figure.__slots__}


def test_the_flaws_of_a_cell_are_named():
    (figure, *_) = find("hkbu", framework="CNTK", model="FCN-R")
    assert any("4096-2048-1024" in flaw for flaw in studies.flaws(figure))
    (other, *_) = find("hkbu", framework="TensorFlow", model="FCN-R")
    assert not any("4096-2048-1024" in flaw for flaw in studies.flaws(other))


def test_what_a_row_itself_warns_of_is_a_flaw_of_its_cell():
    spliced = [figure for figure in studies.figures("tartu") if "SPLICED" in figure.note]
    assert spliced
    assert all(any("SPLICED" in flaw for flaw in studies.flaws(figure)) for figure in spliced)


def test_every_flaw_is_of_a_cell_that_there_is():
    for flaw in studies._flaws():
        assert any(flaw.is_of(figure) for figure in studies.figures(flaw.source)), flaw
        known = studies.figures(flaw.source)
        assert set(flaw.models) <= {figure.model for figure in known}, flaw
        assert set(flaw.datasets) <= {figure.dataset for figure in known}, flaw
        assert set(flaw.frameworks) <= {figure.framework for figure in known}, flaw


def test_every_name_stands_for_a_model_and_a_framework_of_ours():
    assert set(names.MODELS.values()) <= set(MODELS)
    assert {ours for several in names.FRAMEWORKS.values() for ours in several} <= set(KNOWN)


def test_every_name_is_one_that_a_study_uses():
    published = {(f.source, f.model, d) for s in COUNTS for f in studies.figures(s) for d in (f.dataset, None)}
    assert set(names.MODELS) <= published
    assert set(names.FRAMEWORKS) <= {figure.framework for source in COUNTS for figure in studies.figures(source)}
