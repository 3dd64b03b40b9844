"""Which frameworks an update reaches."""

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


def reached(old, new):
    return [one.framework.name for one in lock_diff.of(old, new, (TORCH, JAX)).reached]


def test_nothing_changed_reaches_nothing():
    found = lock_diff.of(lock(), lock(), (TORCH, JAX))
    assert (found.changes, found.reached, found.passed_over) == ((), (), ("pytorch", "jax"))


def test_a_framework_of_another_version_is_reached_and_no_other():
    assert reached(lock(), lock(torch="2.13.1")) == ["pytorch"]


def test_a_package_deep_below_a_framework_reaches_it():
    assert reached(lock(), lock(ml_dtypes="0.6.1")) == ["jax"]
    assert reached(lock(), lock(nvidia_cudnn_cu12="9.2")) == ["pytorch"]


def test_numpy_reaches_every_framework_for_workers_compute_with_it():
    assert reached(lock(needs={"jax": ("jaxlib",)}), lock(needs={"jax": ("jaxlib",)}, numpy="2.4.7")) == [
        "pytorch",
        "jax",
    ]


def test_what_no_framework_needs_reaches_none():
    found = lock_diff.of(lock(), lock(requests="2.33"), (TORCH, JAX))
    assert found.changes == (Change(name="requests", old="2.32", new="2.33"),)
    assert not found.reached


def test_without_known_needs_every_change_reaches_every_framework():
    assert reached(lock(needs={}), lock(needs={}, requests="2.33")) == ["pytorch", "jax"]


def test_a_package_that_came_or_went_is_a_change():
    found = lock_diff.of(lock(ml_dtypes=""), lock(requests=""), (TORCH, JAX))
    assert found.changes == (
        Change(name="ml-dtypes", old="", new="0.6.0"),
        Change(name="requests", old="2.32", new=""),
    )


def test_a_framework_that_one_file_does_not_pin_has_no_other_side():
    assert reached(lock(torch=""), lock()) == []


def test_a_version_that_the_builder_cannot_use_is_no_side():
    assert "jax" not in reached(lock(jax="0.3.0"), lock())


def test_a_change_for_another_python_reaches_no_framework():
    old = Lock(pins=(*lock().pins, Pin(name="torch-extra", version="1", marker="python_version < '3.8'")))
    assert [change.name for change in lock_diff.of(old, lock(), (TORCH, JAX)).changes] == ["torch-extra"]
    assert reached(old, lock()) == []


@given(st.dictionaries(st.sampled_from(sorted(VERSIONS)), st.sampled_from(["7.0", "8.0"]), max_size=4))
def test_old_and_new_can_change_places(changed):
    there = lock(**{name.replace("-", "_"): version for name, version in changed.items()})
    assert reached(lock(), there) == reached(there, lock())
    forth, back = lock_diff.of(lock(), there, ()), lock_diff.of(there, lock(), ())
    assert [(one.name, one.old, one.new) for one in forth.changes] == [
        (one.name, one.new, one.old) for one in back.changes
    ]
