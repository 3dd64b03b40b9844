"""Which frameworks an update affects."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.locks import Lock, Pin
from pytest_dlbench.planning import lock_diff
from pytest_dlbench.planning.lock_diff import Change

TORCH, JAX = FRAMEWORKS["pytorch"], FRAMEWORKS["jax"]
NEEDS: Mapping[str, tuple[str, ...]] = {
    "torch": ("numpy", "nvidia-cudnn-cu12"),
    "jax": ("jaxlib", "numpy"),
    "jaxlib": ("ml-dtypes",),
}
VERSIONS = {
    "torch": "2.13.0",
    "numpy": "2.4.6",
    "nvidia-cudnn-cu12": "9.1",
    "jax": "0.10.2",
    "jaxlib": "0.10.2",
    "ml-dtypes": "0.6.0",
    "optax": "0.2.8",
    "requests": "2.32",
}


def lock(needs=NEEDS, **changed):
    versions = {**VERSIONS, **{name.replace("_", "-"): version for name, version in changed.items()}}
    return Lock(
        pins=tuple(
            Pin(name=name, version=version, needs=frozenset(needs.get(name, ())))
            for name, version in versions.items()
            if version
        )
    )


def affected(old, new):
    return [one.framework.name for one in lock_diff.of(old, new, (TORCH, JAX)).affected]


def test_no_change_affects_no_framework():
    found = lock_diff.of(lock(), lock(), (TORCH, JAX))
    assert (found.changes, found.affected, found.unaffected) == ((), (), ("pytorch", "jax"))


def test_another_version_of_a_framework_affects_only_that_framework():
    assert affected(lock(), lock(torch="2.13.1")) == ["pytorch"]


def test_an_indirect_dependency_affects_its_framework():
    assert affected(lock(), lock(ml_dtypes="0.6.1")) == ["jax"]
    assert affected(lock(), lock(nvidia_cudnn_cu12="9.2")) == ["pytorch"]


def test_numpy_affects_every_framework_because_workers_compute_with_it():
    assert affected(lock(needs={"jax": ("jaxlib",)}), lock(needs={"jax": ("jaxlib",)}, numpy="2.4.7")) == [
        "pytorch",
        "jax",
    ]


def test_a_package_that_no_framework_needs_affects_none():
    found = lock_diff.of(lock(), lock(requests="2.33"), (TORCH, JAX))
    assert found.changes == (Change(name="requests", old="2.32", new="2.33"),)
    assert not found.affected


def test_with_unknown_dependencies_every_change_affects_every_framework():
    assert affected(lock(needs={}), lock(needs={}, requests="2.33")) == ["pytorch", "jax"]


def test_an_added_or_removed_package_is_a_change():
    found = lock_diff.of(lock(ml_dtypes=""), lock(requests=""), (TORCH, JAX))
    assert found.changes == (
        Change(name="ml-dtypes", old="", new="0.6.0"),
        Change(name="requests", old="2.32", new=""),
    )


def test_a_framework_that_only_one_file_pins_is_not_compared():
    assert affected(lock(torch=""), lock()) == []


def test_a_version_that_the_builder_cannot_use_is_not_compared():
    assert "jax" not in affected(lock(jax="0.3.0"), lock())


def test_a_change_for_another_python_affects_no_framework():
    old = Lock(pins=(*lock().pins, Pin(name="torch-extra", version="1", marker="python_version < '3.8'")))
    assert [change.name for change in lock_diff.of(old, lock(), (TORCH, JAX)).changes] == ["torch-extra"]
    assert affected(old, lock()) == []


@given(st.dictionaries(st.sampled_from(sorted(VERSIONS)), st.sampled_from(["7.0", "8.0"]), max_size=4))
def test_old_and_new_are_symmetric(changed):
    there = lock(**{name.replace("-", "_"): version for name, version in changed.items()})
    assert affected(lock(), there) == affected(there, lock())
    forth, back = lock_diff.of(lock(), there, ()), lock_diff.of(there, lock(), ())
    assert [(one.name, one.old, one.new) for one in forth.changes] == [
        (one.name, one.new, one.old) for one in back.changes
    ]
