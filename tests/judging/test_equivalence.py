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
