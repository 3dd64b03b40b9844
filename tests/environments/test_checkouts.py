"""Revisions of real repositories as folders of files."""

import os
import shutil

import filelock
import pytest

from pytest_dlbench.environments import checkouts
from pytest_dlbench.environments.checkouts import Repository
from pytest_dlbench.errors import OptionError
from tests.doubles.repositories import commit, create, git, state


@pytest.fixture
def repository(tmp_path):
    """Two commits: the second adds a file and changes another."""
    folder = create(tmp_path / "ours")
    commit(folder, "Add one", {"one.py": "1\n", "package/two.py": "2\n"})
    commit(folder, "Change one", {"one.py": "11\n", "three.py": "3\n"})
    return folder


@pytest.fixture
def opened(repository, tmp_path):
    return Repository(folder=repository, where="here", store=tmp_path / "store")


def files(folder):
    return {name for name in state(folder) if not name.startswith(".git/")}


def test_a_revision_has_the_files_of_its_commit(opened):
    found = opened.checkout("HEAD~1")
    assert files(found.root) == {"one.py", "package/two.py"}
    assert (found.root / "one.py").read_text() == "1\n"
    assert (found.revision.name, found.revision.subject) == ("HEAD~1", "Add one")
    assert found.content == found.revision.commit == git(opened.root, "rev-parse", "HEAD~1")


def test_the_repository_is_only_read(opened, repository):
    (repository / "one.py").write_text("changed\n")
    before = state(repository)
    opened.checkout("HEAD")
    opened.checkout("HEAD~1")
    opened.checkout("worktree")
    assert state(repository) == before


def test_a_commit_has_one_folder_by_whatever_name(opened, repository):
    git(repository, "tag", "v1")
    assert opened.checkout("v1").root == opened.checkout("main").root


def test_files_that_an_archive_would_omit_are_there(opened, repository):
    commit(repository, "Ignore", {".gitattributes": "one.py export-ignore\n"})
    assert "one.py" in files(opened.checkout("HEAD").root)


def test_files_that_a_sparse_checkout_omits_are_there(opened, repository):
    commit(repository, "More", {"other/four.py": "4\n"})
    git(repository, "sparse-checkout", "set", "package")
    assert not (repository / "other").exists()
    assert {"other/four.py", "package/two.py"} <= files(opened.checkout("HEAD").root)


def test_the_worktree_is_the_folder_itself_with_what_is_not_committed(opened, repository):
    (repository / "one.py").write_text("changed\n")
    (repository / "new.py").write_text("")
    found = opened.checkout("worktree")
    assert found.root == repository
    assert found.revision.uncommitted == ("new.py", "one.py")
    assert found.content != git(repository, "rev-parse", "HEAD")


def test_a_clean_worktree_has_the_content_of_its_commit(opened):
    assert opened.checkout("worktree").content == opened.checkout("HEAD").content


def test_what_is_not_committed_is_left_out_of_a_revision_and_named(opened, repository):
    (repository / "one.py").write_text("changed\n")
    found = opened.checkout("HEAD")
    assert (found.root / "one.py").read_text() == "11\n"
    assert (found.left_out, found.revision.uncommitted) == (("one.py",), ())


def test_a_session_in_a_hook_of_git_reads_its_own_repository(opened, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert opened.checkout("HEAD").revision.subject == "Change one"


def test_a_folder_in_the_repository_is_enough(repository, tmp_path):
    inside = Repository(folder=repository / "package", where="here", store=tmp_path / "store")
    assert files(inside.checkout("HEAD").root) == {"one.py", "package/two.py", "three.py"}


def test_a_folder_that_was_not_finished_is_made_again(opened):
    root = opened.checkout("HEAD").root
    shutil.rmtree(root)
    root.with_name(f"{root.name}.unfinished").mkdir()
    assert files(opened.checkout("HEAD").root) == {"one.py", "package/two.py", "three.py"}


def test_checkouts_that_were_not_used_for_longest_are_removed(opened, repository, monkeypatch):
    monkeypatch.setattr(checkouts, "KEPT", 1)
    old = opened.checkout("HEAD~1").root
    new = opened.checkout("HEAD").root
    os.utime(old, (1, 1))
    # In use by this process, as by another one.
    opened.checkout("HEAD")
    assert old.is_dir()
    checkouts._HELD.pop(old).release()
    opened.checkout("HEAD")
    assert not old.exists()
    assert new.is_dir()
    assert not list(old.parent.glob(f"{old.name}.*"))


def test_a_checkout_that_another_process_uses_is_kept(opened, monkeypatch):
    monkeypatch.setattr(checkouts, "KEPT", 1)
    old = opened.checkout("HEAD~1").root
    checkouts._HELD.pop(old).release()
    os.utime(old, (1, 1))
    with filelock.FileLock(f"{old}.12345.user"):
        opened.checkout("HEAD")
        assert old.is_dir()


# Submodules


@pytest.fixture
def library(repository, tmp_path):
    """A submodule of the repository, at two commits."""
    folder = create(tmp_path / "library")
    commit(folder, "Add it", {"code.py": "old\n"})
    git(repository, "submodule", "--quiet", "add", str(folder), "lib")
    commit(repository, "Use the library", {})
    commit(folder, "Change it", {"code.py": "new\n"})
    git(repository / "lib", "pull", "--quiet", "origin", "main")
    commit(repository, "Use the new library", {})
    return repository / "lib"


@pytest.mark.usefixtures("library")
def test_submodules_have_the_content_of_their_own_commit(opened):
    assert (opened.checkout("HEAD~1").root / "lib/code.py").read_text() == "old\n"
    assert (opened.checkout("HEAD").root / "lib/code.py").read_text() == "new\n"


def test_a_submodule_that_newer_commits_do_not_have_is_found(opened, library, repository):
    git(repository, "rm", "--quiet", "lib")
    commit(repository, "Drop the library", {})
    assert not library.exists()
    assert (opened.checkout("HEAD~1").root / "lib/code.py").read_text() == "new\n"


def test_a_submodule_that_is_not_checked_out_is_an_error_with_the_command(library, repository, tmp_path):
    git(tmp_path, "clone", "--quiet", str(repository), "clone")
    clone = Repository(folder=tmp_path / "clone", where="here", store=tmp_path / "store")
    with pytest.raises(OptionError, match=r"the submodule lib is not checked out; .* update --init --recursive lib"):
        clone.checkout("HEAD")


def test_a_commit_that_a_submodule_lacks_is_an_error_with_the_command(opened, library, repository):
    elsewhere = git(repository, "rev-parse", "HEAD")
    git(repository, "update-index", "--cacheinfo", f"160000,{elsewhere},lib")
    git(repository, "commit", "--quiet", "-m", "Wrong")
    with pytest.raises(OptionError, match=f"lib has no commit {elsewhere[:12]}; .*git -C lib fetch origin {elsewhere}"):
        opened.checkout("HEAD")


def test_a_dirty_submodule_is_an_error_of_the_worktree_only(opened, library):
    (library / "code.py").write_text("changed\n")
    assert opened.checkout("HEAD").left_out == ("lib",)
    with pytest.raises(OptionError, match=r"the submodule lib has changes .* git -C lib stash --include-untracked"):
        opened.checkout("worktree")


# What cannot be found


def test_a_folder_in_no_repository_is_an_error(tmp_path):
    with pytest.raises(OptionError, match=r"here: revisions need a git repository, and .* git init"):
        Repository(folder=tmp_path, where="here", store=tmp_path).checkout("HEAD")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mian", "did you mean 'main'"),
        ("1234567", "git log --oneline"),
        ("-q", "no revision"),
        ("HEAD~9", "no revision"),
    ],
)
def test_an_unknown_revision_is_an_error_with_what_may_be_meant(opened, text, message):
    with pytest.raises(OptionError, match=message):
        opened.checkout(text)


def test_a_branch_that_was_not_checked_out_is_suggested_with_its_remote(repository, tmp_path):
    git(repository, "branch", "feature")
    git(tmp_path, "clone", "--quiet", str(repository), "clone")
    clone = Repository(folder=tmp_path / "clone", where="here", store=tmp_path / "store")
    with pytest.raises(OptionError, match="did you mean 'origin/feature'"):
        clone.checkout("feature")


def test_a_shallow_clone_is_named_with_the_command_that_mends_it(repository, tmp_path):
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", "clone")
    clone = Repository(folder=tmp_path / "clone", where="here", store=tmp_path / "store")
    assert clone.checkout("HEAD").revision.subject == "Change one"
    with pytest.raises(OptionError, match=r"shallow.*git fetch --unshallow.*fetch-depth: 0"):
        clone.checkout("HEAD~1")


def test_a_file_that_a_revision_lacks_is_an_error_with_the_command_that_finds_it(opened, repository):
    found = opened.checkout("HEAD~1")
    with pytest.raises(
        OptionError, match=r"here: HEAD~1 \(.*'Add one'\) has no three.py; .* --diff-filter=A .* three.py"
    ):
        found.existing(repository / "three.py", "here")
    assert found.existing(repository / "package" / "two.py", "here") == found.root / "package" / "two.py"


# For a bisection


def test_the_commits_between_two_are_in_their_order(opened, repository):
    for number in range(3):
        commit(repository, f"Commit {number}", {"one.py": f"{number}\n"})
    subjects = [one.subject for one in opened.between("HEAD~3", "main")]
    assert subjects == ["Change one", "Commit 0", "Commit 1", "Commit 2"]


def test_a_merge_stands_for_what_it_brought(opened, repository):
    git(repository, "switch", "--quiet", "-c", "feature")
    commit(repository, "On a branch", {"four.py": ""})
    git(repository, "switch", "--quiet", "main")
    git(repository, "merge", "--quiet", "--no-ff", "-m", "Merge it", "feature")
    assert [one.subject for one in opened.between("HEAD~1", "HEAD")] == ["Change one", "Merge it"]


def test_a_good_commit_that_does_not_lead_to_the_bad_one_is_an_error(opened):
    with pytest.raises(OptionError, match="git merge-base HEAD HEAD~1"):
        opened.between("HEAD", "HEAD~1")


def test_one_commit_has_nothing_to_search(opened):
    with pytest.raises(OptionError, match="are the same commit"):
        opened.between("HEAD", "main")
