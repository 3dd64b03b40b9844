"""The table of GPUs by their data sheets, and the names by which a GPU is found in it."""

import pytest

from pytest_dlbench.judging.data_sheets import CARDS, card_of


@pytest.mark.parametrize("name", CARDS)
def test_every_card_has_a_plausible_data_sheet(name):
    card = CARDS[name]
    # Bytes per operation: between that of the RTX 4090 and that of the B200.
    assert 0.005 < card.bytes_per_second / card.flops_per_second < 0.2
    assert 8 <= card.memory_gib <= 192
    assert card.double_flops_per_second <= card.flops_per_second
    assert card.flops_per_second <= card.tf32_flops_per_second <= card.half_flops_per_second


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Tesla K80", "K80"),
        ("Tesla T4", "T4"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA A100-SXM4-40GB", "A100-40GB"),
        ("NVIDIA A100-SXM4-40GB 40 GiB", "A100-40GB"),
        ("NVIDIA A100 80GB PCIe", "A100-80GB"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100-40GB"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GeForce RTX 2080 Ti", "RTX-2080-Ti"),
    ],
)
def test_a_gpu_is_found_by_the_name_that_its_driver_reports(model, name):
    assert card_of(model) is CARDS[name]


@pytest.mark.parametrize("model", ["", "NVIDIA A10G", "NVIDIA RTX A1000", "NVIDIA GeForce RTX 2080", "Tesla P40"])
def test_a_gpu_that_is_not_in_the_table_is_not_taken_for_another(model):
    assert card_of(model) is None


@pytest.mark.parametrize(
    ("precision", "execution", "teraflops"),
    [
        ("float32", (), 19.5),
        ("float32", ("tf32",), 156),
        ("float32", ("autotune",), 19.5),
        ("mixed_bfloat16", (), 312),
        ("float16", (), 312),
        ("float64", (), 19.5),
    ],
)
def test_the_peak_is_that_of_the_precision_and_the_settings(precision, execution, teraflops):
    assert CARDS["A100-40GB"].peak(precision, execution) == teraflops * 1e12
