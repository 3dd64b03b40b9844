"""``dlbench init``: write a small working suite, and CI workflows, into a repository."""

import argparse
from collections.abc import Mapping
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from pytest_dlbench.cli.output import JOURNALS, Commands, answer, command
from pytest_dlbench.errors import OptionError
from pytest_dlbench.storing.files import create_ignored, write_whole

MORE = """
Writes bench/loop.py, a small training loop to be replaced by yours, in PyTorch if it is installed here and else in
NumPy, and bench/test_loop.py, which measures it; bench/test_training.py, which trains networks that come with this
package, and bench/conftest.py, which says what is trained; and a folder for journals that git ignores.

With --github or --gitlab also a workflow that compares each pull request with its base, in pairs, in at most ten
minutes, and keeps a history of the main branch. With --workflow-only nothing but that, for tests that you have in
bench/. A file that exists is kept, and named, unless --overwrite is given.

examples:
  dlbench init
  dlbench init --github
  dlbench init --gitlab --overwrite
  dlbench init --github --workflow-only

exit status: 0 all files were written, 1 some exist and were kept, 2 usage error
"""

SUITE = {"bench/conftest.py": "conftest.py.txt", "bench/test_training.py": "test_training.py.txt"}
LOOPS: Mapping[str, Mapping[str, str]] = {
    "torch": {"bench/loop.py": "loop_pytorch.py.txt", "bench/test_loop.py": "test_loop_pytorch.py.txt"},
    "": {"bench/loop.py": "loop_numpy.py.txt", "bench/test_loop.py": "test_loop_numpy.py.txt"},
}
SERVICES: Mapping[str, Mapping[str, str]] = {
    "github": {".github/workflows/benchmarks.yml": "github.yml"},
    # An existing .gitlab-ci.yml is kept, and needs these two lines.
    "gitlab": {".gitlab/benchmarks.yml": "gitlab.yml", ".gitlab-ci.yml": "gitlab-include.yml"},
}


def declare(commands: Commands) -> None:
    """Add ``init``."""
    text = "Write a small working suite, and a CI workflow for pull requests, into the repository in this folder."
    parser = command(commands, "init", help_text=text, more=MORE)
    service = parser.add_mutually_exclusive_group()
    for name, shown in (("github", "GitHub Actions"), ("gitlab", "GitLab CI")):
        service.add_argument(
            f"--{name}", dest="service", action="store_const", const=name, help=f"Also a workflow for {shown}."
        )
    parser.add_argument("--workflow-only", action="store_true", help="Only the workflow, for tests in bench/.")
    parser.add_argument("--overwrite", action="store_true", help="Replace files that exist.")
    parser.set_defaults(run=_init)


def _init(asked: argparse.Namespace) -> int:
    written, kept = [], []
    for name, template in _templates(asked).items():
        path = Path(name)
        if path.exists() and not asked.overwrite:
            kept.append(name)
            continue
        write_whole(path, resources.files("pytest_dlbench.cli").joinpath("starter", template).read_bytes())
        written.append(name)
    if not JOURNALS.exists():
        create_ignored(JOURNALS)
        written.append(f"{JOURNALS}/.gitignore")
    answer(asked, {"written": written, "kept": kept}, [*_lines(written, kept), *_next()])
    return 1 if kept else 0


def _templates(asked: argparse.Namespace) -> Mapping[str, str]:
    """The files to write, and the templates of their content."""
    if asked.workflow_only and asked.service is None:
        raise OptionError("dlbench init: --workflow-only writes a workflow: name its service, --github or --gitlab")
    workflow = SERVICES.get(asked.service, {})
    return workflow if asked.workflow_only else {**SUITE, **LOOPS[_library()], **workflow}


def _library() -> str:
    """What the loop is written in: PyTorch if it is installed here; empty for NumPy, which always is."""
    return "torch" if find_spec("torch") else ""


def _next() -> list[str]:
    install = "" if _library() else 'pip install "pytest-dlbench[pytorch]" && '
    return [
        f"next: {install}pytest bench",
        "then, with all of it committed and bench/loop.py changed: pytest bench --dlbench-ab rev:HEAD,worktree",
    ]


def _lines(written: list[str], kept: list[str]) -> list[str]:
    lines = [f"written: {name}" for name in written]
    lines += [f"kept, because it exists: {name}; --overwrite replaces it" for name in kept]
    jobs = [name for name in written if name.startswith(".gitlab/")]
    if ".gitlab-ci.yml" in kept and jobs:
        lines.append(f"to run the jobs, add to .gitlab-ci.yml: include: [{{local: {jobs[0]}}}]")
    return lines
