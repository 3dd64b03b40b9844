"""Released versions, as a real pip finds them in a folder of wheels."""

import pytest

from pytest_dlbench.environments.releases import between, released
from pytest_dlbench.errors import DlbenchError
from tests.environments.conftest import HERE
from tests.environments.wheels import write_wheel


def test_versions_come_oldest_first_and_builds_of_one_count_once(wheels):
    for version in ("10.0", "2.0+cpu", "3.0rc1"):
        write_wheel(wheels, "small", version)
    assert released("small", [HERE]) == ("1.0", "2.0", "10.0")


def test_previews_are_there_where_they_are_asked_for(wheels):
    write_wheel(wheels, "small", "3.0rc1")
    assert released("small", [HERE, HERE], with_previews=True) == ("1.0", "2.0", "3.0rc1")


def test_a_package_that_nobody_knows_is_told_with_what_pip_says(wheels):
    with pytest.raises(DlbenchError, match=r"pip knows no version of nosuch .*No matching distribution"):
        released("nosuch", [HERE])


def test_both_ends_stand_around_what_lies_between():
    assert between(("1.0", "1.5", "1.10", "2.0", "3.0"), "1.2", "2.0") == ("1.2", "1.5", "1.10", "2.0")
