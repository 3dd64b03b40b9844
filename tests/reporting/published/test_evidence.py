"""Evidence in words: what two cases share, and in what they differ."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging.claim_cases import Named, Observed
from pytest_dlbench.judging.claim_rules import Alike, Effect, Order, Reaches, Scope, Steeper
from pytest_dlbench.judging.claims import decide
from pytest_dlbench.reporting.published.evidence import sentence
from pytest_dlbench.reporting.published.names import FRAMEWORKS, title
from tests.doubles.judged import judged
from tests.doubles.records import machine

A, B = (Named(published=name, ours=(name,)) for name in ("cntk", "tensorflow"))
MODEL = "hkbu-fcn-s"
RECIPE = {"optimizer": {"learning_rate": 0.1}}


def observed(framework="cntk", **changes):
    found = judged(framework, MODEL, **{"threads": 1, "scale": "full", **changes})
    return Observed(session="one", case=found.result.case, context=found.context, recipe=RECIPE, runs=found.runs)


def scope(metric="step_time", **changes):
    return Scope(metric=metric, models=(MODEL,), **changes)


def said(rule, *cases):
    """What is said of the first comparison, without the interval."""
    found = sentence(decide([rule], cases).comparisons[0])
    return found.partition(": ")[0]


# What all cases share.
PLACE = "scale full, Acme 9000"
ORDER = Order(scope=scope(), first=A, others=(B,))


def test_two_frameworks_share_the_rest():
    found = sentence(decide([ORDER], [observed(), observed("tensorflow", step=0.02)]).comparisons[0])
    assert found.startswith(
        f"step time on hkbu-fcn-s (digits28, 1 thread, batch 64, {PLACE}), CNTK / TensorFlow: 0.500 [0.4"
    )
    assert found.endswith("]; must be below 1")


def test_conditions_that_are_not_the_usual_ones_are_stated():
    on_gpu = replace(ORDER, scope=scope(devices=("gpu",)))
    context = {"machine": machine(gpus=("NVIDIA H200",))}
    assert said(on_gpu, *(observed(name, device="gpu", context=context) for name in ("cntk", "tensorflow"))) == (
        "step time on hkbu-fcn-s (digits28, GPU, batch 64, scale full, NVIDIA H200), CNTK / TensorFlow"
    )
    changed = {"threads": 4, "settings": {"learning_rate": 0.5, "batch_size": 64}}
    assert said(ORDER, *(observed(name, **changed) for name in ("cntk", "tensorflow"))) == (
        f"step time on hkbu-fcn-s (digits28, 4 threads, batch 64, learning rate 0.5, {PLACE}), CNTK / TensorFlow"
    )


def of_batch(size):
    return observed(settings={"batch_size": size}, context={"batch_size": size})


@pytest.mark.parametrize(
    ("axis", "cases", "expected"),
    [
        ("batch_size", (of_batch(50), of_batch(5000)), f"(digits28, 1 thread, {PLACE}) in CNTK, batch size 5,000 / 50"),
        (
            "threads",
            (observed(), observed(threads=4)),
            f"(digits28, batch 64, {PLACE}) in CNTK, number of threads 4 / 1",
        ),
        (
            "workers",
            (observed(), observed(workers=2)),
            f"(digits28, 1 thread, batch 64, {PLACE}) in CNTK, number of workers 2 / 1",
        ),
        (
            "device",
            (observed(), observed(device="gpu")),
            "(digits28, batch 64, scale full) in CNTK, device GPU / processors",
        ),
        (
            "learning_rate",
            (observed(), observed(settings={"learning_rate": 0.5})),
            f"(digits28, 1 thread, batch 64, {PLACE}) in CNTK, learning rate 0.5 / 0.1",
        ),
        (
            "learning_rate",
            (observed(), observed(settings={"learning_rate": 0.00001})),
            f"(digits28, 1 thread, batch 64, {PLACE}) in CNTK, learning rate 0.1 / 1e-05",
        ),
    ],
)
def test_two_settings_of_one_framework_are_the_larger_and_the_smaller(axis, cases, expected):
    of_both = scope(devices=("cpu", "gpu"))
    rule = Effect(scope=of_both, axis=axis, direction="same", amount=1, frameworks=(A,))
    assert said(rule, *cases) == f"step time on hkbu-fcn-s {expected}"


def test_a_gain_is_of_a_setting_in_two_frameworks():
    rule = Steeper(scope=scope(), axis="threads", first=A, others=(B,))
    cases = [observed(name, threads=threads) for name in ("cntk", "tensorflow") for threads in (1, 2)]
    assert said(rule, *cases) == (
        f"step time on hkbu-fcn-s (digits28, batch 64, {PLACE}), number of threads 2 / 1, CNTK / TensorFlow"
    )


def test_points_are_subtracted():
    rule = Alike(scope=scope("accuracy"), frameworks=(A, B), within=2)
    found = sentence(decide([rule], [observed(), observed("tensorflow")]).comparisons[0])
    assert found.startswith(f"accuracy on hkbu-fcn-s (digits28, 1 thread, batch 64, {PLACE}), CNTK - TensorFlow: 0 [-")
    assert "] points; must be above -2 and below 2" in found


def test_a_level_is_in_percent_and_of_one_framework():
    rule = Reaches(scope=scope("accuracy"), frameworks=(A,), lower=90)
    found = sentence(decide([rule], [observed()]).comparisons[0])
    assert found.startswith(f"accuracy on hkbu-fcn-s (digits28, 1 thread, batch 64, {PLACE}) in CNTK: 95.0 [9")
    assert found.endswith("] %; must be above 90")


def test_frameworks_have_titles_that_distinguish_them():
    ours = {name for found in FRAMEWORKS.values() for name in found} | {"jax", "paddle", "mlx"}
    assert len({title(name) for name in ours}) == len(ours)
    assert [title(name) for name in ("tensorflow", "keras-tensorflow", "pytorch", "pytorch-1.0", "jax", "mlx")] == [
        *("TensorFlow", "Keras", "PyTorch", "pytorch-1.0", "JAX", "mlx")
    ]
