"""How tests/perf runs sides in turn, and checks out the revision that it compares with."""

import subprocess

import pytest

from tests.perf import against
from tests.perf.pairs import interleaved, median_ratio


def git(folder, *words):
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path):
    """Two commits of a project; its plugin has moved."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "config", "user.email", "nobody@example.invalid")
    git(folder, "config", "user.name", "Nobody")
    for module in ("package.plugin", "package.plugin.hooks"):
        (folder / "pyproject.toml").write_text(f'[project.entry-points.pytest11]\ndlbench = "{module}"\n')
        git(folder, "add", "pyproject.toml")
        git(folder, "commit", "--quiet", "-m", module)
    return folder


def test_every_side_is_run_once_a_round_and_comes_first_as_often_as_the_other():
    order = []
    found = interleaved({name: lambda name=name: order.append(name) or len(order) for name in "ab"}, 4)
    assert "".join(order) == "abbaabba"
    assert found == {"a": [1, 4, 5, 8], "b": [2, 3, 6, 7]}


def test_the_ratio_is_of_the_pairs_and_has_their_interval():
    assert median_ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]) == "2.0000 [2.0000, 2.0000] (3 pairs)"


def test_a_revision_has_its_own_plugin_and_leaves_no_files(repository):
    with against.worktree("HEAD~1", repository) as other:
        assert against.pytest_of(other)[-1] == "package.plugin"
        assert against.pytest_of(repository)[-1] == "package.plugin.hooks"
    assert not other.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_revision_that_does_not_exist_is_named(repository):
    with pytest.raises(SystemExit, match="cannot check out 'nowhere'"), against.worktree("nowhere", repository):
        pass
