"""Files that are deeply nested, or well-typed and impossible: each reader names the file and the place, or copes."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.environments import locks
from pytest_dlbench.errors import DlbenchError, FileFormatError
from pytest_dlbench.records import codec
from pytest_dlbench.reporting.exports import FORMATS
from pytest_dlbench.storing import Damage, Entry, Journal, read_journal
from pytest_dlbench.storing.baselines import read_file
from pytest_dlbench.storing.pytest_benchmark import read_benchmarks
from pytest_dlbench.storing.recorded import read, read_document
from tests.doubles import records

BEFORE = Path(__file__).parent / "before"
DEEP = b"[" * 20_000
MUTATIONS = 400


# Deep nesting


@pytest.mark.parametrize("line", [DEEP, b'{"format":2,"recipe":' + DEEP, b'{"a":' * 200 + b"1" + b"}" * 200])
def test_a_deeply_nested_line_of_a_journal_damages_only_itself(tmp_path, line):
    journal = Journal(tmp_path)
    journal.append(Entry(run=records.run(1), context=records.context()))
    with journal.path.open("ab") as file:
        file.write(line + b"\n")
    journal.append(Entry(run=records.run(2), context=records.context()))
    first, damage, last = read_journal(journal.path)
    assert (first.run.seed, last.run.seed) == (1, 2)
    assert f"{journal.path}, line 2: nested more than 100 levels deep @ byte " in damage.message


@pytest.mark.parametrize("read_it", [read_document, read_file, read_benchmarks], ids=lambda reader: reader.__name__)
def test_a_deeply_nested_file_is_an_error_with_its_name_and_place(tmp_path, read_it):
    path = tmp_path / "deep.json"
    path.write_bytes(b'{"recipe": ' + DEEP)
    with pytest.raises(FileFormatError, match=r"deep\.json: nested more than 100 levels deep @ byte 111"):
        read_it(path)


def test_a_deeply_nested_lock_file_is_an_error_with_its_name(tmp_path):
    path = tmp_path / "pylock.toml"
    path.write_bytes(b"packages = " + DEEP)
    with pytest.raises(DlbenchError, match=r"pylock\.toml is nested too deeply"):
        locks.read(path, "here")


def test_brackets_in_text_are_not_nesting():
    text = codec.encode_line(records.run(message='"\\[{' * 1000))
    assert codec.decode(text, type(records.run()), "here").message == '"\\[{' * 1000


# Well-typed and impossible


def problem(run):
    entry = Entry(run=run, context=records.context())
    (found,) = _read_back(entry)
    assert isinstance(found, Damage)
    return found.message


def _read_back(entry, folder=Path("/dev/shm")):
    journal = Journal(folder, "odd")
    journal.append(entry)
    try:
        return list(read_journal(journal.path))
    finally:
        journal.path.unlink()


def _with_probes(seconds):
    run = records.operated()
    return replace(run, operation=replace(run.operation, probes=seconds))


ODD = {
    "no steps": (replace(records.run(), training=records.training(())), "$.run.training.step_seconds"),
    "no time": (replace(records.run(), training=records.training((0.0, 0.0))), "$.run.training.step_seconds"),
    "negative": (replace(records.run(), training=records.training((0.1, -0.1, 1.0))), "$.run.training.step_seconds"),
    "no phase": (replace(records.run(), usage={}), "$.run.usage"),
    "no wall": (replace(records.run(), usage={"train": records.usage(wall_seconds=0.0)}), "$.run.usage.train.wall_sec"),
    "no examples": (
        replace(records.run(), evaluation=replace(records.evaluation(), examples=0, correct=0)),
        "$.run.evaluation.examples",
    ),
    "too many correct": (
        replace(records.run(), evaluation=replace(records.evaluation(), correct=20_000)),
        "$.run.evaluation.correct",
    ),
    "no seconds of a probe": (_with_probes({}), "$.run.operation.probes"),
    "a probe without arithmetic": (_with_probes({"gemm": 0.04, "other": 0.04}), "$.run.operation.probes"),
    "no date": (replace(records.run(), began="yesterday"), "$.run.began"),
}


@pytest.mark.parametrize(("run", "place"), ODD.values(), ids=ODD)
def test_an_impossible_run_damages_its_line_and_the_place_is_named(run, place):
    assert f"@ {place}" in problem(run)


def test_an_impossible_run_of_a_document_is_an_error_with_the_place(tmp_path):
    content = json.loads((BEFORE / "document.json").read_text())
    content["cases"][1]["record"]["runs"][0]["began"] = "soon"
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=r"odd\.json: .* 'soon' @ \$\.cases\[1\]\.record\.runs\[0\]\.began"):
        read_document(path)


# Whatever is changed in a document, all readers answer with an error of their own, or correctly

ODD_VALUES = (0, -1, 1, 1e308, 1e-308, "", "x", None, [], {}, True, [0], "2026-13-01", 2**53)


def places(tree):
    """Each container of a document with each of its keys."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        found += [(node, key) for key in keys]
        waiting += [node[key] for key in keys if isinstance(node[key], dict | list)]
    return found


def mutated(text, random):
    """A document in which a few values are odd, or missing."""
    tree = json.loads(text)
    for _ in range(random.randint(1, 3)):
        node, key = random.choice(places(tree))
        if random.random() < 0.3:
            del node[key]
        else:
            node[key] = random.choice(ODD_VALUES)
    return json.dumps(tree).encode()


def answer_of_all_readers(path):
    """What every reader of documents makes of a file; raises whatever they raise."""
    found = read([path])
    for name, row in FORMATS.items():
        if name != "parquet":
            row.write(found.cases)
    for arguments in (["runs", "list"], ["runs", "table"], ["runs", "show", "-", "--records"]):
        assert main([*arguments, str(path)]) in (0, 1, 2)
    assert main(["compare", str(BEFORE / "document.json"), str(path)]) in (0, 1, 2, 3)


def problem_of_readers(path):
    """The message with which they refuse a file; empty if they read it."""
    try:
        answer_of_all_readers(path)
    except DlbenchError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("part", range(4))
def test_documents_with_odd_values_are_read_or_refused_by_all_readers(tmp_path, capsys, part):
    random, text = Random(part), (BEFORE / "document.json").read_text()
    path, refusals = tmp_path / "odd.json", []
    for number in range(MUTATIONS // 4):
        path.write_bytes(mutated(text, random))
        # What an exception that is no refusal came from.
        (tmp_path / f"last-{number % 2}.json").write_bytes(path.read_bytes())
        refusals.append(problem_of_readers(path))
    assert all("odd.json" in refusal for refusal in refusals if refusal)
    # Otherwise nothing but refusals would be tested.
    assert refusals.count("") > MUTATIONS // 40


def test_journals_with_odd_lines_are_read_around_them(tmp_path, capsys):
    random, lines = Random(5), (BEFORE / "journal.jsonl").read_bytes().splitlines()
    path = tmp_path / "odd.jsonl"
    for _ in range(60):
        place = random.randrange(len(lines))
        changed = (
            mutated(lines[place], random) if random.random() < 0.7 else random.choice((DEEP, b"\xff", b"{}", b"0"))
        )
        path.write_bytes(b"\n".join([*lines[:place], changed, *lines[place + 1 :], b""]))
        others = [entry for number, entry in enumerate(read_journal(path)) if number != place]
        assert len(others) == len(lines) - 1
        assert not any(isinstance(entry, Damage) for entry in others)
        for arguments in (["runs", "journal"], ["runs", "list"], ["runs", "table"], ["export", "csv"]):
            assert main([*arguments, str(path)]) in (0, 1)
