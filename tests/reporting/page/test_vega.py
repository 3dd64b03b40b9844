"""The script of charts: bundled once for all pages, and again if its file is damaged."""

import pytest
import vl_convert

from pytest_dlbench.reporting.page import vega


@pytest.fixture(autouse=True)
def bundled(tmp_path, monkeypatch):
    """The scripts that were bundled, for a user with an empty cache. Tests in a browser have the real one."""
    made = []

    def bundle(text, vl_version):
        made.append(f"// Vega-Lite {vl_version}, number {len(made)} – {text}")
        return made[-1]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    yield made
    vega.script.cache_clear()


def again():
    """The script, as another process gets it."""
    vega.script.cache_clear()
    return vega.script()


def test_the_second_page_takes_the_script_of_the_first(bundled):
    assert again() == again() == bundled[0]
    assert len(bundled) == 1


@pytest.mark.parametrize(("old", "new"), [(b"number 0", b"number 7"), (b"\n", b""), (b"//", b"\xff")])
def test_a_damaged_script_is_bundled_again(bundled, old, new):
    again()
    content = vega.kept_at().read_bytes()
    assert old in content
    vega.kept_at().write_bytes(content.replace(old, new))
    assert again() == again() == bundled[1]
    assert len(bundled) == 2


def test_a_cache_that_cannot_be_written_is_no_error(bundled, tmp_path):
    (tmp_path / "pytest-dlbench").write_text("a file where the folder should be")
    again()
    assert again() == bundled[1]
