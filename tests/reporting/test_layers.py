"""The table of the layers of a network."""

import pytest

from pytest_dlbench.reporting import layers
from pytest_dlbench.storing.recorded import Recorded
from tests.doubles import records
from tests.doubles.judged import divided, judged


def recorded(case):
    record = records.record(case=case.result.case, runs=case.runs)
    return Recorded(record=record, result=case.result, old=None)


def test_every_layer_has_a_row_and_their_sum_is_next_to_the_whole_network():
    title, headings, *rows, end = layers.tables([recorded(judged()), recorded(divided())])
    assert title == "layers: pytorch-divided-digits28-cpu"
    assert headings.split() == ["layer", "kind", "forward", "backward", "share", "of", "both"]
    assert [row.split() for row in rows] == [
        ["conv1", "conv2d", "2.00", "ms", "5.00", "ms", "70.0%"],
        ["fc1", "dense", "500", "µs", "1.00", "ms", "15.0%"],
        ["loss", "loss", "500", "µs", "1.00", "ms", "15.0%"],
        ["sum", "3.00", "ms", "7.00", "ms"],
        ["whole", "network", "3.00", "ms", "6.00", "ms"],
        ["sum", "/", "whole", "1.00", "1.17", "1.11"],
    ]
    assert end == ""


def test_programs_get_seconds():
    (found,) = layers.as_json([recorded(judged()), recorded(divided())])
    assert found["layers"][0] == {
        "name": "conv1",
        "kind": "conv2d",
        "forward_seconds": 0.002,
        "backward_seconds": 0.005,
    }
    assert found["sum_seconds"] == pytest.approx([0.003, 0.007])
    assert found["whole_seconds"] == pytest.approx([0.003, 0.006])
