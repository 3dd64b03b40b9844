"""The published tables in the package: complete, and as published."""

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


def test_every_study_has_all_its_figures():
    assert {name: len(studies.figures(name)) for name in studies.studies()} == COUNTS


@pytest.mark.parametrize("source", COUNTS)
def test_every_figure_has_its_study_framework_and_model(source):
    for figure in studies.figures(source):
        assert figure.source == source
        assert figure.framework
        assert figure.model
        assert figure.metric


def test_figures_are_as_printed_in_the_papers():
    (figure,) = find("hkbu", framework="MXNet", model="ResNet-50", device="NVIDIA GTX 1080", note="Table 7")
    assert figure.number == 0.136
    (other,) = find("thesis", framework="MXNet", model="LeNet", device="NVIDIA Tesla P100", gpus="1", unit="images/s")
    assert other.number == 46691


@pytest.mark.parametrize("printed", ["", "87-88", ">86400", "0"])
def test_only_a_single_number_above_0_is_a_number(printed):
    (figure, *_) = studies.figures("hkbu")
    assert studies.Figure(**{**_fields(figure), "value": printed}).number is None


def _fields(figure):
    return {name: getattr(figure, name) for name in figure.__slots__}


def test_the_flaws_of_a_cell_are_named():
    (figure, *_) = find("hkbu", framework="CNTK", model="FCN-R")
    assert any("4096-2048-1024" in flaw for flaw in studies.flaws(figure))
    (other, *_) = find("hkbu", framework="TensorFlow", model="FCN-R")
    assert not any("4096-2048-1024" in flaw for flaw in studies.flaws(other))


def test_a_warning_in_a_row_is_a_flaw_of_its_cell():
    spliced = [figure for figure in studies.figures("tartu") if "SPLICED" in figure.note]
    assert spliced
    assert all(any("SPLICED" in flaw for flaw in studies.flaws(figure)) for figure in spliced)


def test_every_flaw_applies_to_an_existing_cell():
    for flaw in studies._flaws():
        assert any(flaw.is_of(figure) for figure in studies.figures(flaw.source)), flaw
        known = studies.figures(flaw.source)
        assert set(flaw.models) <= {figure.model for figure in known}, flaw
        assert set(flaw.datasets) <= {figure.dataset for figure in known}, flaw
        assert set(flaw.frameworks) <= {figure.framework for figure in known}, flaw


def test_every_published_name_has_one_of_our_models_and_frameworks():
    assert set(names.MODELS.values()) <= set(MODELS)
    assert {ours for several in names.FRAMEWORKS.values() for ours in several} <= set(KNOWN)


def test_every_published_name_is_used_by_a_study():
    published = {(f.source, f.model, d) for s in COUNTS for f in studies.figures(s) for d in (f.dataset, None)}
    assert set(names.MODELS) <= published
    assert set(names.FRAMEWORKS) <= {figure.framework for source in COUNTS for figure in studies.figures(source)}
