"""What detectors need besides their network: samples of anchors, suppression at its limit, average precision."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from pytest_dlbench.data import shapes
from pytest_dlbench.data.boxes import Object, padded
from pytest_dlbench.environments.supports import WORKER
from pytest_dlbench.model import infer
from pytest_dlbench.zoo import MODELS

sys.path.insert(0, str(WORKER))
from dlworker import detection
from dlworker.frameworks.jax.detection import region_proposals
from dlworker.frameworks.pytorch.detection import RegionProposals

NETWORK = infer(MODELS["faster-rcnn-shapes"]).as_json()
LAYER = detection.regions_of(NETWORK)
# A square and one of twice its height: their intersection over union is 0.5 to the last bit.
HALVES = {
    "anchors": ((16, 16), (32, 16)),
    "stride": 32,
    "cells": (2, 2),
    "image": (64, 64),
    "before": 8,
    "after": 8,
    "smallest": 2.0,
    "objects": 1,
}


@pytest.fixture(scope="module")
def prepared():
    labels = padded([objects for _, objects in shapes.drawings(6, seed=3)], 4)
    return labels, detection.prepared(NETWORK, labels, np.arange(6), "float64")


def parts(row):
    samples = row[20 : 20 + 7 * LAYER["samples"]].reshape(-1, 7)
    return samples, row[20 + 7 * LAYER["samples"] :]


def test_samples_lead_from_their_anchors_to_the_objects(prepared):
    boxes = detection.anchors(LAYER)
    for label, row in zip(*prepared, strict=True):
        samples, _ = parts(row)
        on = samples[samples[:, 2] == 1]
        assert 0 < len(on) <= 16
        found = detection.decoded(boxes[on[:, 0].astype(int)], on[:, 3:], (96, 96))
        objects = label[label[:, 4] > 0, :4]
        assert np.abs(found[:, None] - objects).max(2).min(1).max() < 1e-4
        off = boxes[samples[samples[:, 2] == 0, 0].astype(int)]
        assert detection.overlaps(off, objects).max() < 0.3


def test_priorities_are_all_different(prepared):
    _, priorities = parts(prepared[1][0])
    assert sorted(priorities) == list(range(len(detection.anchors(LAYER)) + 4))


def test_samples_of_an_image_do_not_depend_on_the_order(prepared):
    labels, rows = prepared
    np.testing.assert_array_equal(detection.prepared(NETWORK, labels, np.array([3, 1]), "float64")[3], rows[3])


def test_difficult_objects_are_not_trained_on():
    thing = Object(left=10, top=10, right=50, bottom=50, kind=1, is_difficult=True)
    (row,) = detection.prepared(NETWORK, padded([[thing]], 4), np.array([0]), "float64")
    assert not parts(row)[0][:, 2].any()
    assert row[4] == 0


def kept(overlap):
    """How many boxes PyTorch and JAX keep of eight anchors, pairs of which overlap by half."""
    layer, scores = {**HALVES, "overlap": overlap}, np.linspace(1, 2, 8).reshape(1, 2, 2, 2).astype("float32")
    moves = np.zeros((1, 2, 2, 8), dtype="float32")
    by_jax = region_proposals(layer, (jnp.asarray(scores), jnp.asarray(moves)), None)
    first = [torch.from_numpy(np.moveaxis(array, -1, 1).copy()) for array in (scores, moves)]
    by_torch = RegionProposals(layer)(*first)
    counts = np.asarray(by_jax)[..., 4] > 0
    np.testing.assert_array_equal(by_torch.numpy()[counts], np.asarray(by_jax)[counts])
    return int(by_torch[..., 4].sum())


def test_a_box_is_suppressed_above_the_limit_and_not_at_it():
    assert kept(0.5) == 8
    assert kept(0.4999999) == 4


def by_coco(outputs, labels):
    """The mean average precision of output rows by pycocotools, which skips difficult objects due to their area."""
    objects, found = [], []
    for image, label in enumerate(labels, 1):
        for left, top, right, bottom, kind, is_difficult in label[label[:, 4] > 0].tolist():
            box, area = [left, top, right - left, bottom - top], 1e12 if is_difficult else 1.0
            more = {"id": len(objects) + 1, "image_id": image, "category_id": int(kind)}
            objects.append({**more, "bbox": box, "area": area, "iscrowd": 0})
    for image, parts in enumerate(zip(*detection.split(NETWORK, outputs)[2:], strict=True), 1):
        for kind, boxes, scores in detection.detected(*parts, (96, 96)):
            sides = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], 1).tolist()
            own = {"image_id": image, "category_id": kind}
            found += [{**own, "bbox": box, "score": score} for box, score in zip(sides, scores.tolist(), strict=True)]
    truth = COCO()
    images, kinds = ([{"id": number + 1} for number in range(count)] for count in (len(labels), 3))
    truth.dataset = {"info": {}, "images": images, "categories": kinds, "annotations": objects}
    truth.createIndex()
    evaluation = COCOeval(truth, truth.loadRes(found), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return evaluation.stats[1]


def guessed(labels, noise, generator):
    """Output rows: of 16 regions of an image most are near an object, and have its class as the likeliest."""
    last, count = NETWORK["layers"][-1], len(labels)
    regions = np.zeros((count, 16, detection.REGION))
    classes, changes = generator.normal(0, 1, (count, 16, 4)), generator.normal(0, noise, (count, 16, 4, 4))
    for image, label in enumerate(labels):
        things = label[label[:, 4] > 0]
        for number in range(16):
            thing = things[number % len(things)]
            regions[image, number, :4] = np.clip(thing[:4] + generator.normal(0, 20 * noise, 4), 0, 96)
            classes[image, number, int(thing[4])] += 1
    regions[..., 2:4] = np.maximum(regions[..., 2:4], regions[..., :2] + 2)
    regions[..., 4] = 1
    anchors = np.zeros((count, 5 * last["anchors"]))
    return np.concatenate([anchors, *(part.reshape(count, -1) for part in (regions, classes, changes))], 1)


@pytest.mark.parametrize("difficult", [0, 1], ids=["all-count", "one-in-four-is-difficult"])
@pytest.mark.parametrize("noise", [0.05, 0.3, 1.0])
def test_mean_average_precision_is_that_of_pycocotools(noise, difficult):
    generator = np.random.default_rng(11)
    labels = np.array(padded([objects for _, objects in shapes.drawings(40, seed=3)], 4))
    labels[::2, 1, 5] = difficult * (labels[::2, 1, 4] > 0)
    outputs = guessed(labels, noise, generator)
    judge = detection.Judge(NETWORK)
    judge.add(outputs, labels)
    assert judge.mean_average_precision() == pytest.approx(by_coco(outputs, labels), abs=1e-6)
    assert 0.01 < judge.mean_average_precision() < 0.99


def test_average_precision_is_the_mean_at_101_recalls():
    # Precision 1 up to a recall of 1/4, 2/3 up to 1/2, and none beyond; 26 and 25 of the 101 recalls.
    found = detection.average_precision(np.array([0.9, 0.7, 0.8]), np.array([1, 1, 0]), 4)
    assert found == pytest.approx((26 * 1 + 25 * 2 / 3) / 101, abs=1e-12)


def test_an_object_is_found_once_and_a_difficult_one_does_not_count():
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [50, 50, 60, 60], [80, 80, 90, 90]], dtype=float)
    truth = np.array([[0, 0, 10, 10], [50, 50, 60, 61]], dtype=float)
    assert detection.matched(boxes, truth, np.array([False, True])).tolist() == [1, 0, -1, 0]
