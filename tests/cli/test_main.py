"""The ``dlbench`` command, as a user calls it."""

import errno
import subprocess
import sys
from importlib.metadata import version

import pytest

from pytest_dlbench.cli import doctor
from pytest_dlbench.cli.main import main


@pytest.mark.parametrize(
    ("removed", "new"),
    [
        (["list"], "dlbench list is now: dlbench runs list"),
        (["show", "lenet"], "dlbench show is now: dlbench runs show"),
        (["show", "lenet", "--native", "jax"], "dlbench models NAME --native FRAMEWORK"),
        (["table", ".dlbench"], "dlbench table is now: dlbench runs table"),
        (["journal", "a.jsonl"], "dlbench journal is now: dlbench runs journal"),
        (["layers", "lenet"], "dlbench layers is now: dlbench models NAME"),
    ],
)
def test_a_removed_command_names_its_replacement(removed, new, capsys):
    assert main(removed) == 2
    assert new in capsys.readouterr().err


def message_of(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["modles"], "unknown 'modles'; did you mean 'models'? known: init, models, env, data, "),
        (["env", "biuld"], "unknown 'biuld'; did you mean 'build'? known: "),
        (["xyzzy"], "unknown 'xyzzy'; known: init, models, "),
        (["models", "--jsno"], "dlbench models: error: unknown option --jsno; did you mean --json?"),
        (["models", "--natvie=jax"], "unknown option --natvie; did you mean --native?"),
        (["--verzion", "models"], "unknown option --verzion; did you mean --version?"),
    ],
)
def test_an_unknown_command_or_option_is_answered_with_the_nearest(arguments, message, capsys):
    assert message in message_of(arguments, capsys)


def test_the_version_is_that_of_the_distribution(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"pytest-dlbench {version('pytest-dlbench')}\n"


def test_the_command_runs_without_loading_pytest():
    check = "import sys; from pytest_dlbench.cli.main import main; main(['models']); sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False, stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize(("given", "listed"), [([], "    doctor "), (["env"], "    build ")])
def test_without_a_command_the_help_is_printed(capsys, given, listed):
    with pytest.raises(SystemExit) as ended:
        main(given)
    found = capsys.readouterr()
    assert ended.value.code == 2
    assert listed in found.err
    assert "the following arguments are required" in found.err.splitlines()[-1]


def test_an_error_names_the_command_once(capsys):
    assert main(["models", "lenet-5"]) == 2
    assert capsys.readouterr().err.startswith("dlbench models: unknown model 'lenet-5'\n")


def test_an_interpreter_runs_the_command_as_a_module():
    shown = subprocess.run(
        [sys.executable, "-m", "pytest_dlbench", "--version"], capture_output=True, text=True, check=True
    )
    assert version("pytest-dlbench") in shown.stdout
    wrong = subprocess.run(
        [sys.executable, "-m", "pytest_dlbench", "modles"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "did you mean 'models'?" in wrong.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a\n/b"), r"a\n/b: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device: free space"),
        (ConnectionError("nobody there"), "nobody there"),
        (TimeoutError(), "TimeoutError"),
    ],
    ids=["file", "full", "text", "nothing"],
)
def test_an_error_of_the_system_is_named_without_a_traceback(error, said, capsys, monkeypatch):
    def fail(_):
        raise error

    monkeypatch.setattr(doctor, "_doctor", fail)
    assert main(["doctor"]) == 2
    assert capsys.readouterr().err.startswith(f"dlbench: {said}")


def test_a_reader_who_leaves_is_no_error():
    code = "import sys; from pytest_dlbench.cli.main import main; sys.exit(main(['models', '--json']))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    # Python itself may say so when it ends.
    assert b"Traceback" not in said.partition(b"Exception ignored")[0]
    assert b"dlbench:" not in said
