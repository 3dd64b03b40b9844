"""The oldest versions that pyproject.toml allows are tested."""

import tomllib
from configparser import ConfigParser
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).parents[1]


def bounds(lines, operator):
    """The version after that operator, by package."""
    found = map(Requirement, lines)
    return {one.name: item.version for one in found for item in one.specifier if item.operator == operator}


def tox():
    found = ConfigParser(interpolation=None)
    found.read(HERE / "tox.ini")
    return found


def test_the_oldest_allowed_versions_are_tested():
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    tried = bounds(tox()["testenv:tests-oldest"]["deps"].split(), "==")
    allowed = bounds([*project["dependencies"], *project["optional-dependencies"]["test"]], ">=")
    assert tried.keys() == {"pytest", "pytest-xdist"}
    padded = {name: version if version.count(".") == 2 else f"{version}.0" for name, version in allowed.items()}
    assert tried == {name: padded[name] for name in tried}


def test_every_test_file_that_tox_names_exists():
    words = {word for section in tox().values() for word in section.get("commands", "").split()}
    named = {word for word in words if word.startswith("tests/")}
    assert named
    assert {name for name in named if not (HERE / name).exists()} == set()
