"""The help of the ``dlbench`` command."""

import argparse
import json
import re
import shlex
import subprocess

import pytest

from pytest_dlbench.cli.main import main, parser


def commands(of, path=()):
    """Every command without subcommands, by its words."""
    found = {}
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                found |= commands(child, (*path, name))
    return found or {path: of}


COMMANDS = commands(parser())
# They print a file in another program's format.
WITHOUT_JSON = {("export",), ("completion",)}
every_command = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


@every_command
def test_every_command_has_help(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    assert " ".join(("usage: dlbench", *words)) in capsys.readouterr().out


@every_command
def test_help_has_examples_that_can_be_parsed(words):
    examples = re.findall(r"^  dlbench (.*)$", COMMANDS[words].epilog, re.MULTILINE)
    assert examples
    for example in examples:
        command = re.split(r"  +|\||>", example)[0].replace("'", "").replace("PyTorch 2.13", "why")
        assert parser().parse_args(shlex.split(command)).run


@every_command
def test_help_documents_the_exit_status(words):
    assert "exit status: 0 " in COMMANDS[words].epilog


@every_command
def test_every_command_has_json_output(words):
    assert words in WITHOUT_JSON or "--json" in COMMANDS[words].format_help()


def test_the_main_help_documents_every_exit_status(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert re.findall(r"^  (\d)    ", capsys.readouterr().out, re.MULTILINE) == ["0", "1", "2", "3"]


ANSWERS = ("models", "models gatech-lenet", "env list", "env libraries", "env where", "data list", "published hkbu")


@pytest.mark.parametrize("call", ANSWERS)
def test_json_output_is_one_document(call, capsys):
    assert main([*call.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_completion_script_names_every_command(shell, capsys):
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert all(words[0] in out for words in COMMANDS)


@pytest.mark.parametrize(
    ("words", "place", "completed"), [("hist", 1, "history"), ("run", 1, "runs"), ("runs jo", 2, "journal")]
)
def test_bash_completes_a_command(words, place, completed, capsys, tmp_path):
    main(["completion", "bash"])
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)
    ask = f'source {script}; COMP_WORDS=(dlbench {words}); COMP_CWORD={place}; _shtab_dlbench; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [completed]
