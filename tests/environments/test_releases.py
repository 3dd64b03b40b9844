"""Released versions, found by a real pip in a folder of wheels."""

import pytest

from pytest_dlbench.environments.releases import between, released
from pytest_dlbench.errors import DlbenchError
from tests.environments.conftest import HERE
from tests.environments.wheels import write_wheel


def test_versions_come_oldest_first_and_builds_of_a_version_count_once(wheels):
    for version in ("10.0", "2.0+cpu", "3.0rc1"):
        write_wheel(wheels, "small", version)
    assert released("small", [HERE]) == ("1.0", "2.0", "10.0")


def test_previews_are_included_on_request(wheels):
    write_wheel(wheels, "small", "3.0rc1")
    assert released("small", [HERE, HERE], with_previews=True) == ("1.0", "2.0", "3.0rc1")


def test_an_unknown_package_is_reported_with_pips_message(wheels):
    with pytest.raises(DlbenchError, match=r"pip finds no version of nosuch .*No matching distribution"):
        released("nosuch", [HERE])


def test_the_range_includes_both_ends():
    assert between(("1.0", "1.5", "1.10", "2.0", "3.0"), "1.2", "2.0") == ("1.2", "1.5", "1.10", "2.0")
