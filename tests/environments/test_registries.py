"""What a build reports about unreachable registries and yanked versions."""

import http.server
import socket
import subprocess
import threading
from dataclasses import replace
from functools import partial

import pytest

from pytest_dlbench.environments import installing
from pytest_dlbench.errors import EnvironmentBuildError


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Requests are not logged."""


@pytest.fixture(params=["uv", "pip"])
def tool(request, monkeypatch):
    if request.param == "pip":
        monkeypatch.setattr(installing, "uv", lambda: None)
    return request.param


@pytest.fixture
def use_index(monkeypatch, wheels):
    """Make an index the only source of packages."""

    def use_index(address: str) -> None:
        for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_INDEX_URL", address)
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.setenv("UV_HTTP_RETRIES", "0")
        installing.pip_settings.cache_clear()

    return use_index


@pytest.fixture
def index(wheels, use_index):
    """An index that has small 1.0, which was yanked, and 2.0."""
    folder = wheels.parent / "index" / "small"
    folder.mkdir(parents=True)
    links = []
    for wheel in sorted(wheels.iterdir()):
        wheel.rename(folder / wheel.name)
        yanked = 'data-yanked="it was broken"' if "1.0" in wheel.name else ""
        links.append(f'<a href="{wheel.name}" {yanked}>{wheel.name}</a>')
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{'<br>'.join(links)}</body></html>")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder.parent)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        use_index(f"http://127.0.0.1:{server.server_port}/")
        yield
        server.shutdown()


def test_an_unreachable_registry_is_reported_with_environment_requirements_and_log(store, small, progress, use_index):
    with socket.socket() as unanswered:
        # Bound, so that no other process can serve on this port, but without listening.
        unanswered.bind(("127.0.0.1", 0))
        use_index(f"http://127.0.0.1:{unanswered.getsockname()[1]}/simple")
        with pytest.raises(EnvironmentBuildError) as raised:
            store.build(small, progress)
    text = str(raised.value)
    assert "environment 'small'" in text
    assert "requirements: small==1.0" in text
    assert "  | " in text
    assert "refused" in text or "No matching distribution found" in text
    assert store.find(small) is None


def test_a_pinned_version_that_was_yanked_is_still_installed(store, small, progress, tool, index):
    built = store.build(small, progress)
    command = [str(built.python), "-c", "import small; print(small.VERSION)"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "1.0"
    log = next(store.root.glob("*.log")).read_text()
    assert "yanked" in log
    assert "it was broken" in log


def test_a_requirement_that_only_a_yanked_version_meets_is_reported(store, small, progress, index):
    with pytest.raises(EnvironmentBuildError, match="small<2"):
        store.build(replace(small, requirements=("small<2",)), progress)
