"""``dlbench init``, as a user calls it, and what it writes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pytest_dlbench.cli import init
from pytest_dlbench.cli.main import main
from pytest_dlbench.options import OPTIONS
from tests.doubles import disks
from tests.doubles.repositories import commit, create, git

SUITE = {
    *("bench/conftest.py", "bench/test_training.py", "bench/loop.py", "bench/test_loop.py", ".dlbench/.gitignore"),
}
WORKFLOWS = {
    "--github": {".github/workflows/benchmarks.yml"},
    "--gitlab": {".gitlab/benchmarks.yml", ".gitlab-ci.yml"},
}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], check=True)
    return tmp_path


def written(repository):
    names = (path.relative_to(repository).as_posix() for path in repository.rglob("*") if path.is_file())
    return {name for name in names if not name.startswith(".git/")}


def scripts(service, name):
    """What a job of the generated workflow gives the shell."""
    if service == "--github":
        job = yaml.safe_load(Path(".github/workflows/benchmarks.yml").read_text())["jobs"][name]
        return [step["run"] for step in job["steps"] if "run" in step]
    return yaml.safe_load(Path(".gitlab/benchmarks.yml").read_text())[name]["script"]


def test_a_suite_is_written_and_listed(repository, capsys):
    assert main(["init"]) == 0
    assert written(repository) == SUITE
    out = capsys.readouterr().out
    assert all(f"written: {name}\n" in out for name in SUITE)


@pytest.mark.parametrize("service", WORKFLOWS)
def test_a_workflow_is_written_for_the_service_that_is_named(repository, service):
    assert main(["init", service]) == 0
    assert written(repository) == SUITE | WORKFLOWS[service]


def test_git_ignores_the_journals_and_nothing_else(repository):
    main(["init", "--github"])
    Path(".dlbench/session.jsonl").touch()
    seen = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    assert set(seen.stdout.split()) == (SUITE | WORKFLOWS["--github"]) - {".dlbench/.gitignore"}


def test_a_file_that_exists_is_kept_and_named(repository, capsys):
    Path("bench").mkdir()
    Path("bench/conftest.py").write_text("# mine\n")
    assert main(["init"]) == 1
    assert Path("bench/conftest.py").read_text() == "# mine\n"
    assert "kept, because it exists: bench/conftest.py; --overwrite replaces it" in capsys.readouterr().out
    assert Path("bench/test_training.py").exists()


def test_a_file_that_exists_is_replaced_when_that_is_asked_for(repository):
    main(["init"])
    Path("bench/conftest.py").write_text("# mine\n")
    assert main(["init", "--overwrite"]) == 0
    assert "def framework" in Path("bench/conftest.py").read_text()


def test_an_existing_gitlab_file_is_kept_with_what_to_add(repository, capsys):
    Path(".gitlab-ci.yml").write_text("stages: [test]\n")
    assert main(["init", "--gitlab"]) == 1
    assert Path(".gitlab-ci.yml").read_text() == "stages: [test]\n"
    assert "add to .gitlab-ci.yml: include: [{local: .gitlab/benchmarks.yml}]" in capsys.readouterr().out


def test_a_file_in_place_of_the_folder_is_named_with_what_to_do(repository, capsys):
    Path("bench").touch()
    assert main(["init"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("dlbench: bench/conftest.py cannot be written (")
    assert "a file is where a folder should be" in said


def test_a_read_only_folder_is_named_with_what_to_do(repository):
    Path("bench").mkdir(mode=0o500)
    command = disks.where_read_only_counts(sys.executable, "-m", "pytest_dlbench", "init")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("dlbench: bench/conftest.py cannot be written (Permission denied): make the place")


@pytest.mark.parametrize("service", WORKFLOWS)
def test_a_workflow_is_written_without_a_suite(repository, service):
    assert main(["init", service, "--workflow-only"]) == 0
    assert written(repository) == WORKFLOWS[service] | {".dlbench/.gitignore"}


def test_a_workflow_alone_needs_a_service(repository, capsys):
    assert main(["init", "--workflow-only"]) == 2
    assert "name its service, --github or --gitlab" in capsys.readouterr().err
    assert written(repository) == set()


def test_the_loop_is_in_numpy_where_pytorch_is_not_installed(repository, monkeypatch, capsys):
    assert main(["init"]) == 0
    assert "import torch" in Path("bench/loop.py").read_text()
    assert 'pip install "pytest-dlbench[pytorch]"' not in capsys.readouterr().out
    monkeypatch.setattr(init, "find_spec", lambda _: None)
    assert main(["init", "--overwrite"]) == 0
    assert "torch" not in Path("bench/loop.py").read_text()
    assert 'pip install "pytest-dlbench[pytorch]"' in capsys.readouterr().out


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Where the commands of a workflow run as on the service; returns how to run one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    def run(script):
        return subprocess.run(["bash", "-ec", script], capture_output=True, text=True, check=False)

    return run


def written_in_numpy(folder, service, monkeypatch):
    """What ``dlbench init`` writes there, by name. Without PyTorch, whose import takes most of a short run."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(init, "find_spec", lambda _: None)
    main(["init", service])
    return {name: fewer_steps(folder / name) for name in written(folder)}


def fewer_steps(file):
    """The text of a file, with fewer steps, which learn less; nothing here depends on how many there are."""
    return file.read_text().replace("steps=500", "steps=100").replace("accuracy=0.8", "accuracy=0.5")


def pull(folder, base, head, monkeypatch):
    """A pull request as a service checks it out: GitHub the merge into its base, GitLab the branch."""
    ours = create(folder / "ours")
    first = commit(ours, "The base", base)
    git(ours, "switch", "--quiet", "-c", "feature")
    commit(ours, "The change", head)
    git(ours, "switch", "--quiet", "main")
    git(ours, "merge", "--quiet", "--no-ff", "-m", "Merge it", "feature")
    git(folder, "clone", "--quiet", f"file://{ours}", "clone")
    monkeypatch.chdir(folder / "clone")
    monkeypatch.setenv("CI_MERGE_REQUEST_DIFF_BASE_SHA", first)


def test_both_services_run_the_same_commands(repository):
    for service in WORKFLOWS:
        main(["init", service])
    gates, measures = ([scripts(service, job) for service in WORKFLOWS] for job in ("gate", "history"))
    # GitHub checks out the merge, whose first parent is the base, and makes an annotation of "::notice::".
    names = {"HEAD^1": "$CI_MERGE_REQUEST_DIFF_BASE_SHA", "::notice::": "", "pull request": "merge request"}
    github, gitlab = ([" ".join(script.replace('"', "").split()) for script in gate] for gate in gates)
    for ours, theirs in names.items():
        github = [script.replace(ours, theirs) for script in github]
    assert github == gitlab
    assert len({tuple(" ".join(script.split()) for script in measure) for measure in measures}) == 1


# What follows takes minutes if both services do it.


def test_the_workflow_fails_a_pull_request_that_makes_the_loop_slower(tmp_path, shell, monkeypatch):
    service = "--gitlab"
    suite = written_in_numpy(tmp_path / "made", service, monkeypatch)
    loop = suite["bench/loop.py"]
    slower = loop.replace(
        " " * 8 + "return loss", " " * 8 + "np.sort(random.normal(size=300_000))\n        return loss"
    )
    assert slower != loop
    pull(tmp_path, suite, {"bench/loop.py": slower}, monkeypatch)
    install, compare = scripts(service, "gate")
    assert install.startswith("pip install ")
    done = shell(compare)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "regressed: program-current@HEAD-bench.loop-digits28-cpu-batch_size256" in done.stdout
    assert "file bench/loop.py" in done.stdout
    # A network of this package is the same in both revisions.
    assert "1 failed, 1 skipped" in done.stdout
    assert "::error file=bench/test_loop.py" in done.stdout
    assert "regressed" in (tmp_path / "summary.md").read_text()
    assert {path.name for path in Path("result").iterdir()} == {"report.html", "session.json", "junit.xml"}


@pytest.mark.parametrize("service", WORKFLOWS)
def test_the_workflow_passes_the_pull_request_that_adds_the_suite(tmp_path, shell, monkeypatch, service):
    suite = written_in_numpy(tmp_path / "made", service, monkeypatch)
    pull(tmp_path, {"README": "ours\n"}, suite, monkeypatch)
    _, compare = scripts(service, "gate")
    done = shell(compare)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The base has no folder bench" in done.stdout


def test_the_workflow_adds_what_the_main_branch_measures_to_its_history(repository, shell, monkeypatch):
    monkeypatch.setattr(init, "find_spec", lambda _: None)
    main(["init", "--github"])
    test = Path("bench/test_loop.py")
    test.write_text(fewer_steps(test))
    _, measure = scripts("--github", "history")
    # The networks of the suite take PyTorch: "a newcomer's first commands" in CI trains them by the same command.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k test_loop --dlbench-threads=1")
    done = shell(measure)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(Path("history").rglob("*.parquet"))) == 1


# A suite with a builder of its own, in which the pull request makes steps slower.
OWN = """
from pathlib import Path
import pytest
from pytest_dlbench.environments import Framework
from tests.doubles.versioned import MODEL

def pytest_dlbench_frameworks():
    return [Framework(name="ours", builder="our_builder", folders=(Path({builders!r}), Path(__file__).parent))]

def pytest_dlbench_models():
    return [MODEL]

@pytest.fixture(params=["ours"])
def framework(request):
    return request.param

@pytest.fixture(params=["versioned-softmax"])
def model(request):
    return request.param

@pytest.fixture(params=["digits"])
def dataset(request):
    return request.param

@pytest.fixture(params=["cpu"])
def device(request):
    return request.param
"""
TRAINING = """
def test_training(dlbench, framework, model, dataset, device):
    dlbench.train(framework, model, dataset, device)
"""


@pytest.fixture
def pull_request(tmp_path, monkeypatch):
    """What a service checks out: GitHub the merge of a pull request into its base, without older commits."""
    folder, builders = create(tmp_path / "ours"), Path(__file__).parents[1] / "doubles" / "builders"
    double = "from {} import SUPPORTS, Trainer, configure, threads, versions\n"
    files = {
        "bench/conftest.py": OWN.format(builders=str(builders)),
        "bench/test_training.py": TRAINING,
        "bench/our_builder.py": double.format("clocked"),
        "pytest.ini": "[pytest]\ndlbench_scale = smoke\ndlbench_tolerance = step_time:40%,peak_rss:20%\n",
    }
    commit(folder, "Older", {})
    base = commit(folder, "Add a suite", files)
    git(folder, "switch", "--quiet", "-c", "feature")
    commit(folder, "Slow down", {"bench/our_builder.py": double.format("slowed")})
    git(folder, "switch", "--quiet", "main")
    git(folder, "merge", "--quiet", "--no-ff", "-m", "Merge it", "feature")
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{folder}", "clone")
    monkeypatch.chdir(tmp_path / "clone")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI_MERGE_REQUEST_DIFF_BASE_SHA", base)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_the_workflow_gates_a_suite_with_a_builder_of_its_own(pull_request):
    main(["init", "--github", "--workflow-only"])
    _, compare = scripts("--github", "gate")
    done = subprocess.run(["bash", "-ec", compare], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "regressed: training-ours@HEAD-versioned-softmax-digits-cpu-smoke" in done.stdout
    assert "Add a suite" in (pull_request / "summary.md").read_text()
    assert {path.name for path in Path("result").iterdir()} == {"report.html", "session.json", "junit.xml"}


@pytest.mark.parametrize("service", WORKFLOWS)
def test_the_commands_of_the_workflow_find_the_suite(repository, service):
    main(["init", service])
    # CI installs the built package, and trains by the same commands: "a newcomer's first commands".
    run = [line for line in scripts(service, "history") if not line.startswith("pip install ")]
    assert [line.split()[0] for line in run] == ["pytest"]
    environment = {**os.environ, "PYTEST_ADDOPTS": "--collect-only -q", "TMPDIR": str(repository)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        environment.pop(name, None)
    done = subprocess.run(["bash", "-ec", *run], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_training[pytorch-gatech-lenet-digits28-cpu]" in done.stdout
    assert "test_loop[pytorch]" in done.stdout


@pytest.mark.parametrize("service", WORKFLOWS)
def test_every_option_in_a_workflow_is_one_of_ours(repository, service):
    main(["init", service])
    every = [*scripts(service, "gate"), *scripts(service, "history")]
    named = set(re.findall(r"--dlbench-[a-z-]+", "\n".join(every)))
    assert named <= {option.flag for option in OPTIONS}
    assert "--dlbench-compare" in named
