"""Keys: a change invalidates what depends on it, and nothing else."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from tests.ci.conftest import NAMES, ROOT

sys.path.insert(0, str(ROOT / ".ci"))
import contents

WORKER = "pytest_dlbench/worker/dlworker"
DECLARED, KNOWN = (f"pytest_dlbench/environments/{name}.py" for name in ("declared", "known"))
ALL, NONE = frozenset(NAMES), frozenset()
EVERY = frozenset(contents.SWEEPS)
TESTS = EVERY - {"equivalence", "side-by-side", "zoo", "programs", "workers", "engines", "findings"}
AGREES = "tests/worker/test_vocabulary_agrees.py"
# Tests that train the network of test_mixed_precision.py.
WITH_ITS_NETWORK = {"precision", "execution", "libraries", "opencl"}
ON_TORCH = {"pytorch", "pytorch-compile", "keras-torch"}
CHAINER_S_ROW = ("| `chainer` | chainer==", "| `chainer` | no chainer==")


def builder(framework: str) -> str:
    """The file of a builder's module, or of its package."""
    file = ROOT.joinpath("pytest_dlbench/worker", *FRAMEWORKS[framework].builder.split("."))
    return str((file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).relative_to(ROOT))


# The file, the replaced text and its replacement; the frameworks and sweeps whose key changes.
CHANGES = {
    "a builder with a variant": (builder("mxnet"), "", "", {"mxnet", "mxnet-imperative"}, EVERY),
    "a variant": (builder("mxnet-imperative"), "", "", {"mxnet", "mxnet-imperative"}, EVERY),
    "a builder with a variant that Keras takes": (builder("pytorch"), "", "", ON_TORCH, EVERY),
    "a builder that others depend on": (builder("theano"), "", "", {"theano", "lasagne", "keras2-theano"}, EVERY),
    "a builder that depends on another": (builder("lasagne"), "", "", {"lasagne"}, EVERY),
    "a builder of several back ends": (builder("keras2-theano"), "", "", {"keras2-tensorflow", "keras2-theano"}, EVERY),
    "the training loop of all builders": (f"{WORKER}/training.py", "", "", ALL, EVERY),
    "a pin": (DECLARED, "chainer==7.8.1", "chainer==7.8.0", {"chainer"}, EVERY),
    "a pin of two environments": (DECLARED, "jax==0.10.2", "jax==0.10.1", {"jax", "keras-jax"}, EVERY),
    "a pin of two environments and a variant": (DECLARED, "torch==2.13.0", "torch==2.12.0", ON_TORCH, EVERY),
    "what a framework needs": (KNOWN, "cntk>=2.7", "cntk>=2.8", {"cntk"}, EVERY),
    "a layer": ("pytest_dlbench/model/layers/dense.py", "", "", ALL, EVERY),
    "golden losses of LeNet": ("bench/fixtures/golden/gatech-lenet-*.json", "", "", ALL, {"equivalence", "bounds"}),
    "golden losses that full runs read": ("bench/fixtures/golden/hkbu-fcn-r-*.json", "", "", NONE, NONE),
    "the zoo": ("pytest_dlbench/zoo/gatech.py", "", "", ALL, {"equivalence", "bounds", "side-by-side", "zoo"}),
    "a test": ("tests/worker/test_mixed_precision.py", "", "", ALL, WITH_ITS_NETWORK),
    "a test that others import": (AGREES, "", "", ALL, {"vocabulary"} | WITH_ITS_NETWORK),
    "a bound": ("bench/test_equivalence.py", "", "", ALL, {"equivalence", "bounds"}),
    "how tests start workers": ("tests/worker/sessions.py", "", "", ALL, TESTS),
    "a program of tests": ("tests/running/test_programs.py", "", "", ALL, {"programs"}),
    "a fault of several workers": ("tests/doubles/builders/faulty_workers/parallel.py", "", "", ALL, {"workers"}),
    "how several workers start": ("pytest_dlbench/running/group.py", "", "", ALL, {"workers"}),
    "a fault that was found": ("bench/findings/jax_sums.py", "", "", ALL, {"findings"}),
    "a double that tests train": (
        "tests/doubles/builders/numpy_softmax.py",
        "",
        "",
        ALL,
        TESTS - {"breakdown", "checkpoints", "detectors", "loaders", "operators"},
    ),
    "a detector with planted faults": ("tests/doubles/builders/faulty_detector.py", "", "", ALL, {"detectors"}),
    "a fixture": ("bench/fixtures/framework.py", "", "", ALL, {"equivalence", "bounds", "side-by-side", "zoo"}),
    "a conftest": ("conftest.py", "", "", ALL, EVERY),
    "a framework's row in the documentation": ("docs/reference/frameworks.md", *CHAINER_S_ROW, {"chainer"}, {"table"}),
    "the rest of the documentation": ("docs/index.md", "", "", NONE, NONE),
    "the driver, which PyTorch and JAX run": ("pytest_dlbench/judging/intervals.py", "", "", NONE, NONE),
    "a test of the driver": ("tests/judging/test_intervals.py", "", "", NONE, NONE),
}


def trains(sweep, framework):
    return framework in (contents.SWEEPS[sweep].frameworks or NAMES)


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_invalidates_only_what_depends_on_it(unstamped, usual_keys, what):
    pattern, old, new, frameworks, sweeps = CHANGES[what]
    with unstamped.changed(pattern, old, new):
        keys = unstamped.keys()
    # Pages of a newcomer need all of the package.
    changed = {(sweep, name) for sweep in EVERY for name in keys[sweep] if keys[sweep][name] != usual_keys[sweep][name]}
    assert changed == {(sweep, name) for sweep in sweeps for name in frameworks if trains(sweep, name)}


@pytest.mark.parametrize("part", ["processor", "platform.python_version", "installed"])
def test_another_machine_or_installation_has_another_key(monkeypatch, part):
    # Each sweep trains one of them.
    before = contents.keys(contents.about(names := ["jax", "keras-tensorflow", "pytorch", "tinygrad"]))
    monkeypatch.setattr(f"contents.{part}", lambda *_: ["another"])
    after = contents.keys(contents.about(names))
    assert all(before[sweep] != after[sweep] for sweep in EVERY)


def test_a_key_includes_all_packages_and_the_python_of_an_environment(tmp_path):
    place = contents.Place(python=tmp_path / "bin/python", environment="chainer-1", caches=tmp_path)
    packages = tmp_path / "lib/python3.11/site-packages"
    (packages / "chainer-7.8.1.dist-info").mkdir(parents=True)
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion_info = 3.11.9\n")
    assert contents.installed(FRAMEWORKS["chainer"], place) == ["version_info = 3.11.9", "chainer-7.8.1.dist-info"]


def test_a_builder_depends_on_every_builder_that_it_imports():
    allowed, imported = defaultdict(set), defaultdict(set)
    for framework in filter(lambda framework: framework.builder, FRAMEWORKS.values()):
        own = contents.family(framework.builder)
        allowed[own] |= contents.families(framework)
        for file in contents.worker_files(framework):
            imported[contents.folder_of(file)] |= set(builders_imported(file))
    assert {own for own in allowed if imported[own] - allowed[own]} == set()
    assert imported["lasagne"] >= {"theano"}


def builders_imported(file: Path) -> Iterator[str]:
    """Folders of imported builders, by absolute or relative names."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            name = f"{'dlworker.frameworks.' * (node.level == 2)}{node.module or ''}".rstrip(".")
            for module in (f"{name}.{alias.name}" for alias in node.names):
                if module.startswith("dlworker.frameworks."):
                    yield contents.family(module)
