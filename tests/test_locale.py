"""Every file is opened with its encoding, and every command and report works where the locale has only ASCII."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.errors import DlbenchError
from tests.doubles import sessions

PACKAGE = Path(__file__).parents[1] / "pytest_dlbench"
ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
OPENERS = ("open", "read_text", "write_text")


def calls(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def called(node):
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_unspecified(node):
    """Whether a call opens text in the encoding of the locale."""
    names, values = {keyword.arg for keyword in node.keywords}, [ast.unparse(argument) for argument in node.args]
    owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if called(node) in ("run", "Popen", "check_output"):
        return "text" in names and "encoding" not in names
    if called(node) not in OPENERS or "encoding" in names or owner in ("os", "tarfile", "Image", "zipped", "tar"):
        return False
    if called(node) == "open":
        # Binary modes, and gzip's default.
        return not any("b'" in value or "b" in value.strip("'") for value in values[-1:] if "'" in value) and (
            owner != "gzip" or any("t" in value for value in values[1:])
        )
    return not any("utf-8" in value for value in values)


@pytest.mark.parametrize("folder", [path for path in PACKAGE.iterdir() if path.is_dir()], ids=lambda path: path.name)
def test_every_text_file_is_opened_with_its_encoding(folder):
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted(folder.rglob("*.py"))
        for node in calls(ast.parse(path.read_text("utf-8")))
        if is_unspecified(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.open()", True),
        ("path.open('w')", True),
        ("path.open('rb')", False),
        ("open(path, encoding='utf-8')", False),
        ("gzip.open(path)", False),
        ("gzip.open(path, 'rt')", True),
        ("subprocess.run(command, text=True)", True),
    ],
)
def test_the_check_knows_what_is_unspecified(code, expected):
    (node, *_) = calls(ast.parse(code))
    assert is_unspecified(node) is expected


def dlbench(*arguments, cwd):
    """A command in a fresh process whose locale has only ASCII."""
    return subprocess.run(
        [str(Path(sys.executable).parent / "dlbench"), *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **ASCII},
        capture_output=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    sessions.write(folder / ".dlbench", "a", message="größer → 5 µs")
    sessions.write(folder / ".dlbench", "b")
    return folder


COMMANDS = {
    "models": ("models",),
    "a model": ("models", "tartu-mnist-cnn"),
    "environments": ("env", "list"),
    "data": ("data", "list"),
    "doctor": ("doctor", "--help"),
    "runs list": ("runs", "list"),
    "runs show": ("runs", "show", "pytorch"),
    "runs table": ("runs", "table", ".dlbench"),
    "runs journal": ("runs", "journal"),
    "compare": ("compare",),
    "export csv": ("export", "csv", ".dlbench"),
    "export json": ("export", "json", ".dlbench"),
    "export mllog": ("export", "mllog", ".dlbench"),
    "schema": ("export", "schema"),
    "report": ("report", ".dlbench", "--no-pictures"),
    "history": ("history", "--history", "h", "--add", ".dlbench"),
    "baseline": ("baseline", "accept", ".dlbench", "--reason", "first"),
    "published": ("published", "--help"),
    "calibrate": ("calibrate", "--help"),
    "bump": ("bump", "--help"),
    "bisect": ("bisect", "--help"),
    "completion": ("completion", "bash"),
    "help": ("--help",),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_every_command_works_in_ascii(folder, arguments):
    journals = sorted((folder / ".dlbench").glob("*.jsonl"))
    more = {("compare",): journals, ("runs", "journal"): journals}.get(arguments, ())
    done = dlbench(*arguments, *more, cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    assert b"Traceback" not in done.stderr
    if arguments[0] != "export":
        done.stdout.decode("ascii")


def test_signs_that_ascii_lacks_are_replaced_by_readable_ones(folder):
    done = dlbench("compare", *sorted((folder / ".dlbench").glob("*.jsonl")), cwd=folder)
    assert b" -> " in done.stdout


def test_json_on_standard_output_keeps_every_character(folder):
    done = dlbench("runs", "show", "pytorch", "--json", cwd=folder)
    assert "größer → 5 µs" in {case["result"]["message"] for case in json.loads(done.stdout)}


@pytest.mark.parametrize(
    "source",
    ["SUPPORTS = set(NAMES)", "SUPPORTS = {'dense'} | OTHERS", "def SUPPORTS(): pass", "SUPPORTS = make()"],
)
def test_supports_that_are_computed_are_not_known(tmp_path, source):
    (tmp_path / "mine.py").write_text(source)
    assert supports(Framework(name="mine", builder="mine", folders=(tmp_path,))) in (None, frozenset())


@pytest.mark.parametrize("source", [b"SUPPORTS = {", b"SUPPORTS = {'a', \xff}", b"SUPPORTS = " + b"(" * 5000, b"\0"])
def test_a_builder_that_is_not_python_is_an_error_with_its_file(tmp_path, source):
    (tmp_path / "mine.py").write_bytes(source)
    with pytest.raises(DlbenchError, match=r"mine\.py.*: this builder is not Python that can be read"):
        supports(Framework(name="mine", builder="mine", folders=(tmp_path,)))
