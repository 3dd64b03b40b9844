"""What is in an environment, as a digest: another one wherever other code would compute."""

import json
from pathlib import Path

import pytest

from pytest_dlbench.environments import contents


@pytest.fixture
def environment(tmp_path):
    """The digest of what is installed in an environment of which only the metadata is there."""
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    python = tmp_path / "bin" / "python"

    def digest() -> str:
        contents._distributions.cache_clear()
        contents.sources.cache_clear()
        return contents._distributions(str(python))

    yield site, digest
    contents._distributions.cache_clear()
    contents.sources.cache_clear()


def install(site: Path, name: str, origin: dict) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    info.joinpath("RECORD").write_text(f"__editable__.{name}.pth,sha256=abc,30\n")
    info.joinpath("direct_url.json").write_text(json.dumps(origin))


def edited(tmp_path: Path) -> tuple[Path, dict]:
    """A folder with a module, and how pip describes its editable installation."""
    folder = tmp_path / "my lib"
    folder.mkdir()
    folder.joinpath("ours.py").write_text("RATE = 1\n")
    return folder, {"url": folder.as_uri(), "dir_info": {"editable": True}}


def test_an_edited_file_of_an_editable_installation_is_another_content(environment, tmp_path):
    site, digest = environment
    folder, origin = edited(tmp_path)
    install(site, "ours", origin)
    before = digest()
    assert digest() == before
    folder.joinpath("ours.py").write_text("RATE = 2\n")
    assert digest() != before


def test_the_folder_that_a_copy_was_installed_from_does_not_count(environment, tmp_path):
    site, digest = environment
    folder, origin = edited(tmp_path)
    install(site, "ours", origin | {"dir_info": {}})
    before = digest()
    folder.joinpath("ours.py").write_text("RATE = 2\n")
    assert digest() == before


@pytest.mark.parametrize("name", ["tests/ours.py", "test_ours.py", "conftest.py"])
def test_a_test_of_an_editable_installation_does_not_count(environment, tmp_path, name):
    site, digest = environment
    folder, origin = edited(tmp_path)
    folder.joinpath("tests").mkdir()
    install(site, "ours", origin)
    before = digest()
    folder.joinpath(name).write_text("LEAST = 1\n")
    assert digest() == before


@pytest.mark.parametrize("text", ["", "[]", '{"dir_info": null}', '{"url": 3, "dir_info": {"editable": true}}'])
def test_a_damaged_description_of_an_installation_is_no_error(environment, tmp_path, text):
    site, digest = environment
    install(site, "ours", {})
    site.joinpath("ours-1.0.dist-info", "direct_url.json").write_text(text)
    assert digest()


def test_a_link_that_leads_nowhere_is_no_error(tmp_path):
    tmp_path.joinpath(".#ours.py").symlink_to("somebody@somewhere")
    tmp_path.joinpath("ours.py").write_text("RATE = 1\n")
    contents.sources.cache_clear()
    assert contents.sources(tmp_path)
