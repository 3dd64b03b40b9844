"""Frameworks' profiles are summed without counting the time of an event again in the events around it."""

import importlib
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.running.launch import WORKER_FOLDER
from tests.worker.places import place_of
from tests.worker.sessions import BUILDERS, session
from tests.worker.test_mixed_precision import NETWORK, RECIPE


@pytest.fixture(scope="module")
def profiling():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(WORKER_FOLDER)
        from dlworker import profiling  # noqa: PLC0415 - it is on the worker's path

        return profiling


@st.composite
def nested(draw, begin=0, depth=3):
    """Consecutive events as (name, begin, end), with nested ones; and the end of the last one."""
    events = []
    for _ in range(draw(st.integers(0, 3))):
        begin += draw(st.integers(0, 5))
        within, end = draw(nested(begin, depth - 1)) if depth else ([], begin)
        end += draw(st.integers(1, 5))
        events += [(draw(st.sampled_from("abc")), begin, end), *within]
        begin = end
    return events, begin


def test_nested_time_is_not_an_events_own(profiling):
    events = [("step", 0, 10), ("convolution", 1, 4), ("copy", 2, 3), ("convolution", 5, 9), ("step", 10, 12)]
    assert profiling.own_times(events) == {"step": 5, "convolution": 6, "copy": 1}


def test_events_that_overlap_by_a_rounding_error_are_consecutive(profiling):
    assert profiling.own_times([("a", 0.0, 1.1), ("b", 1.0, 2.0)]) == {"a": 1.1, "b": 1.0}


@given(nested())
def test_own_times_add_up_to_the_time_in_which_there_was_any_event(profiling, made):
    events, _ = made
    covered = {moment for _, begin, end in events for moment in range(begin, end)}
    assert sum(profiling.own_times(events).values()) == len(covered)


@given(nested())
def test_no_own_time_is_negative(profiling, made):
    assert all(taken >= 0 for taken in profiling.own_times(made[0]).values())


def test_parts_are_summed_name_by_name(profiling):
    assert profiling.summed([{"a": 1.0, "b": 2.0}, {"a": 0.5}]) == {"a": 1.5, "b": 2.0}


@pytest.fixture
def framework(tmp_path, monkeypatch):
    """A builder that is a folder with a profiler in it."""
    (tmp_path / "own_framework").mkdir()
    (tmp_path / "own_framework" / "__init__.py").write_text("class Trainer: pass")
    (tmp_path / "own_framework" / "profile.py").write_text("def profile(run, trainer, device): return {}")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_framework")
    for name in ("own_framework", "own_framework.profile"):
        sys.modules.pop(name, None)


def test_the_profiler_of_a_folder_is_that_of_its_module_profile(profiling, framework):
    found = profiling.profiler_of(framework)
    assert found.__module__ == "own_framework.profile"
    # Now the module is an attribute of the builder, like the function of other builders.
    assert profiling.profiler_of(framework) is found


def test_a_variant_has_the_profiler_of_its_base_builder(profiling, framework):
    class Variant(framework.Trainer):
        """The same, but faster."""

    found = profiling.profiler_of(SimpleNamespace(__name__="quick.variant", Trainer=Variant))
    assert found.__module__ == "own_framework.profile"


def test_a_builder_without_a_profiler_is_refused_by_its_name(profiling):
    builder = SimpleNamespace(__name__="dlworker.frameworks.pytorch.quick", Trainer=object)
    with pytest.raises(profiling.RequestError, match=r"the builder pytorch\.quick has no function profile"):
        profiling.profiler_of(builder)


def test_a_gpu_without_checked_profiles_is_refused(profiling):
    profiling.processor_only("Paddle", "cpu")
    with pytest.raises(
        profiling.RequestError, match="profiles of Paddle are supported only on the CPU, not on 'gpu:1'"
    ):
        profiling.processor_only("Paddle", "gpu:1")


@pytest.mark.parametrize("name", ["jax", "mxnet", "chainer"])
def test_a_profile_of_a_gpu_that_nobody_has_checked_is_refused_and_training_goes_on(name, tmp_path):
    place_of(name)
    variables = (*FRAMEWORKS[name].variables, ("DOUBLE_OF", FRAMEWORKS[name].builder))
    framework = replace(FRAMEWORKS[name], builder="asked_for_a_gpu", folders=(BUILDERS,), variables=variables)
    data = prepare(synthetic_for(NETWORK.model), tmp_path)
    with session(framework, tmp_path / name) as asked:
        asked.hello(device="gpu")
        asked.build(NETWORK, RECIPE)
        asked.train(data, RECIPE, 4, taken=2)
        profiled = asked.ask("profile", steps=1)
        trained = asked.train_on(2, 2)
    assert (profiled.kind, "supported only on the CPU, not on 'gpu'" in profiled.message) == ("unsupported", True)
    assert len(trained.losses) == 2
