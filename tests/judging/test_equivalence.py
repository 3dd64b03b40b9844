"""How far a framework may deviate from golden losses."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import equivalence
from pytest_dlbench.records import Golden
from tests.doubles import records

RUN = records.run()
CASE = records.case()


def certified(device, deviation):
    """A certificate of losses that deviate by this share."""
    golden = Golden(
        network_digest="",
        dataset_digest="",
        difference=0.0,
        losses=tuple(loss / (1 + deviation) for loss in RUN.training.losses),
        evaluation_loss=RUN.evaluation.loss,
    )
    case = replace(CASE, device=device)
    return equivalence.certificate(case, records.context(), RUN, golden, equivalence.BOUND)


@pytest.mark.parametrize(
    ("device", "deviation", "is_equal"),
    [
        ("cpu", 0.5e-5, True),
        ("cpu", 5e-5, False),
        ("opencl:cpu", 5e-5, False),
        # What the transforms of a fast convolution may round.
        ("gpu", 5e-5, True),
        ("gpu", 5e-4, False),
    ],
)
def test_a_bound_is_looser_on_gpus_and_is_in_the_certificate(device, deviation, is_equal):
    found = certified(device, deviation)
    assert equivalence.is_equal(found) is is_equal
    assert found.bound == pytest.approx(1e-4 if device == "gpu" else 1e-5)


@pytest.mark.parametrize(
    ("changes", "is_covered"),
    [
        ({}, True),
        ({"execution": ("autotune",)}, True),
        ({"execution": ("channels_last",)}, False),
        ({"execution": ("library=onednn",)}, False),
        ({"execution": ("tf32",)}, False),
        ({"precision": "bfloat16"}, False),
        ({"precision": "float64"}, False),
        ({"machine": replace(records.machine(), name="linux-other")}, False),
        ({"dataset_digest": "other"}, False),
        # Neither decides how a step is computed.
        ({"steps": 7, "allocator": "default"}, True),
    ],
)
def test_a_certificate_covers_its_own_machine_data_precision_and_kernels(changes, is_covered):
    assert equivalence.covers(certified("cpu", 0.0), records.context(**changes)) is is_covered


def test_a_certificate_of_which_the_machine_is_not_known_covers_nothing():
    found = replace(certified("cpu", 0.0), machine="", dataset_digest="")
    assert not equivalence.covers(found, records.context())


def test_a_certificate_of_channels_last_covers_that_alone():
    found = replace(certified("cpu", 0.0), execution=("channels_last",))
    assert equivalence.covers(found, records.context(execution=("autotune", "channels_last")))
    assert not equivalence.covers(found, records.context())


VERSIONS = {"torch": "2.13.0", "kernel": "6.1"}
OTHER_MACHINE = replace(records.machine(), name="linux-other")


@pytest.mark.parametrize(
    ("case", "context", "versions"),
    [
        ({"framework": "jax"}, {}, {}),
        ({"model": "lenet"}, {}, {}),
        ({"dataset": "fashion-mnist"}, {}, {}),
        ({"device": "gpu"}, {}, {}),
        ({"workers": 2}, {}, {}),
        ({"settings": {"exchange": "fp16"}}, {}, {}),
        ({}, {"network_digest": "other"}, {}),
        ({}, {"dataset_digest": "other"}, {}),
        ({}, {"precision": "bfloat16"}, {}),
        ({}, {"execution": ("tf32",)}, {}),
        ({}, {"machine": OTHER_MACHINE}, {}),
        ({}, {}, {"torch": "2.12.0"}),
    ],
)
def test_what_trains_otherwise_is_another_subject(case, context, versions):
    one = equivalence.subject(CASE, records.context(), VERSIONS)
    assert equivalence.subject(replace(CASE, **case), records.context(**context), VERSIONS | versions) != one


def test_lengths_threads_and_the_kernel_of_the_system_are_no_other_subject():
    one = equivalence.subject(CASE, records.context(), VERSIONS)
    longer = replace(CASE, id="other", scale="full", threads=1)
    assert equivalence.subject(longer, records.context(steps=7), VERSIONS | {"kernel": "6.2"}) == one
