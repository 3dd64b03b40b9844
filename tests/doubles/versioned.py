"""A framework with several versions, and a small model: ``dlbench bisect -p tests.doubles.versioned``."""

from collections.abc import Mapping
from pathlib import Path

from pytest_dlbench.environments import Framework
from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, SoftmaxCrossEntropy

MODEL = Model(
    name="versioned-softmax",
    family="fcn",
    input_shape=(1, 8, 8),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=Recipe(batch_size=32, epochs=2, optimizer=SGD(0.1, momentum=0.5)),
    layers=(Flatten(), Dense(10)),
)


def pytest_dlbench_frameworks():
    folder = Path(__file__).parent / "builders"
    # The second one has no versions: it runs in this Python.
    return [
        Framework(name="versioned", builder="versioned", folders=(folder,)),
        Framework(name="steady", builder="paced", folders=(folder,)),
    ]


def pytest_dlbench_models():
    return [MODEL]


def install(folder: Path, python: str, factors: Mapping[str, float | None]) -> dict[str, str]:
    """An environment for each version, by name: the factor by which steps are slower, or None for a broken one."""
    found = {}
    for version, factor in factors.items():
        path = folder / version / "bin" / "python"
        path.parent.mkdir(parents=True)
        version_found = version if factor else "broken"
        path.write_text(f'#!/bin/sh\nDOUBLE_VERSION={version_found} DOUBLE_FACTOR={factor or 1} exec {python} "$@"\n')
        path.chmod(0o755)
        found[version] = str(path)
    return found
