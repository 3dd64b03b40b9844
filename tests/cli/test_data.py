"""``dlbench data``, as a user calls it."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.data import DATASETS, SOURCES
from pytest_dlbench.data.preparation import prepare
from tests.doubles import disks
from tests.doubles import official_files as official
from tests.doubles.file_server import serving

MNIST = official.mnist()


@pytest.fixture(autouse=True)
def users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    prepare.cache_clear()
    yield tmp_path / "cache" / "pytest-dlbench" / "data"
    prepare.cache_clear()


@pytest.fixture
def have(tmp_path):
    """A folder with MNIST's unpacked files."""
    return official.write(tmp_path / "have", MNIST)


@pytest.fixture
def served(monkeypatch):
    """The official files of MNIST, served by a local server."""
    with serving() as server:
        server.files |= official.packed(MNIST)
        monkeypatch.setitem(SOURCES, "mnist", official.source_of(SOURCES["mnist"], server.files, server.url("")))
        yield server


def row(capsys, name):
    assert main(["data", "list"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{name} "))
    return " ".join(line.split())


def test_data_sets_are_listed_with_the_command_that_fetches_them(capsys):
    assert row(capsys, "mnist") == "mnist dlbench data fetch mnist class 1×28×28 10 60,000 10,000"


def test_embedded_data_sets_are_listed_as_needing_no_files(capsys):
    assert row(capsys, "pydoc30").startswith("pydoc30 needs no files tokens 30 10,000 10,000 ")


def test_files_that_need_a_login_are_listed_with_the_import_command(capsys):
    assert row(capsys, "imagenet").startswith("imagenet dlbench data import imagenet PATH class 3×224×224 1,000")


def test_data_sets_of_boxes_are_listed_as_such(capsys):
    assert row(capsys, "voc2012") == "voc2012 dlbench data fetch voc2012 boxes 3×600×600 20 5,717 5,823"
    assert row(capsys, "shapes") == "shapes needs no files boxes 3×96×96 3 512 128"


def test_imported_files_are_listed_as_available(have, capsys):
    assert main(["data", "import", "mnist", str(have)]) == 0
    capsys.readouterr()
    assert row(capsys, "mnist").startswith("mnist available class")


def test_an_import_reports_the_number_of_files_and_their_folder(have, users_cache, capsys):
    assert main(["data", "import", "mnist", str(have)]) == 0
    assert f"mnist: 4 files in {users_cache / 'files' / 'mnist'}" in capsys.readouterr().out


def test_a_fetch_reports_how_each_file_was_verified(served, capsys):
    assert main(["data", "fetch", "mnist"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert all(line.endswith(", as published") for line in lines[:4])


def test_available_files_are_not_fetched_again(served, capsys):
    assert main(["data", "fetch", "mnist"]) == 0
    asked = len(served.asked)
    assert main(["data", "fetch", "mnist"]) == 0
    assert len(served.asked) == asked
    message = "mnist is already there; dlbench data verify mnist checks it, --again downloads it again"
    assert message in capsys.readouterr().out


def test_available_files_can_be_fetched_again(served):
    assert main(["data", "fetch", "mnist"]) == 0
    asked = len(served.asked)
    assert main(["data", "fetch", "mnist", "--again"]) == 0
    assert len(served.asked) == 2 * asked


def test_the_name_of_a_data_set_selects_its_source_files(capsys):
    assert main(["data", "path", "ptb30"]) == 2
    assert "the files of ptb are not available\n  to get it: dlbench data fetch ptb\n" in capsys.readouterr().err


def test_the_path_of_files_is_printed(have, users_cache, capsys):
    main(["data", "import", "mnist", str(have)])
    capsys.readouterr()
    assert main(["data", "path", "mnist"]) == 0
    assert capsys.readouterr().out == f"{users_cache / 'files' / 'mnist'}\n"


def test_verifying_unchanged_files_reports_how_they_were_verified_at_import(have, capsys):
    main(["data", "import", "mnist", str(have)])
    capsys.readouterr()
    assert main(["data", "verify", "mnist"]) == 0
    out = capsys.readouterr().out
    assert "size and content hash recorded at import" in out
    assert "mnist: 4 files are unchanged" in out


def test_verifying_damaged_files_fails_with_the_command_that_replaces_them(have, users_cache, capsys):
    main(["data", "import", "mnist", str(have)])
    (users_cache / "files" / "mnist" / "t10k-labels-idx1-ubyte").write_bytes(b"x")
    assert main(["data", "verify", "mnist"]) == 1
    err = capsys.readouterr().err
    assert "has 1 bytes instead of 18" in err
    assert "to get the files again: dlbench data fetch mnist --again" in err


def imported(have, users_cache, disk):
    """What an import of these files says where the cache is on this disk."""
    files = users_cache / "files"
    files.mkdir(parents=True)
    files.chmod(0o500)
    command = disk(sys.executable, "-m", "pytest_dlbench", "data", "import", "mnist", str(have))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first.startswith(f"dlbench: mnist cannot be stored in {files}: ")
    assert second.endswith("or name another cache: XDG_CACHE_HOME=FOLDER")
    return first


def test_a_cache_that_cannot_be_written_is_named_with_what_to_do(have, users_cache):
    assert imported(have, users_cache, disks.where_read_only_counts).endswith(": Permission denied")


def test_a_full_disk_is_named_with_what_to_do(have, users_cache):
    full = partial(disks.with_files_up_to, 1000)
    assert imported(have, users_cache, full).endswith(": File too large")


def test_an_unknown_name_is_reported_with_the_closest_match(capsys):
    assert main(["data", "fetch", "minst"]) == 2
    assert "did you mean 'mnist'?" in capsys.readouterr().err


def test_a_data_set_that_needs_no_files_cannot_be_fetched(capsys):
    assert main(["data", "fetch", "digits"]) == 2
    assert "'digits' needs no files" in capsys.readouterr().err


def test_every_data_set_names_a_source_that_the_command_knows():
    assert {dataset.source.name for dataset in DATASETS.values() if dataset.source} <= set(SOURCES)
