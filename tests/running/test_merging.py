"""The answers of several workers to one request, as one answer."""

import pytest

from pytest_dlbench.records import Loading
from pytest_dlbench.running import messages
from pytest_dlbench.running.merging import merged


@pytest.fixture
def answer():
    """What a worker with these losses took for as many steps, whose batches a loader made."""

    def answer(*losses, collates=True):
        each = (0.5,) * len(losses)
        loading = Loading(
            loader="any",
            decoder="any",
            workers=0,
            deviation=0.0,
            read_seconds=each,
            decode_seconds=each,
            collate_seconds=each if collates else (),
        )
        return messages.Trained(
            began=0.0,
            step_seconds=(2.0,) * len(losses),
            losses=losses,
            examples=8 * len(losses),
            input_seconds=each,
            loading=loading,
            load_seconds=0.1,
        )

    return answer


@pytest.mark.parametrize("collates", [True, False])
def test_a_training_ends_where_the_mean_loss_is_not_finite_and_so_do_the_seconds_of_its_loader(answer, collates):
    one, other = answer(2.0, 1.0, 1.0, collates=collates), answer(4.0, "nan", 1.0, collates=collates)
    found = merged("train", [one, other])
    assert found.losses == (3.0, "nan")
    assert (found.step_seconds, found.input_seconds) == ((2.0, 2.0), (0.5, 0.5))
    loading = found.loading
    assert (loading.read_seconds, loading.decode_seconds) == ((1.0, 1.0), (1.0, 1.0))
    assert loading.collate_seconds == ((1.0, 1.0) if collates else ())


def test_finite_losses_keep_all_seconds_of_the_loader(answer):
    found = merged("train", [answer(2.0, 1.0), answer(4.0, 3.0)])
    assert found.losses == (3.0, 2.0)
    assert found.loading.read_seconds == (1.0, 1.0)
