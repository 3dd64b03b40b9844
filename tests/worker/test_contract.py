"""What the worker may import: it runs in environments with a framework and NumPy, but without this package."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.supports import source
from pytest_dlbench.running import launch, messages

WORKER = launch.WORKER_FOLDER / "dlworker"
BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
EVERYWHERE = {"dlworker", "numpy", *sys.stdlib_module_names}
# What else a builder may import: its frameworks' dependencies, by their import names.
IMPORTED_AS = {
    "paddlepaddle": "paddle",
    "paddlepaddle-gpu": "paddle",
    "tensorflow-cpu": "tensorflow",
    "theano-pymc": "theano",
}
# What workers of a framework exchange gradients by: of its own package, or of its environment.
EXCHANGING = {"chainer": {"chainermn", "mpi4py"}}


def modules_of(builder: str) -> set[str]:
    """The modules of their framework that the builders in a folder may import."""
    if builder == "caffe2":
        # It came with PyTorch, which it does not need.
        return {"caffe2"}
    frameworks = [framework for framework in FRAMEWORKS.values() if framework.builder.split(".")[2:3] == [builder]]
    needs = [each.strip() for framework in frameworks for need in framework.needs for each in need.split("|")]
    packages = {re.match(r"[\w.-]+", need)[0] for need in needs}
    return {IMPORTED_AS.get(package, package) for package in packages} | EXCHANGING.get(builder, set())


FRAMEWORK_MODULES = {file.parent.name: modules_of(file.parent.name) for file in WORKER.glob("frameworks/*/__init__.py")}


def imports(file: Path) -> Iterator[str]:
    """The top-level modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}:{node.lineno}: a relative import"
            yield node.module.partition(".")[0]


# What a program's callback is made of, if the program asks for it.
TRAINERS = {"keras", "lightning", "pytorch_lightning", "tensorflow", "transformers"}
# Of an engine of searches, which has its own environment.
ENGINES = {"autokeras_trials.py": {"autokeras", "keras", "keras_tuner", "tensorflow"}}
# What builders in several folders share: Pillow is in every environment; Keras on JAX has no optax for JAX's builder.
SHARED = {"images.py": {"PIL"}, "jax_workers.py": {"jax"}}


def names(files: list[Path]) -> list[str]:
    return [str(file.relative_to(WORKER)) for file in files]


def modules(file: Path) -> set[str]:
    """The modules of a framework, or of trainers, that a file of the worker may import."""
    if file == WORKER / "programs" / "callbacks.py":
        return TRAINERS
    if file.parent == WORKER / "engines":
        return ENGINES.get(file.name, set())
    if file.parent == WORKER:
        return SHARED.get(file.name, set())
    return FRAMEWORK_MODULES[file.parent.name] if file.parent.parent.name == "frameworks" else set()


FILES = sorted(WORKER.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_imports_the_standard_library_numpy_and_its_own_framework(file):
    assert set(imports(file)) <= EVERYWHERE | modules(file)


@pytest.mark.parametrize("file", sorted(BUILDERS.glob("*.py")), ids=lambda file: file.stem)
def test_the_doubles_keep_to_it_too(file):
    # A double's distribution is written by the experiment that installs it.
    others = {double.stem for double in BUILDERS.glob("*.py")} | {"a_framework_that_nobody_has", "planted_releases"}
    frameworks = set().union(*FRAMEWORK_MODULES.values())
    assert set(imports(file)) <= EVERYWHERE | others | frameworks


def bound(tree: ast.Module) -> set[str]:
    """The names that a module defines, assigns or imports at top level."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            found |= {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


FOLDERS = sorted(folder.parent for folder in WORKER.glob("frameworks/*/__init__.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_framework_is_a_folder_with_layers_and_optimizers_that_is_known(folder):
    assert {"__init__.py", "layers.py", "optimizers.py"} <= {file.name for file in folder.glob("*.py")}
    assert f"dlworker.frameworks.{folder.name}" in BUILT


BUILT = sorted({framework.builder for framework in FRAMEWORKS.values() if not framework.unsupported})


@pytest.mark.parametrize("builder", BUILT)
def test_every_framework_has_a_builder_with_the_whole_contract(builder):
    tree = ast.parse(source(builder, [WORKER.parent]).read_text())
    assert {"SUPPORTS", "configure", "threads", "versions", "Trainer"} <= bound(tree)
    (trainer,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Trainer")
    defined = [node for node in trainer.body if isinstance(node, ast.FunctionDef)]
    methods = {node.name: [argument.arg for argument in node.args.args] for node in defined}
    contract = {
        "__init__": ["self", "network", "recipe", "weights", "device", "seed"],
        "parameters": ["self"],
        "array": ["self", "name"],
        "describe": ["self"],
        "load": ["self", "inputs", "labels", "order", "rates"],
        "feed": ["self", "inputs", "labels"],
        "step": ["self", "number"],
        "outputs": ["self", "inputs", "batch_size"],
    }
    # A variant defines only what differs.
    expected = methods.keys() & contract.keys() if trainer.bases else contract.keys()
    assert {name: methods.get(name) for name in expected} == {name: contract[name] for name in expected}


def test_driver_and_worker_speak_one_version_of_the_protocol_and_know_the_same_operations():
    protocol = (WORKER / "protocol.py").read_text()
    (version,) = re.findall(r"^VERSION = (\d+)$", protocol, re.MULTILINE)
    assert int(version) == messages.PROTOCOL_VERSION
    for node in ast.parse((WORKER / "operations.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "OPERATIONS":
            assert {key.value for key in node.value.keys} == messages.ANSWERS.keys() | messages.OPERATOR_ANSWERS.keys()
            return
    pytest.fail("dlworker/operations.py has no table OPERATIONS")
