"""``dlbench doctor``, as a user calls it."""

import json
import os
from pathlib import Path

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, SoftmaxCrossEntropy
from pytest_dlbench.options import settings
from pytest_dlbench.workflows import waiting
from tests.running.test_hosts import Engine, Pipes


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
    place = lines.index("! several workers of chainer cannot run: a program is missing")
    assert "mpiexec, which starts the processes of MPI, is not on PATH" in lines[place + 1]


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


def on_cluster(monkeypatch, *arguments, cores):
    """The exit status of ``dlbench doctor --on srun`` with hosts of these cores."""
    monkeypatch.setattr(settings, "engine", lambda _: Engine(*[Pipes] * len(cores), cores=cores))
    return main(["doctor", "--on", "srun", *arguments])


def test_the_hosts_of_a_cluster_are_named_with_what_spoils_measurements_on_each(capsys, monkeypatch):
    usable = frozenset(os.sched_getaffinity(0))
    assert on_cluster(monkeypatch, cores=(usable, usable, frozenset({min(usable)}))) == 0
    lines = capsys.readouterr().out.splitlines()
    places = [lines.index(f"host{number}:") for number in (1, 2, 3)]
    assert [lines[place + 1][0] for place in places] == [" ", " ", "!"]
    assert "machine class: " in lines[places[0] + 1]
    assert "a session needs hosts of one class" in lines[places[2] + 2]
    assert sum("  load: " in line or "! load: " in line for line in lines) == len(places)


def test_the_conditions_of_hosts_are_json_with_the_name_of_each(capsys, monkeypatch):
    assert on_cluster(monkeypatch, "--json", cores=(frozenset(os.sched_getaffinity(0)),) * 2) == 0
    found = json.loads(capsys.readouterr().out)
    for host in ("host1", "host2"):
        topics = {finding["topic"] for finding in found if finding["host"] == host}
        assert {"machine class", "load", "cores", "SMT"} <= topics


def test_waiting_is_not_measured_on_a_cluster(capsys):
    assert main(["doctor", "--on", "srun", "--waiting"]) == 2
    assert "--waiting measures on this machine" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--framework", "jax", "--pairs", "300"]])
def test_the_removed_option_names_the_benchmark_that_replaces_it(capsys, more):
    with pytest.raises(SystemExit, match="2"):
        main(["doctor", "--observer", *more])
    assert "tests/perf/bench_sampling.py" in capsys.readouterr().err
