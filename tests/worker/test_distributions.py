"""What is installed, as installers of all times leave it on disk."""

import sys
from importlib import metadata
from types import ModuleType

import pytest

from pytest_dlbench.running.launch import WORKER_FOLDER


@pytest.fixture
def distributions(monkeypatch):
    monkeypatch.syspath_prepend(str(WORKER_FOLDER))
    from dlworker import distributions  # noqa: PLC0415 - the worker's folder is on the path only here

    yield distributions
    for name in [name for name in sys.modules if name.partition(".")[0] == "dlworker"]:
        del sys.modules[name]


def write(folder, name, text, modules=""):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    if modules:
        (folder / "top_level.txt").write_text(modules)


TEXT = "Metadata-Version: 2.1\nName: {}\nVersion: {}\nSummary: ü\n\nVersion: of the description\n"


def test_a_wheel_an_egg_and_a_single_file_are_read(distributions, tmp_path):
    write(tmp_path / "torch-2.13.0+cpu.dist-info", "METADATA", TEXT.format("torch", "2.13.0+cpu"), "torch\nfunctorch\n")
    write(tmp_path / "Theano_PyMC-1.1.2-py3.10.egg-info", "PKG-INFO", TEXT.format("Theano_PyMC", "1.1.2"), "theano\n")
    write(tmp_path, "old-0.1.egg-info", TEXT.format("old", "0.1"))
    assert distributions.installed([str(tmp_path)]) == {
        "torch": ("2.13.0+cpu", {"torch", "functorch"}),
        "theano-pymc": ("1.1.2", {"theano"}),
        "old": ("0.1", set()),
    }


def test_the_first_folder_on_the_path_wins_and_missing_ones_are_left_out(distributions, tmp_path):
    for folder, version in (("first", "1.0"), ("second", "2.0")):
        write(tmp_path / folder / "small.dist-info", "METADATA", TEXT.format("small", version))
    path = [str(tmp_path / name) for name in ("none", "first", "second")]
    assert distributions.installed(path) == {"small": ("1.0", set())}


def test_metadata_that_cannot_be_read_are_left_out(distributions, tmp_path):
    write(tmp_path / "empty.dist-info", "METADATA", "")
    (tmp_path / "nothing.egg-info").mkdir()
    (tmp_path / "bytes.dist-info").mkdir()
    (tmp_path / "bytes.dist-info" / "METADATA").write_bytes(b"\xff\xfe\x00")
    assert distributions.installed([str(tmp_path)]) == {}


def test_this_python_has_what_the_standard_library_finds(distributions):
    found = distributions.installed()
    assert {name: found[name][0] for name in ("numpy", "pytest")} == {
        name: metadata.version(name) for name in ("numpy", "pytest")
    }


def test_a_reported_name_is_a_distribution_or_one_of_its_modules(distributions):
    known = {"theano-pymc": ("1.1.2", {"theano"}), "keras": ("3.15.1", {"keras"}), "clang": ("18.1", {"clang"})}
    found = distributions.sources({"theano": "1.1.2", "Keras": "3.15.1", "clang": "14.0", "mine": "1"}, known)
    assert found == {"theano": {"theano-pymc": "1.1.2"}, "Keras": {"keras": "3.15.1"}}


def test_of_the_user_s_folder_only_its_own_modules_count(distributions, monkeypatch, tmp_path):
    root, here = WORKER_FOLDER.parents[1], ModuleType("theirs")
    here.__file__ = str(root / "theirs.py")
    worker = ModuleType("__main__")
    # In an environment inside the user's folder; the worker itself may run in another environment.
    worker.__file__ = str(WORKER_FOLDER / "dlworker" / "programs" / "__main__.py")
    revision = ModuleType("revision")
    revision.__file__ = str(root / "tests" / "revision.py")
    monkeypatch.setattr(sys, "modules", {"__main__": worker, "theirs": here, "revision": revision})
    assert distributions.imported_from(str(root), str(root / "tests")) == ["theirs"]
    assert distributions.imported_from(None, None) == []
