"""The ``dlbench`` command, as a user calls it."""

import subprocess
import sys

import pytest

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


def test_the_command_runs_without_loading_pytest():
    check = "import sys; from pytest_dlbench.cli.main import main; main(['models']); sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False, stdout=subprocess.DEVNULL).returncode == 0
