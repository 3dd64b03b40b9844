"""``dlbench doctor``, as a user calls it."""

import json

import pytest

from pytest_dlbench.cli.main import main


def test_each_condition_is_a_line_followed_by_its_advice(capsys):
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("load: " in line for line in lines)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        assert line.startswith("! ") == following.startswith("    ")


def test_programs_that_frameworks_lack_are_listed_with_what_brings_them(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("! tinygrad cannot run: a program is missing")
    assert "clang, which compiles its kernels, is not on PATH (Debian and Ubuntu: apt install clang" in lines[place + 1]
    assert "! theano cannot run: a program is missing" in lines


def test_conditions_are_printed_as_json(capsys):
    assert main(["doctor", "--json"]) == 0
    topics = [finding["topic"] for finding in json.loads(capsys.readouterr().out)]
    assert {"load", "cores", "SMT", "energy counters"} <= set(topics)


@pytest.mark.parametrize("more", [[], ["--framework", "jax", "--pairs", "300"]])
def test_the_removed_option_names_the_benchmark_that_replaces_it(capsys, more):
    with pytest.raises(SystemExit, match="2"):
        main(["doctor", "--observer", *more])
    assert "tests/perf/bench_sampling.py" in capsys.readouterr().err
