"""The examples of each step."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_dlbench.data.order import augmentations, batches

law = settings(deadline=None)
seeds = st.integers(0, 2**63)
steps = st.integers(1, 40)


@st.composite
def fitting(draw):
    examples = draw(st.integers(1, 120))
    return {"examples": examples, "batch_size": draw(st.integers(1, examples))}


@law
@given(fitting(), steps, seeds)
def test_each_step_has_one_row_with_a_batch(data, steps, seed):
    assert batches(**data, steps=steps, seed=seed).shape == (steps, data["batch_size"])


@law
@given(fitting(), steps, seeds)
def test_every_index_is_one_of_the_examples(data, steps, seed):
    order = batches(**data, steps=steps, seed=seed)
    assert order.dtype == np.int64
    assert 0 <= order.min() <= order.max() < data["examples"]


@law
@given(fitting(), steps, seeds)
def test_no_example_occurs_twice_in_an_epoch(data, steps, seed):
    order = batches(**data, steps=steps, seed=seed)
    per_epoch = data["examples"] // data["batch_size"]
    for first in range(0, steps, per_epoch):
        epoch = order[first : first + per_epoch].ravel()
        assert len(np.unique(epoch)) == epoch.size


@law
@given(st.integers(1, 12), st.integers(1, 12), seeds)
def test_an_epoch_of_whole_batches_has_every_example(batch_size, per_epoch, seed):
    examples = batch_size * per_epoch
    order = batches(examples=examples, batch_size=batch_size, steps=per_epoch, seed=seed)
    assert sorted(order.ravel().tolist()) == list(range(examples))


@law
@given(fitting(), steps, seeds)
def test_one_seed_gives_the_same_order_again(data, steps, seed):
    again = batches(**data, steps=steps, seed=seed)
    np.testing.assert_array_equal(batches(**data, steps=steps, seed=seed), again)


@law
@given(fitting(), steps, steps, seeds)
def test_more_steps_begin_with_the_same_steps(data, steps, more, seed):
    longer = batches(**data, steps=steps + more, seed=seed)
    np.testing.assert_array_equal(longer[:steps], batches(**data, steps=steps, seed=seed))


@law
@given(seeds, seeds)
def test_two_seeds_give_two_orders(seed, other):
    assume(seed != other)
    one, two = (batches(examples=1000, batch_size=100, steps=10, seed=each) for each in (seed, other))
    assert not np.array_equal(one, two)


@law
@given(seeds)
def test_two_epochs_have_two_orders(seed):
    order = batches(examples=1000, batch_size=100, steps=20, seed=seed)
    assert not np.array_equal(order[:10], order[10:])


def test_the_order_of_a_seed_never_changes():
    # The golden losses depend on it.
    assert batches(examples=7, batch_size=3, steps=3, seed=20261121).tolist() == [[6, 3, 5], [2, 0, 1], [3, 0, 4]]


def test_a_batch_larger_than_the_data_set_is_refused_with_both_numbers():
    with pytest.raises(ValueError, match="a batch of 11 is more than the 10 examples"):
        batches(examples=10, batch_size=11, steps=1, seed=0)


def draws(**changes):
    return augmentations(**{"steps": 50, "batch_size": 8, "crop_padding": 2, "flips": True, "seed": 5, **changes})


def test_windows_begin_at_every_place_within_the_padding_and_half_of_the_images_are_flipped():
    found = draws().reshape(-1, 3)
    assert sorted({(top, left) for top, left, _ in found.tolist()}) == [(y, x) for y in range(5) for x in range(5)]
    assert 0.4 < found[:, 2].mean() < 0.6


def test_without_padding_and_flips_every_draw_leaves_the_image_as_it_is():
    assert not draws(crop_padding=0, flips=False).any()


def test_draws_depend_on_the_seed_alone():
    assert (draws() == draws()).all()
    assert (draws() != draws(seed=6)).any()
    assert (draws(steps=50)[:20] == draws(steps=50, flips=False)[:20])[..., :2].all()
