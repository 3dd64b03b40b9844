"""``dlbench bisect --rev`` on a real repository: a builder whose commits are slower or broken."""

import json
import sys
from pathlib import Path

import pytest

from pytest_dlbench.cli.main import main
from tests.doubles.repositories import commit, create

CASE = "ours-softmax-digits-cpu-smoke"
USUAL = ("--tolerance", "40%", "--max-runs", "15", "--allow", "invalid", "-p", "our_hooks")
BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
HOOKS = f"""
from pathlib import Path
from pytest_dlbench.environments import Framework
from tests.doubles.versioned import MODEL
import dataclasses

def pytest_dlbench_frameworks():
    return [Framework(name="ours", builder="our_builder", folders=(Path({str(BUILDERS)!r}), Path(__file__).parent))]

def pytest_dlbench_models():
    return [dataclasses.replace(MODEL, name="ours-softmax")]
"""
BUILDER = "from {double} import SUPPORTS, Trainer, configure, threads, versions\n"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def bisect(tmp_path, monkeypatch, capsys, cache):
    """Bisect commits, each with another builder; returns the exit status, the output and the commits' ids."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "our_hooks", raising=False)
    folder = create(tmp_path / "ours")
    monkeypatch.chdir(folder)
    ids = []

    def call(*doubles, options=()):
        for double in doubles:
            text = f"raise ImportError('{double}')\n" if double == "broken" else BUILDER.format(double=double)
            (folder / "our_builder.py").unlink(missing_ok=True)
            name = "elsewhere.py" if double == "moved" else "our_builder.py"
            files = {name: text, "our_hooks.py": HOOKS, ".gitignore": ".dlbench\n"}
            ids.append(commit(folder, f"Use {double}", files))
        status = main(["bisect", "ours", CASE, "--rev", f"{ids[0]}..HEAD", *USUAL, *options])
        return status, capsys.readouterr().out, [one[:12] for one in ids]

    return call


def test_the_first_slower_commit_is_found(bisect):
    status, out, ids = bisect("clocked", "clocked", "slowed", "slowed", options=("--json",))
    found = json.loads(out)
    assert status == 0
    assert (found["last_good"], found["first_bad"]) == (ids[1], [ids[2]])
    assert f"revision {ids[1]} (Use clocked) → {ids[2]} (Use slowed)" in found["differences"]


def test_a_commit_that_cannot_run_is_skipped_and_remains_a_suspect(bisect):
    status, out, ids = bisect("clocked", "broken", "slowed")
    assert status == 3
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[1].startswith(f"{ids[1]} skipped run 1 (seed 1)")
    assert lines[3] == (
        f"the first bad commit: {ids[1]} (Use broken) or {ids[2]} (Use slowed); the last good one: {ids[0]}"
        " (Use clocked)"
    )


def test_a_commit_without_the_builder_is_skipped_with_the_reason(bisect):
    status, out, ids = bisect("clocked", "moved", "slowed")
    assert status == 3
    assert f"{ids[1]} (Use moved) or {ids[2]} (Use slowed)" in out
    assert f"{ids[1]} skipped" in " ".join(out.split())
    assert "has no our_builder.py" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rev", "HEAD"], "expected GOOD..BAD, such as v1.2..HEAD, got 'HEAD'"),
        (["--rev", "a...b"], "expected GOOD..BAD"),
        (["--rev", "nowhere..HEAD"], "'nowhere' is no revision of"),
        (["--rev", "HEAD..HEAD"], "are the same commit"),
        (["--rev", "a..b", "--good", "1"], "--rev has both ends: drop --good"),
        (["--good", "1"], "expected --good VERSION and --bad VERSION, or --rev GOOD..BAD"),
    ],
)
def test_ends_that_cannot_be_are_a_usage_error(options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(create(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    commit(tmp_path, "Add it", {"a.py": ""})
    assert main(["bisect", "pytorch", "tartu-mnist-cnn-digits28-cpu", *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
