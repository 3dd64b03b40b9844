"""--dlbench-ab on a program: two revisions of its files, its parameters, and variables of its workers."""

import pytest

from tests.doubles.repositories import commit, create, git
from tests.plugin.test_programs import case_of
from tests.plugin.test_revisions import IGNORED, WIDE

PROGRAM = """
from work import amount

def build(run):
    depth = run.parameters["depth"]

    def step(number):
        return float(sum(range(amount() * depth))) / (number + 1)

    return {"step": step, "evaluate": lambda: {"accuracy": 0.5}}
"""
TEST = """
def test_ours(dlbench):
    dlbench.measure("programs/ours.py", steps=20, depth=1)
"""
WORK = "def amount():\n    return %d\n"


@pytest.fixture
def repository(suite):
    """A repository with a program in plain Python, its test, and one commit."""
    create(suite.path)
    suite.path.joinpath("programs").mkdir()
    suite.path.joinpath("programs", "ours.py").write_text(PROGRAM)
    suite.path.joinpath("programs", "work.py").write_text(WORK % 10_000)
    suite.path.joinpath(".gitignore").write_text(IGNORED)
    suite.conftest = ""
    suite.pytester.makepyfile(test_suite=TEST)
    commit(suite.path, "Add a program", {})
    return suite


def slow_down(repository):
    repository.path.joinpath("programs", "work.py").write_text(WORK % 30_000)


def test_a_commit_with_more_arithmetic_is_found(repository):
    slow_down(repository)
    commit(repository.path, "Add up more", {})
    result = repository.run("--dlbench-ab=rev:HEAD~1,rev:HEAD", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "regressed: program-current@HEAD-programs.ours-cpu-depth1",
            "compared with current@HEAD_1 (HEAD~1 is *: Add a program) in * pairs, and * fresh ones to confirm *",
            "*step_time *regressed *",
            "what differs between baseline and candidate:",
            "  revision * (Add a program) → * (Add up more)",
            "  file programs/work.py * → *",
        ]
    )
    found = case_of(repository)
    assert found.record.case.revision.commit == git(repository.path, "rev-parse", "HEAD")
    assert found.result.pairing.old.revision.commit == git(repository.path, "rev-parse", "HEAD~1")


def test_what_is_not_committed_is_a_side(repository):
    slow_down(repository)
    result = repository.run("--dlbench-ab=rev:HEAD,worktree", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["regressed: program-current@worktree-programs.ours-cpu-depth1"])
    assert case_of(repository).record.case.revision.uncommitted == ("programs/work.py",)


def test_a_module_of_the_repository_is_that_of_the_revision(repository):
    repository.pytester.makepyfile(test_suite=TEST.replace("programs/ours.py", "programs.ours"))
    text = PROGRAM.replace("from work", "from programs.work")
    repository.path.joinpath("programs", "ours.py").write_text(text)
    commit(repository.path, "Name the module", {})
    slow_down(repository)
    commit(repository.path, "Add up more", {})
    result = repository.run("--dlbench-ab=rev:HEAD~1,rev:HEAD", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*step_time *regressed *", "  file programs/work.py * → *"])


def test_a_parameter_is_a_side(repository):
    result = repository.run("--dlbench-ab=set:depth=1,set:depth=3", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["regressed: program-current@depth3-programs.ours-cpu", "  depth 1 → 3"])
    found = case_of(repository)
    assert (found.old.program.parameters, found.record.program.parameters) == ({"depth": 1}, {"depth": 3})


def test_a_program_is_not_profiled(repository):
    result = repository.run("--dlbench-ab=set:depth=1,set:depth=3", "--dlbench-profile", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*not profiled: only trainings of networks are, and this case is of the kind program"])


def test_a_variable_is_a_side(repository):
    text = WORK.replace("%d", "int(__import__('os').environ['AMOUNT'])")
    repository.path.joinpath("programs", "work.py").write_text(text)
    result = repository.run("--dlbench-ab=env:AMOUNT=10000,env:AMOUNT=30000", *WIDE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*step_time *regressed *", "  variable AMOUNT 10000 → 30000"])


def test_an_unknown_parameter_names_those_of_the_test(repository):
    result = repository.run("--dlbench-ab=set:dept=1,set:dept=3")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["--dlbench-ab: set:dept: the test of programs/ours.py gives no parameter of that name, but depth;*"]
    )


def test_a_parameter_of_several_values_is_no_side(repository):
    repository.pytester.makepyfile(test_suite=TEST.replace("depth=1", "depth=1, sizes=[3, 4]"))
    result = repository.run("--dlbench-ab=set:sizes=3,set:sizes=4")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["--dlbench-ab: set:sizes: the test of programs/ours.py gives [[]3, 4], and a side *"])


def test_a_parameter_has_a_value_that_the_recipe_setting_of_its_name_refuses(repository):
    # A recipe's momentum is a number of at least 0.
    repository.pytester.makepyfile(test_suite=TEST.replace("depth=1", "depth=1, momentum='none'"))
    repository.run("--dlbench-ab=set:momentum=-1,set:momentum=heavy", "--dlbench-max-runs=3", *WIDE)
    found = case_of(repository)
    assert found.old.program.parameters == {"depth": 1, "momentum": -1}
    assert found.record.program.parameters == {"depth": 1, "momentum": "heavy"}


def test_a_candidate_that_adds_its_program_has_no_baseline(repository):
    repository.path.joinpath("programs", "theirs.py").write_text(PROGRAM)
    repository.pytester.makepyfile(test_suite=TEST.replace("ours", "theirs"))
    commit(repository.path, "Add another", {})
    options = "--dlbench-ab=rev:HEAD~1,rev:HEAD", "--dlbench-compare"
    result = repository.run(*options)
    assert result.ret == 1
    lacks = "nothing to compare with: HEAD~1 (*) has no programs/theirs.py"
    result.stdout.fnmatch_lines(
        [lacks, f"no_baseline: program-current@HEAD-programs.theirs-cpu-depth1: {lacks}", "dlbench: 1 no_baseline*"]
    )
    result.stdout.no_fnmatch_line("*--dlbench-save*")
    assert len(case_of(repository).record.runs) == 3
    # What a gate of pull requests passes on; the program's own faults fail its test all the same.
    assert repository.run(*options, "--dlbench-allow=no_baseline,invalid").ret == 0
    repository.path.joinpath("programs", "theirs.py").write_text("def build(run):\n    return {}\n")
    commit(repository.path, "Break it", {})
    result = repository.run("--dlbench-ab=rev:HEAD~2,rev:HEAD", "--dlbench-allow=no_baseline,invalid")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*program-current@HEAD-programs.theirs-cpu-depth1*failed*"])


def test_a_program_that_a_candidate_adds_is_judged_by_what_needs_no_baseline(repository):
    leaking = PROGRAM.replace("def build(run):", "import time\n\nKEPT = []\n\n\ndef build(run):")
    # Steps of 10 ms: growth is judged over samples of seconds, and half of the steps may be warm-up on a busy machine.
    grow = "        time.sleep(0.01)\n        KEPT.append(bytes([number % 256]) * 1_000_000)\n"
    leaking = leaking.replace("        return float", f"{grow}        return float")
    repository.path.joinpath("programs", "theirs.py").write_text(leaking)
    repository.pytester.makepyfile(test_suite=TEST.replace("ours", "theirs").replace("steps=20", "steps=600"))
    commit(repository.path, "Add one that leaks", {})
    result = repository.run("--dlbench-ab=rev:HEAD~1,rev:HEAD", "--dlbench-allow=no_baseline,invalid")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["regressed: program-current@HEAD-programs.theirs-cpu-depth1", "*leak*"])


def test_a_candidate_without_the_program_is_an_error_that_names_the_commit(repository):
    git(repository.path, "mv", "programs/ours.py", "programs/theirs.py")
    commit(repository.path, "Rename it", {})
    git(repository.path, "revert", "--no-edit", "HEAD")
    result = repository.run("--dlbench-ab=rev:HEAD,rev:HEAD~1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["--dlbench-ab: HEAD~1 (*, 'Rename it') has no programs/ours.py; to find the *"])


def test_a_module_that_is_installed_is_in_no_revision(repository):
    repository.pytester.makepyfile(test_suite=TEST.replace("programs/ours.py", "email.mime"))
    result = repository.run("--dlbench-ab=rev:HEAD,worktree")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["--dlbench-ab: the program email.mime is not in *"])
