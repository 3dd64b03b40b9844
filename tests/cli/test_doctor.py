"""``dlbench doctor``, as a user calls it."""

import json
from pathlib import Path

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, SoftmaxCrossEntropy
from pytest_dlbench.workflows import waiting


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


FRAMEWORKS = """
from pathlib import Path
from pytest_dlbench.environments import Framework

def pytest_dlbench_frameworks():
    folders = (Path({folder!r}),)
    return [Framework(name=name, builder=name, folders=folders) for name in ("numpy_softmax", "spins")]
"""


def test_frameworks_whose_idle_threads_compute_cannot_alternate(capsys, tmp_path, monkeypatch):
    builders = Path(__file__).parents[1] / "doubles" / "builders"
    # All that the doubles can build.
    head, recipe = SoftmaxCrossEntropy(classes=10), Recipe(batch_size=32, epochs=1, optimizer=SGD(0.1))
    layers = (Flatten(), Dense(10))
    model = Model(name="flat", family="fcn", input_shape=(1, 28, 28), head=head, recipe=recipe, layers=layers)
    monkeypatch.setattr(waiting, "MODELS", {waiting.MODEL: model})
    (tmp_path / "doubles_to_wait.py").write_text(FRAMEWORKS.format(folder=str(builders)))
    monkeypatch.chdir(tmp_path)
    arguments = ["--waiting", "-p", "doubles_to_wait", "--frameworks", "numpy_softmax,spins", "--threads", "1"]
    assert main(["doctor", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  numpy_softmax, while its worker waits: 0.0") for line in lines)
    assert any(line.startswith("! spins, while its worker waits: ") for line in lines)


def test_conditions_are_printed_as_json(capsys):
    assert main(["doctor", "--json"]) == 0
    topics = [finding["topic"] for finding in json.loads(capsys.readouterr().out)]
    assert {"load", "cores", "SMT", "energy counters"} <= set(topics)


@pytest.mark.parametrize("more", [[], ["--framework", "jax", "--pairs", "300"]])
def test_the_removed_option_names_the_benchmark_that_replaces_it(capsys, more):
    with pytest.raises(SystemExit, match="2"):
        main(["doctor", "--observer", *more])
    assert "tests/perf/bench_sampling.py" in capsys.readouterr().err
