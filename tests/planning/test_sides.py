"""--dlbench-ab with two requirements files."""

import pytest

from pytest_dlbench.errors import OptionError
from pytest_dlbench.planning.registry import KNOWN
from pytest_dlbench.planning.sides import sides_of


@pytest.fixture
def files(tmp_path):
    """Writes old.txt and new.txt."""

    def write(old, new):
        paths = [tmp_path / "old.txt", tmp_path / "new.txt"]
        for path, text in zip(paths, (old, new), strict=True):
            path.write_text(text)
        return [str(path) for path in paths]

    return write


def test_every_framework_that_both_files_pin_is_a_pair(files):
    found = sides_of(files("torch==2.12.0\njax==0.9.0\njaxlib==0.9.0\noptax==0.2.5\n", "torch==2.13.0\n"), (), KNOWN)
    assert [(pair.old.name, pair.new.name) for pair in found] == [("pytorch@old", "pytorch@new")]


def test_the_sides_are_built_from_their_own_file(files):
    (pair,) = sides_of(files("torch==2.12.0\n", "torch==2.13.0\n"), (), KNOWN)
    assert pair.old.environments[0].requirements == ("torch==2.12.0",)
    assert pair.new.environments[0].requirements == ("torch==2.13.0",)


def test_a_variant_is_compared_only_if_it_is_named(files):
    named = sides_of(files("torch==2.12.0\n", "torch==2.13.0\n"), ("pytorch-compile",), KNOWN)
    assert [pair.new.name for pair in named] == ["pytorch-compile@new"]


def test_a_version_that_the_builder_cannot_use_is_not_compared(files):
    with pytest.raises(OptionError, match=r"no framework of pytorch-1\.0 is pinned in both"):
        sides_of(files("torch==2.12.0\n", "torch==2.13.0\n"), ("pytorch-1.0",), KNOWN)


def test_options_and_comments_of_a_file_are_not_pins(files):
    text = "--find-links wheels  # ours\ntorch==2.12.0 ; python_version >= '3.8'\n"
    (pair,) = sides_of(files(text, text), (), KNOWN)
    assert pair.new.name == "pytorch@new"


def test_two_files_with_the_same_name_are_refused(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pins.txt").write_text("torch==2.12.0\n")
    with pytest.raises(OptionError, match="both files are named 'pins'"):
        sides_of([str(tmp_path / "a" / "pins.txt"), str(tmp_path / "b" / "pins.txt")], (), KNOWN)
