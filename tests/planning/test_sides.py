"""--dlbench-ab: the grammar of its sides, and what they select."""

from pathlib import Path

import pytest

from pytest_dlbench.environments import Environment, Framework
from pytest_dlbench.environments.of_programs import place_of
from pytest_dlbench.errors import OptionError
from pytest_dlbench.planning.registry import KNOWN
from pytest_dlbench.planning.sides import Parts, parsed, sides_of, unlabelled
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.running.launch import OWN
from tests.doubles import records
from tests.doubles.repositories import commit, create, git
from tests.environments.test_of_programs import UV_LOCK

HERE = Path(__file__).parent


@pytest.fixture
def files(tmp_path):
    """Writes old.txt and new.txt."""

    def write(old, new):
        paths = [tmp_path / "old.txt", tmp_path / "new.txt"]
        for path, text in zip(paths, (old, new), strict=True):
            path.write_text(text)
        return [str(path) for path in paths]

    return write


def test_every_framework_that_both_files_pin_is_a_pair(files):
    found = sides_of(
        files("torch==2.12.0\njax==0.9.0\njaxlib==0.9.0\noptax==0.2.5\n", "torch==2.13.0\n"), (), KNOWN, HERE
    ).named
    assert [(pair.old.framework.name, pair.new.framework.name) for pair in found] == [("pytorch@old", "pytorch@new")]


def test_the_sides_are_built_from_their_own_file(files):
    (pair,) = sides_of(files("torch==2.12.0\n", "torch==2.13.0\n"), (), KNOWN, HERE).named
    assert pair.old.framework.environments[0].requirements == ("torch==2.12.0",)
    assert pair.new.framework.environments[0].requirements == ("torch==2.13.0",)


def test_a_variant_is_compared_only_if_it_is_named(files):
    named = sides_of(files("torch==2.12.0\n", "torch==2.13.0\n"), ("pytorch-compile",), KNOWN, HERE).named
    assert [pair.new.framework.name for pair in named] == ["pytorch-compile@new"]


def test_a_version_that_the_builder_cannot_use_is_not_compared(files):
    with pytest.raises(OptionError, match=r"no framework of pytorch-1\.0 is pinned in both"):
        sides_of(files("torch==2.12.0\n", "torch==2.13.0\n"), ("pytorch-1.0",), KNOWN, HERE)


def test_options_and_comments_of_a_file_are_not_pins(files):
    text = "--find-links wheels  # ours\ntorch==2.12.0 ; python_version >= '3.8'\n"
    (pair,) = sides_of(files(text, text), (), KNOWN, HERE).named
    assert pair.new.framework.name == "pytorch@new"


def test_two_files_with_the_same_name_are_refused(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pins.txt").write_text("torch==2.12.0\n")
    with pytest.raises(OptionError, match="both files are named 'pins'"):
        sides_of([str(tmp_path / "a" / "pins.txt"), str(tmp_path / "b" / "pins.txt")], (), KNOWN, HERE)


# The grammar of a side


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("rev:main", Parts(revision="main")),
        ("rev:feature/a+b", Parts(revision="feature/a+b")),
        ("worktree", Parts(revision="worktree")),
        ("pytorch==2.13.0+cpu", Parts(framework="pytorch==2.13.0+cpu")),
        ("rev:HEAD+pytorch==2.13.0+cpu", Parts(revision="HEAD", framework="pytorch==2.13.0+cpu")),
        ("pytorch@pins.txt+rev:HEAD", Parts(revision="HEAD", framework="pytorch@pins.txt")),
        ("keras-jax+worktree", Parts(revision="worktree", framework="keras-jax")),
        ("set:batch_size=64", Parts(changes=(Change(name="batch_size", value=64),))),
        ("env:FLAGS=-O2+x", Parts(variables=(("FLAGS", "-O2+x"),))),
        ("env:EMPTY=", Parts(variables=(("EMPTY", ""),))),
        (
            "rev:v1+set:epochs=3+set:batch_size=8+env:A=1+env:B=a=b",
            Parts(
                revision="v1",
                changes=(Change(name="epochs", value=3), Change(name="batch_size", value=8)),
                variables=(("A", "1"), ("B", "a=b")),
            ),
        ),
    ],
)
def test_a_side_has_the_parts_that_it_names(text, parts):
    assert parsed(text, KNOWN, "here") == parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rev:a+rev:b", "a side is of one revision, got 'a' and 'b'"),
        ("rev:a+worktree", "a side is of one revision, got 'a' and 'worktree'"),
        ("rev:", "'rev:' names no revision; expected one such as rev:HEAD~1"),
        ("jax+pytorch==2.13.0", "a side has one framework, got 'jax' and 'pytorch==2.13.0'"),
        ("set:", "expected a setting, such as set:batch_size=64"),
        ("set:batch_size=1,2", "here: set: batch_size has several values; a side has one"),
        ("env:1A=2", "env:1A=2: expected NAME=VALUE"),
        ("env:GLIBC_TUNABLES=x", "dlbench sets this variable itself for every worker; --dlbench-allocator"),
        *((f"env:{name}=x", f"env:{name}: dlbench sets this variable itself") for name in OWN),
    ],
)
def test_a_side_that_cannot_be_is_an_error_that_says_what_would_be_right(text, message):
    with pytest.raises(OptionError) as raised:
        parsed(text, KNOWN, "here")
    assert message in str(raised.value)


def test_the_name_of_a_side_has_its_parts_and_only_letters_of_file_names():
    parts = parsed("rev:origin/main~1+set:batch_size=64+env:PATH=/bin", KNOWN, "here")
    assert parts.label == "origin_main_1+batch_size64+PATH=_bin"


def test_sides_without_a_framework_are_of_every_framework_that_tests_train():
    asked = sides_of(["env:A=1", "env:A=2"], ("jax",), KNOWN, HERE)
    jax, pytorch = (KNOWN.values["framework"][name] for name in ("jax", "pytorch"))
    assert [one.name for one in asked.candidates([jax, pytorch])] == ["jax@A=2", "pytorch@A=2"]
    (candidate,) = asked.candidates([jax])
    assert asked.of(candidate) == asked.of(jax)
    assert asked.of(jax).old.framework.more_variables == (("A", "1"),)
    assert candidate.specification == candidate.plain_name == "jax"
    assert candidate.marks == jax.marks


def test_a_side_without_a_framework_has_that_of_the_other_as_it_is_installed():
    (pair,) = sides_of(["env:A=1", "env:A=1+pytorch==2.12.0"], (), KNOWN, HERE).named
    names = pair.old.framework.name, pair.new.framework.name
    assert names == ("pytorch@A=1", "pytorch==2.12.0@A=1")


def test_both_sides_need_a_revision_or_none():
    with pytest.raises(OptionError, match="both sides need a revision; 'worktree' is your files as they are"):
        sides_of(["rev:HEAD", "env:A=1"], (), KNOWN, HERE)


def test_two_commits_whose_names_look_alike_in_ids_have_different_names(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = create(tmp_path / "ours")
    commit(folder, "One", {"a": "1"})
    git(folder, "branch", "a/b")
    last = commit(folder, "Two", {"a": "2"})
    git(folder, "branch", "a_b")
    pair = sides_of(["rev:a/b", "rev:a_b"], (), KNOWN, folder).of(KNOWN.values["framework"]["jax"])
    assert (pair.old.framework.name, pair.new.framework.name) == ("jax@a_b", f"jax@a_b-{last[:12]}")


# Requirement files of two revisions


@pytest.fixture
def pinned(tmp_path, monkeypatch):
    """A repository whose requirements file differs in its last commit, and a framework that has it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = create(tmp_path / "ours")
    for number in (1, 1, 2):
        commit(folder, f"Pin {number}", {"pins.txt": f"numpy=={number}.0\n"})
    framework = Framework(
        name="ours",
        builder="ours",
        needs=("numpy",),
        environments=(Environment(name="ours", python="3.11", requirements=("numpy==1.0",)),),
        package="numpy",
    )
    return KNOWN.extended("framework", [framework]), folder


@pytest.mark.parametrize(("sides", "environments"), [("HEAD~1,rev:HEAD", 2), ("HEAD~2,rev:HEAD~1", 1)])
def test_sides_share_an_environment_unless_their_requirements_files_differ(pinned, sides, environments):
    registry, folder = pinned
    asked = sides_of(f"rev:{sides}".split(","), (), registry, folder)
    pair = asked.of(registry.find("framework", f"ours@{folder / 'pins.txt'}", "here"))
    found = {side.framework.environments[0].folder_name for side in (pair.old, pair.new)}
    assert len(found) == environments
    assert pair.new.framework.name == f"ours@pins@{sides.rpartition(':')[2].replace('~', '_')}"


def lock(version):
    """The files of a repository whose uv.lock pins a version of one package."""
    project = '[project]\nname = "ours"\nversion = "0.1.0"\nrequires-python = ">=3.9"\ndependencies = ["tomli"]\n'
    text = UV_LOCK.replace("2.0.1", version)
    return {"pyproject.toml": project, "uv.lock": text, "requirements.txt": f"tomli=={version}\n"}


@pytest.mark.parametrize(("sides", "environments"), [("HEAD~1,rev:HEAD", 2), ("HEAD~2,rev:HEAD~1", 1)])
@pytest.mark.parametrize("given", ["uv.lock", "requirements.txt"])
def test_the_environment_of_a_program_is_that_of_each_revision(tmp_path, monkeypatch, given, sides, environments):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = create(tmp_path / "ours")
    for number, version in enumerate(("2.0.1", "2.0.1", "2.2.1")):
        commit(folder, f"Pin {version}", {**lock(version), "number": str(number)})
    asked = sides_of(f"rev:{sides}".split(","), (), KNOWN, folder)
    pair = asked.of(place_of(given, folder, "here"))
    found = [side.framework.environments[0] for side in (pair.old, pair.new)]
    assert len({one.folder_name for one in found}) == environments
    newest = "2.2.1" if environments == 2 else "2.0.1"
    assert [one.requirements[0].partition(" ")[0] for one in found] == ["tomli==2.0.1", f"tomli=={newest}"]


def test_a_revision_without_the_file_of_an_environment_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = create(tmp_path / "ours")
    commit(folder, "Begin", {"a": "1"})
    commit(folder, "Pin", {"pins.txt": "tomli==2.0.1\n"})
    asked = sides_of(["rev:HEAD~1", "rev:HEAD"], (), KNOWN, folder)
    with pytest.raises(OptionError, match=r"has no pins\.txt; to find the revision that added it"):
        asked.of(place_of("pins.txt", folder, "here"))


@pytest.mark.parametrize(
    ("side", "name"),
    [
        ("jax+set:batch_size=128", "jax"),
        ("jax+set:batch_size=128,learning_rate=0.1", "jax"),
        ("jax==0.10.2+set:batch_size=128", "jax==0.10.2"),
        ("jax+env:XLA_FLAGS=a+set:batch_size=128", "jax@batch_size128+XLA_FLAGS=a"),
        ("jax", "jax"),
    ],
)
def test_a_case_that_differs_in_settings_alone_has_its_frameworks_name(side, name):
    new = sides_of([side, "jax+set:batch_size=32"], (), KNOWN, HERE).named[0].old
    settings = {change.name: change.value for change in new.changes}
    assert unlabelled(records.case(framework=new.framework.name, settings=settings)) == name


def test_settings_of_a_whole_session_are_no_label():
    case = records.case(framework="jax@numpy-2.4.6", settings={"batch_size": 128})
    assert unlabelled(case) == "jax@numpy-2.4.6"
