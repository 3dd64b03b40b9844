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


def test_the_oldest_allowed_versions_are_tested():
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    tox = ConfigParser(interpolation=None)
    tox.read(HERE / "tox.ini")
    tried = bounds(tox["testenv:tests-oldest"]["deps"].split(), "==")
    allowed = bounds([*project["dependencies"], *project["optional-dependencies"]["test"]], ">=")
    assert tried.keys() == {"pytest", "pytest-xdist"}
    padded = {name: version if version.count(".") == 2 else f"{version}.0" for name, version in allowed.items()}
    assert tried == {name: padded[name] for name in tried}
