"""Everything that the outcome of a framework's tests depends on, as one key for each framework and sweep.

A sweep is a group of tests that trains every framework, or one of them with every network. Its key changes with the
worker, the framework's builder and pins, what is installed for it, the neutral models, the tests with everything they
import, and the processor.

The driver is not part of a key. For PyTorch and JAX, which stand for all there, stamps.py adds what the tests need of
it. Keys of the driver's own tests are in folders.py.
"""

import ast
import hashlib
import json
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Keys describe this tree, not a package that happens to be installed.
sys.path.insert(0, str(ROOT))

from pytest_dlbench.environments import FRAMEWORKS, Framework  # noqa: E402 - the path comes first
from pytest_dlbench.environments.placing import CURRENT, Place, Places  # noqa: E402

WORKER = ROOT / "pytest_dlbench" / "worker" / "dlworker"
DOUBLES = "tests.doubles.builders"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Tests that train every framework.

    ``tests`` are their files, ``data`` the patterns of other files that they read. ``reads_documentation`` says that
    they check a framework against its rows in the documentation's tables. ``frameworks`` are those that train, if not
    all do. ``reports`` are the parts of a run that count, by the names of their reports, if other parts run these files
    with less of them.
    """

    tests: tuple[str, ...]
    data: tuple[str, ...] = ()
    reads_documentation: bool = False
    frameworks: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


MODELS, ZOO = "pytest_dlbench/model/**/*.py", "pytest_dlbench/zoo/**/*.py"
ENGINES = ("pytest_dlbench/workflows/engines/*.py", "bench/test_search.py", "bench/fixtures/search.py")
# The only network that a usual run certifies; the others are for CI_FULL=1.
GOLDEN = "bench/fixtures/golden/gatech-lenet-*.json"

# How frameworks compile in these.
QUICKLY = "tests/worker/compilers.py"

SWEEPS: Mapping[str, Sweep] = {
    "layers": Sweep(tests=("tests/worker/test_builders_agree.py",)),
    "vocabulary": Sweep(tests=("tests/worker/test_vocabulary_agrees.py",)),
    "precision": Sweep(tests=("tests/worker/test_mixed_precision.py",)),
    "detectors": Sweep(
        tests=("tests/equivalence/test_planted_detector_faults.py", "tests/worker/test_detector_operations.py"),
        frameworks=(
            *("pytorch", "jax", "tensorflow", "keras-jax", "keras-tensorflow", "keras-torch", "paddle"),
            *("chainer", "mxnet", "mxnet-imperative"),
        ),
    ),
    "table": Sweep(tests=("tests/worker/test_frameworks_table.py",), reads_documentation=True),
    "programs": Sweep(
        tests=("tests/worker/test_program_frameworks.py",),
        frameworks=("pytorch", "keras-jax", "keras-torch", "keras-tensorflow"),
    ),
    # Their own driver is part of the key: elsewhere only a double has several workers.
    "workers": Sweep(
        tests=("tests/worker/test_workers_agree.py",),
        data=(
            "tests/doubles/builders/faulty_workers/*.py",
            *(f"pytest_dlbench/running/{name}.py" for name in ("group", "merging", "pinning", "run_spec", "training")),
        ),
        frameworks=(
            *("chainer", "jax", "keras-jax", "keras-tensorflow", "keras-torch", "mxnet", "mxnet-imperative", "paddle"),
            *("pytorch", "pytorch-1.0", "pytorch-compile", "tensorflow", "tensorflow-xla"),
        ),
    ),
    "engines": Sweep(
        tests=("tests/worker/test_autokeras.py",),
        data=("pytest_dlbench/planning/*search*.py", "pytest_dlbench/workflows/search.py", *ENGINES),
        frameworks=("keras-tensorflow",),
    ),
    "breakdown": Sweep(
        tests=("tests/worker/test_breakdown.py",),
        data=("tests/doubles/builders/unawaited_jax.py",),
        frameworks=("pytorch", "jax", "chainer", "mxnet-imperative"),
    ),
    "operators": Sweep(
        tests=("tests/worker/test_operators_agree.py",),
        frameworks=(
            *("pytorch", "pytorch-1.0", "jax", "tensorflow", "paddle", "mlx", "tinygrad", "caffe2", "tensorflow1"),
            *("mxnet", "chainer", "theano", "theano-pymc", "cntk"),
        ),
    ),
    "checkpoints": Sweep(
        tests=("tests/worker/test_checkpoints.py",),
        data=("pytest_dlbench/running/checkpoints.py",),
        # The first of each row of the page; variants share its checkpoints, and train with CI_FULL=1.
        frameworks=(
            *("pytorch", "jax", "tensorflow", "keras-tensorflow", "paddle", "tinygrad", "mlx", "caffe2", "tensorflow1"),
            *("keras2-tensorflow", "keras2-cntk", "mxnet", "chainer", "theano", "cntk"),
        ),
    ),
    "loaders": Sweep(
        tests=("tests/worker/test_loaders.py",),
        data=("docs/explanation/frameworks.md",),
        # One for each loader.
        frameworks=(
            *("chainer", "jax", "keras-jax", "keras2-tensorflow", "mxnet", "paddle", "pytorch", "tensorflow"),
            "tensorflow1",
        ),
    ),
    "execution": Sweep(
        tests=("tests/worker/test_execution.py",),
        frameworks=(
            *("pytorch", "pytorch-compile", "jax", "tensorflow", "tensorflow-xla"),
            *("keras-jax", "keras-tensorflow", "keras-torch", "paddle", "tinygrad", "mlx", "mxnet"),
        ),
    ),
    "libraries": Sweep(
        tests=("tests/worker/test_library_calls.py",),
        data=("tests/doubles/builders/forgets_its_library.py", "pytest_dlbench/environments/libraries.py"),
        frameworks=(
            *("pytorch", "tensorflow", "keras-tensorflow", "keras-torch", "mxnet", "chainer", "theano", "theano-pymc"),
        ),
    ),
    "kernels": Sweep(
        tests=("tests/worker/test_recurrent_kernels.py",),
        frameworks=(
            *("pytorch", "pytorch-compile", "pytorch-1.0", "jax", "tensorflow", "tensorflow-xla", "keras-tensorflow"),
            *("keras-jax", "keras-torch", "paddle", "mxnet", "mxnet-imperative", "chainer", "mlx", "tinygrad"),
            *("tensorflow1", "keras2-tensorflow", "keras2-theano", "theano", "theano-pymc", "lasagne", "cntk"),
        ),
    ),
    "opencl": Sweep(tests=("tests/worker/test_opencl.py",), frameworks=("tinygrad",)),
    "findings": Sweep(
        tests=("tests/worker/test_findings.py",),
        data=("docs/explanation/findings.md", "bench/findings/*.py"),
        frameworks=("pytorch-compile", "jax"),
    ),
    "bounds": Sweep(tests=("tests/equivalence/test_looser_bounds.py",), data=(GOLDEN, ZOO)),
    # The main job certifies PyTorch and JAX.
    "equivalence": Sweep(
        tests=("bench/test_equivalence.py", QUICKLY), data=(GOLDEN, ZOO), reports=("equivalence", "save")
    ),
    "side-by-side": Sweep(tests=("bench/test_training.py", QUICKLY), data=(ZOO,), reports=("all",)),
    "zoo": Sweep(tests=("bench/test_training.py",), data=(ZOO,), frameworks=("jax",), reports=("zoo",)),
}

# Repositories of their own, in place of frameworks: programs of users, each with its own environment.
EXAMPLES = "examples"
# The pages that a newcomer may follow after the first one, and their files; dlbench writes the workflow.
NEWCOMER = "newcomer"
PAGES: Mapping[str, tuple[str, ...]] = {
    "workflow": ("pytest_dlbench/cli/starter/*",),
    "nightly": ("docs/ci/gitlab/nightly.yml",),
    "version-bump": ("docs/ci/gitlab/version-bump.yml",),
}
TESTED: Mapping[str, Sweep] = {
    **SWEEPS,
    EXAMPLES: Sweep(tests=("examples/test_examples.py",)),
    NEWCOMER: Sweep(tests=()),
}

# The folder of the builder that a builder depends on, by its backend.
STANDS_ON: Mapping[tuple[str, str], str] = {
    ("keras", "tensorflow"): "tensorflow",
    ("keras", "jax"): "jax",
    ("keras", "torch"): "pytorch",
    ("keras2", "tensorflow"): "tensorflow1",
    ("keras2", "theano"): "theano",
    ("keras2", "cntk"): "cntk",
    ("lasagne", ""): "theano",
}


def keys(known: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The key of each sweep and framework, of each example, and of each page of a newcomer.

    ``known`` is what ``about`` says of the frameworks.
    """
    of_frameworks = {
        name: {
            framework: digest([known[framework], _sweep(framework, sweep)])
            for framework in known
            if framework in (sweep.frameworks or known)
        }
        for name, sweep in SWEEPS.items()
    }
    others = {EXAMPLES: {name: _example(name) for name in examples()}, NEWCOMER: {name: _page(name) for name in PAGES}}
    return {**of_frameworks, **others}


def about(names: Iterable[str]) -> dict[str, Any]:
    """What applies to every sweep of each framework."""
    return {name: _about(FRAMEWORKS[name]) for name in names}


def examples() -> list[str]:
    """The names of the examples."""
    return [file.parent.name for file in below(f"{EXAMPLES}/*/requirements.txt")]


def _example(name: str) -> str:
    """An example's key: a hash of its folder, and one of what all share.

    That is their test, and what the worker does with programs; not the rest of the worker.
    """
    own = f"{EXAMPLES}/{name}/[!.]*", f"{EXAMPLES}/{name}/*/*.py"
    shared = f"{EXAMPLES}/test_examples.py", f"{WORKER.relative_to(ROOT)}/programs/*.py"
    files = [[file for pattern in patterns for file in below(pattern) if file.is_file()] for patterns in (own, shared)]
    each = [[content(file) for file in some] for some in files]
    return f"{digest(each[0])}-{digest([each[1], platform.python_version(), processor()])}"


def _page(name: str) -> str:
    """A page's key: a hash of its own files, and one of the package."""
    own, package = (
        digest([content(file) for pattern in patterns for file in below(pattern) if _is_source(file)])
        for patterns in (PAGES[name], ("pytest_dlbench/**/*", "pyproject.toml"))
    )
    return f"{own}-{package}"


def _is_source(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


def families(framework: Framework) -> set[str]:
    """The folders in dlworker/frameworks/ of its builder, and of the builder that this depends on."""
    own = family(framework.builder)
    backend = dict(framework.variables).get("KERAS_BACKEND", "")
    return {own, STANDS_ON.get((own, backend), own)}


def family(module: str) -> str:
    """The folder of a builder's module. A variant is in the folder of its base."""
    # pytorch_compile.py counts like pytorch/compile.py.
    return re.split(r"[._]", module.removeprefix("dlworker.frameworks."))[0]


def worker_files(framework: Framework) -> list[Path]:
    """All of dlworker except the folders of other frameworks, and engines of searches that do not train in it."""
    others = {one for known in FRAMEWORKS.values() if known.builder for one in families(known)} - families(framework)
    found = [file for file in below(f"{WORKER.relative_to(ROOT)}/**/*.py") if folder_of(file) not in others]
    return [file for file in found if framework.engines or not file.is_relative_to(WORKER / "engines")]


def folder_of(file: Path) -> str:
    """The folder of the builder that a file of dlworker belongs to; empty for shared files."""
    frameworks = WORKER / "frameworks"
    return family(file.relative_to(frameworks).parts[0]) if file.is_relative_to(frameworks) else ""


@cache
def test_files(tests: tuple[str, ...]) -> list[Path]:
    """Test files, their conftests, and all files in tests/ and bench/ that one of these imports or names."""
    found: set[Path] = set()
    todo = [ROOT / test for test in tests]
    while todo:
        file = todo.pop()
        if file not in found:
            found.add(file)
            todo += conftests(file)
            todo += _mentioned(file)
    return sorted(found)


def conftests(file: Path) -> list[Path]:
    """The conftests that pytest loads for a test file."""
    return [conftest for folder in file.parents if (conftest := _conftest(folder))]


@cache
def _conftest(folder: Path) -> Path | None:
    conftest = folder / "conftest.py"
    return conftest if folder.is_relative_to(ROOT) and conftest.is_file() else None


@cache
def _mentioned(file: Path) -> tuple[Path, ...]:
    nodes, folder = ast.walk(ast.parse(file.read_text())), file.parent.relative_to(ROOT)
    names = (name for node in nodes for name in _names(node, ".".join(folder.parts)))
    found = (_module(f"{prefix}{name}") for name in names for prefix in ("", f"{DOUBLES}."))
    return tuple(path for path in found if path)


def _names(node: ast.AST, package: str) -> Iterator[str]:
    """Modules that a node may refer to: imports, and strings such as pytest_plugins and builders of doubles.

    ``package`` is that of the node's file, from which relative imports start.
    """
    match node:
        case ast.Import(names=aliases):
            yield from (alias.name for alias in aliases)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
            whole = ".".join([*above, *([module] if module else [])])
            yield whole
            yield from (f"{whole}.{alias.name}" for alias in aliases)
        case ast.Constant(value=str(text)):
            yield text


def _module(name: str) -> Path | None:
    parts = name.split(".")
    if parts[0] not in ("tests", "bench") or not all(part.isidentifier() for part in parts):
        return None
    file = ROOT.joinpath(*parts).with_suffix(".py")
    return file if file.is_file() else None


def _sweep(framework: str, sweep: Sweep) -> Any:
    files = [*test_files(sweep.tests), *(file for pattern in sweep.data for file in below(pattern))]
    rows = _documented(framework) if sweep.reads_documentation else []
    return [[content(file) for file in files], rows]


def _documented(framework: str) -> list[str]:
    row = re.compile(rf"\| *`?{re.escape(framework)}`? *\|")
    return [line for file in below("docs/**/*.md") for line in file.read_text().splitlines() if row.match(line)]


def _about(framework: Framework) -> Any:
    files = [*worker_files(framework), *below(MODELS)]
    place = Places().ready(framework)
    # The first one is built unless another version is requested.
    usual = (*framework.environments[:1], *framework.additional_environments)
    pins = [(one.folder_name, one.variables) for one in usual]
    return [
        [content(file) for file in files],
        [framework.builder, framework.needs, framework.variables, pins],
        installed(framework, place) if place else [],
        [platform.python_version(), processor()],
    ]


def installed(framework: Framework, place: Place) -> list[str]:
    """Versions of Python and of packages: all in an environment, only the required ones in pytest's own Python."""
    if place.environment == CURRENT:
        needs = [re.findall(r"[\w-]+", one)[0] for need in framework.needs for one in need.split(" | ")]
        return [f"{name}-{_version(name)}" for name in (*needs, "numpy")]
    folder = place.python.parents[1]
    versions = re.findall(r"(?m)^version.*$", (folder / "pyvenv.cfg").read_text())
    return [*versions, *sorted(file.name for file in folder.glob("lib/python*/site-packages/*.dist-info"))]


@cache
def _version(distribution: str) -> str:
    """The version of a distribution; empty if only an alternative is installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def processor() -> list[str]:
    """Model and flags, by which libraries choose their kernels."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return [platform.machine(), platform.processor()]
    return sorted({line for line in lines if line.startswith(("model name", "flags", "CPU part", "Features"))})


@cache
def below(pattern: str) -> tuple[Path, ...]:
    """The files that match a pattern; there must be at least one."""
    found = tuple(sorted(ROOT.glob(pattern)))
    if not found:
        raise FileNotFoundError(f"no file matches {pattern} in {ROOT}: was it moved?")
    return found


@cache
def content(file: Path) -> tuple[str, str]:
    """A file's path in the checkout and the hash of its content."""
    return str(file.relative_to(ROOT)), hashlib.sha256(file.read_bytes()).hexdigest()


def digest(found: Any) -> str:
    """A short hash of data that JSON can hold."""
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:12]
