"""CI's programs, run in a copy of this repository in which files can be changed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COPIED = (".ci", "pytest_dlbench", "tests", "bench", "docs", "examples", "conftest.py", "pyproject.toml")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "pictures", ".dlbench", "baselines")
# One framework of each kind.
NAMES = (
    *("pytorch", "pytorch-compile", "jax", "tensorflow", "keras-tensorflow", "keras-jax", "keras-torch"),
    *("keras2-tensorflow", "keras2-theano", "mxnet", "mxnet-imperative", "chainer", "theano", "lasagne", "cntk"),
)


class Tree:
    """A copy of the files that CI's programs read, with its own cache."""

    def __init__(self, folder: Path) -> None:
        self.root, self.cache = folder / "tree", folder / "cache"
        self._first: dict[tuple[str, ...], dict[str, Any]] = {}
        self.root.mkdir()
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.root / name, ignore=NOT_COPIED)
            else:
                shutil.copy(ROOT / name, self.root / name)

    def run(self, program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return self._python(self.root / ".ci" / program, *arguments, **variables)

    def _python(self, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        # Files change faster than the time stamps by which Python recognises compiled ones.
        usual = {"XDG_CACHE_HOME": str(self.cache), "PYTHONDONTWRITEBYTECODE": "1"}
        # This may itself be a run of CI.
        environment = {**os.environ, "CI_FULL": "", "DLBENCH_CI_PLAN": "", **usual, **variables}
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)

    def keys(self) -> dict[str, dict[str, str]]:
        """The key of each sweep and framework: the part of a plan that takes the least time."""
        program = "import contents, json, sys; print(json.dumps(contents.keys(contents.about(sys.argv[1:]))))"
        done = self._python("-c", program, *NAMES, PYTHONPATH=str(self.root / ".ci"))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def plan(self, names: Iterable[str] = NAMES, **variables: str) -> dict[str, Any]:
        done = self.run("stamps.py", "plan", ",".join(names), **variables)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def first_plan(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The plan of a cache without stamps, made once: all tests restore what they change."""
        if names not in self._first:
            assert not any(self.cache.rglob("*"))
            self._first[names] = self.plan(names)
        return self._first[names]

    def ask(self, command: str, plan: Mapping[str, Any], *arguments: str) -> str:
        """What stamps.py prints about a plan."""
        planned = self.root / "plan.json"
        planned.write_text(json.dumps(plan))
        done = self.run("stamps.py", command, str(planned), *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def report(self, *tests: str, part: str = "worker") -> str:
        """The path of a part's JUnit file with the elements of some tests."""
        report = self.root / f"{part}.xml"
        report.write_text(f"<testsuites><testsuite>{''.join(tests)}</testsuite></testsuites>")
        return str(report)

    @contextmanager
    def changed(self, pattern: str, old: str = "", new: str = "") -> Iterator[None]:
        """Replace a text in the only file that matches a pattern, or append to it, until the end of the block."""
        (file,) = self.root.glob(pattern)
        text = file.read_text()
        assert old in text, f"{old} is not in {file}"
        file.write_text(text.replace(old, new) if old else f"{text}\n")
        try:
            yield
        finally:
            file.write_text(text)


@pytest.fixture(scope="session")
def unstamped(tmp_path_factory):
    """A tree for tests that restore what they change and write no stamps."""
    return Tree(tmp_path_factory.mktemp("unstamped"))


@pytest.fixture(scope="session")
def usual_keys(unstamped):
    return unstamped.keys()


@pytest.fixture
def tree(unstamped, tmp_path):
    """The same tree with its own cache."""
    unstamped.cache = tmp_path
    return unstamped
