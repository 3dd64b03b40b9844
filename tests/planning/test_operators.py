"""From a single operator to the spec of its runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import Absent
from pytest_dlbench.errors import OptionError
from pytest_dlbench.model.operators import GEMM, AllReduce
from pytest_dlbench.planning.operators import FEWEST_CALLS, MOST_CALLS, calls, operator_spec
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.records import Machine

MACHINE = Machine(name="any", cpu_model="any", cores=2, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="quick", threads=2, seed=3, timeout_seconds=60.0)
BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
DOUBLE = Framework(name="double", builder="numpy_operators", folders=(BUILDERS,))
PRODUCT = GEMM(m=512, n=512, k=512)


def spec(framework=DOUBLE, settings=SETTINGS, **more):
    return operator_spec(settings, PRODUCT, framework, DEVICES["cpu"], **more)


def test_its_case_has_the_operator_in_the_place_of_a_model_and_no_data_set():
    case = spec().case
    assert (case.id, case.model, case.dataset) == (
        "operator-double-gemm-512x512x512-nn-cpu-quick",
        "gemm-512x512x512-nn",
        "",
    )


def test_its_context_is_comparable_only_with_the_same_operator():
    one = SETTINGS.context(spec())
    other = SETTINGS.context(replace(spec(), operator=replace(PRODUCT, transposes_data=True)))
    assert one.network_digest != other.network_digest
    assert (one.precision, one.batch_size, one.steps) == ("float32", None, spec().steps)


def test_as_many_calls_as_the_scale_has_arithmetic_for_within_limits():
    assert calls(PRODUCT, "quick") == int(5e9 / (2 * 512**3))
    assert calls(replace(PRODUCT, k=500_000), "quick") == FEWEST_CALLS
    assert calls(replace(PRODUCT, k=1), "quick") == MOST_CALLS


def test_calls_of_an_all_reduce_are_limited_by_its_bytes():
    assert calls(AllReduce(numbers=6_553_600), "quick") == 19
    assert calls(AllReduce(numbers=1), "quick") == MOST_CALLS


@pytest.mark.parametrize(
    ("framework", "settings", "reason"),
    [
        (FRAMEWORKS["pytorch-compile"], SETTINGS, "the builder of pytorch-compile has no single operators"),
        (FRAMEWORKS["torch7"], SETTINGS, FRAMEWORKS["torch7"].unsupported),
        (DOUBLE, replace(SETTINGS, workers=2, threads=1), "several workers train; they do not share an operator"),
    ],
)
def test_what_cannot_run_is_unsupported_with_the_reason(framework, settings, reason):
    place = spec(framework, settings).place
    assert isinstance(place, Absent)
    assert place.reason.startswith(reason)


def test_a_setting_of_a_recipe_is_refused():
    changed = (Change(name="batch_size", value=64),)
    with pytest.raises(OptionError, match="--dlbench-set batch_size: an operator has no recipe"):
        spec(settings=replace(SETTINGS, changes=changed))
    with pytest.raises(OptionError, match="--dlbench-ab: set:batch_size"):
        spec(changes=changed)
