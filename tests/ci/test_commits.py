"""Subjects of new commits."""

import subprocess
import sys

import pytest

from tests.ci.conftest import ROOT

sys.path.insert(0, str(ROOT / ".ci"))
import commits


@pytest.fixture
def commit(tmp_path, monkeypatch):
    """Create a commit with a subject in a separate repository, and return its hash."""
    monkeypatch.chdir(tmp_path)
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(variable, raising=False)

    def git(*arguments: str) -> str:
        author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        done = subprocess.run(["git", *author, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(subject: str) -> str:
        git(
            "commit", "--quiet", "--allow-empty", "--message", f"{subject}\n\nThe body may say anything. It added much."
        )
        return git("rev-parse", "HEAD")

    git("init", "--quiet")
    return commit


@pytest.mark.parametrize(
    "subject",
    ["Add a check", "Bring back the table", "Pass the key", "Speed up inner sessions", "Focus on one", "x" * 72],
)
def test_a_good_subject_has_no_fault(subject):
    assert list(commits.faults(subject)) == []


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("x" * 73, "73 characters, more than 72"),
        ("Add a check.", "a full stop at the end"),
        ("Added a check", "'Added' is not imperative"),
        ("Adds a check", "'Adds' is not imperative"),
        ("Adding a check", "'Adding' is not imperative"),
    ],
)
def test_a_bad_subject_is_reported_with_its_fault(subject, fault):
    assert list(commits.faults(subject)) == [fault]


def test_only_commits_after_the_last_one_that_predates_the_rules_are_checked(commit, monkeypatch, capsys):
    monkeypatch.setattr(commits, "BASE", commit("This was written before there were any rules."))
    assert commits.main() == 0
    commit("Add a check")
    assert commits.main() == 0
    commit("Fixed the check.")
    assert commits.main() == 1
    printed = capsys.readouterr()
    assert printed.out.endswith("new commits: 2\n")
    assert printed.err.splitlines() == [
        "commit subject: Fixed the check.: a full stop at the end",
        "commit subject: Fixed the check.: 'Fixed' is not imperative",
    ]


def test_a_clone_without_history_has_its_newest_commit_checked(commit, capsys):
    commit("Written before.")
    commit("Add a check")
    assert commits.main() == 0
    assert capsys.readouterr().out == "new commits: 1\n"
