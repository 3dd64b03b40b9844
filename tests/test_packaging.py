"""What a package index and its visitors get."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from pytest_dlbench.records import PORTABLE
from pytest_dlbench.reporting.study import row
from pytest_dlbench.storing.baselines import read_file

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
HOOK = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]


def shown():
    """The README as an index shows it."""
    text = (ROOT / "README.md").read_text()
    for substitution in HOOK["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    return text


def test_every_link_of_the_readme_is_absolute_on_an_index():
    links = [*re.findall(r"\]\(([^)]+)\)", shown()), *re.findall(r'src="([^"]+)"', shown())]
    assert len(links) > 10
    assert [link for link in links if not link.startswith("https://")] == []


def test_every_address_of_the_project_is_the_same_placeholder():
    addresses = re.findall(r"https://([\w.-]+)", (ROOT / "pyproject.toml").read_text())
    assert set(addresses) == {"pytest-dlbench.example"}
    assert set(PROJECT["project"]["urls"]) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}


@pytest.mark.parametrize("name", PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"])
def test_everything_that_the_sdist_lists_is_there(name):
    assert (ROOT / name).exists()


def test_the_suite_in_the_package_is_the_one_of_the_checkout():
    link = ROOT / "pytest_dlbench" / "bench"
    assert link.is_symlink()
    assert link.resolve() == ROOT / "bench"


def test_the_suite_brings_portable_baselines_of_what_runs_by_default_and_of_the_studys_row():
    """They are packaged as the rest of the suite is: nothing excludes them."""
    found = [read_file(path) for path in (ROOT / "pytest_dlbench" / "bench" / "baselines" / "portable").iterdir()]
    cells = {(one.case.framework, one.case.model, one.case.scale) for one in found}
    usual = {(model, scale) for model in ("gatech-lenet", "hkbu-fcn-r") for scale in ("smoke", "quick")}
    whole = (row.ROW[0], row.ROW[2])
    assert cells == {(framework, *cell) for framework in ("pytorch", "jax") for cell in (*usual, whole)}
    assert {one.context.machine for one in found} == {PORTABLE}
    assert all({"accuracy", "first_loss", "parameters"} <= one.sessions[-1].values.keys() for one in found)
    excluded = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]
    assert excluded == ["pytest_dlbench/bench/by_hand", "pytest_dlbench/bench/findings"]


def test_the_citation_names_the_version_and_the_license():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["title"], cited["version"]) == (PROJECT["project"]["name"], PROJECT["project"]["version"])
    assert cited["license"] == PROJECT["project"]["license"]
    assert {"cff-version", "message", "authors"} <= cited.keys()
