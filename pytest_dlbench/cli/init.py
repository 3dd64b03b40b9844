"""``dlbench init``: write a small working suite, and CI workflows, into a repository."""

import argparse
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from pytest_dlbench.cli.output import JOURNALS, Commands, answer, command
from pytest_dlbench.errors import OptionError
from pytest_dlbench.storing.files import create_ignored

MORE = """
Writes bench/conftest.py (what is trained) and bench/test_training.py, and a folder for journals that git ignores. With
--github or --gitlab also a workflow that runs them. A file that exists is kept, and named, unless --overwrite is given.

With --revisions, only a workflow for the suite that you have: it compares your own code in each pull request with that
of its base, in pairs (--dlbench-ab rev:BASE,rev:HEAD).

examples:
  dlbench init
  dlbench init --github
  dlbench init --gitlab --overwrite
  dlbench init --github --revisions

exit status: 0 all files were written, 1 some exist and were kept, 2 usage error
"""

SUITE = {"bench/conftest.py": "conftest.py.txt", "bench/test_training.py": "test_training.py.txt"}
SERVICES: Mapping[str, Mapping[str, str]] = {
    "github": {".github/workflows/benchmarks.yml": "github.yml"},
    # An existing .gitlab-ci.yml is kept, and needs these two lines.
    "gitlab": {".gitlab/benchmarks.yml": "gitlab.yml", ".gitlab-ci.yml": "gitlab-include.yml"},
}
REVISIONS: Mapping[str, Mapping[str, str]] = {
    "github": {".github/workflows/revisions.yml": "github-revisions.yml"},
    "gitlab": {".gitlab/revisions.yml": "gitlab-revisions.yml", ".gitlab-ci.yml": "gitlab-include-revisions.yml"},
}


def declare(commands: Commands) -> None:
    """Add ``init``."""
    text = "Write a small working suite, and a CI workflow that runs it, into the repository in this folder."
    parser = command(commands, "init", help_text=text, more=MORE)
    service = parser.add_mutually_exclusive_group()
    for name, shown in (("github", "GitHub Actions"), ("gitlab", "GitLab CI")):
        service.add_argument(
            f"--{name}", dest="service", action="store_const", const=name, help=f"Also a workflow for {shown}."
        )
    parser.add_argument(
        "--revisions", action="store_true", help="Only a workflow, which compares a pull request with its base."
    )
    parser.add_argument("--overwrite", action="store_true", help="Replace files that exist.")
    parser.set_defaults(run=_init)


def _init(asked: argparse.Namespace) -> int:
    written, kept = [], []
    for name, template in _templates(asked).items():
        path = Path(name)
        if path.exists() and not asked.overwrite:
            kept.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(resources.files("pytest_dlbench.cli").joinpath("starter", template).read_bytes())
        written.append(name)
    if not JOURNALS.exists():
        create_ignored(JOURNALS)
        written.append(f"{JOURNALS}/.gitignore")
    answer(asked, {"written": written, "kept": kept}, [*_lines(written, kept), *_next(asked)])
    return 1 if kept else 0


def _templates(asked: argparse.Namespace) -> Mapping[str, str]:
    """The files to write, and the templates of their content."""
    if not asked.revisions:
        return {**SUITE, **SERVICES.get(asked.service, {})}
    if asked.service is None:
        raise OptionError("dlbench init: --revisions writes a workflow: name its service, --github or --gitlab")
    return REVISIONS[asked.service]


def _next(asked: argparse.Namespace) -> list[str]:
    if asked.revisions:
        return ["next, on a branch with two commits: pytest bench --dlbench-ab rev:HEAD~1,rev:HEAD"]
    return ['next: pip install "pytest-dlbench[pytorch]" && pytest bench']


def _lines(written: list[str], kept: list[str]) -> list[str]:
    lines = [f"written: {name}" for name in written]
    lines += [f"kept, because it exists: {name}; --overwrite replaces it" for name in kept]
    jobs = [name for name in written if name.startswith(".gitlab/")]
    if ".gitlab-ci.yml" in kept and jobs:
        lines.append(f"to run the job, add to .gitlab-ci.yml: include: [{{local: {jobs[0]}}}]")
    return lines
