"""What the ``dlbench`` command teaches of itself."""

import argparse
import re
import shlex
import subprocess

import pytest

from pytest_dlbench.cli import main, parser


def commands(of, path=()):
    """Every command that does something, by its words."""
    found = {}
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                found |= commands(child, (*path, name))
    return found or {path: of}


COMMANDS = commands(parser())
RECORDS = {"list", "show", "compare", "history", "export", "baseline", "bump", "bisect", "calibrate"}
every_command = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
record_commands = pytest.mark.parametrize("words", [w for w in COMMANDS if w[0] in RECORDS], ids=" ".join)


@every_command
def test_every_command_can_be_asked_for_help(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    assert " ".join(("usage: dlbench", *words)) in capsys.readouterr().out


@record_commands
def test_help_on_records_has_examples_that_can_be_read(words):
    examples = re.findall(r"^  dlbench (.*)$", COMMANDS[words].epilog, re.MULTILINE)
    assert examples
    for example in examples:
        command = re.split(r"  +|\|", example)[0].replace("'", "").replace("PyTorch 2.13", "why")
        assert parser().parse_args(shlex.split(command)).run


@record_commands
def test_help_on_records_documents_the_exit_status(words):
    assert "exit status: 0 " in COMMANDS[words].epilog


@record_commands
def test_every_command_on_records_answers_in_json(words):
    # An export is a file of its own format.
    assert words == ("export",) or "--json" in COMMANDS[words].format_help()


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_completion_names_every_command(shell, capsys):
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert all(words[0] in out for words in COMMANDS)


def test_bash_completes_a_command(capsys, tmp_path):
    main(["completion", "bash"])
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)
    ask = f'source {script}; COMP_WORDS=(dlbench hist); COMP_CWORD=1; _shtab_dlbench; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["history"]
