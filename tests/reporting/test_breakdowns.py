"""The table of the phases of a step."""

from pytest_dlbench.reporting import breakdowns
from pytest_dlbench.reporting.tables import Row
from tests.doubles import records

PYTORCH = {"phase_forward": 0.004, "phase_backward": 0.012, "phase_update": 0.004, "phase_sum": 1.02}
MLX = {"phase_forward_backward": 0.03, "phase_update": 0.01, "phase_sum": 0.99}


def row(framework, figures, **changes):
    return Row(result=records.case_result(case=records.case(framework=framework, **changes), figures=figures))


def test_frameworks_have_each_phase_with_its_share_of_all():
    lines = breakdowns.tables([row("pytorch", PYTORCH), row("mlx", MLX)])
    title, headings, pytorch, mlx, _ = lines
    assert title == "phases of a step: mnist-cnn on digits28, cpu, 2 threads each, scale quick"
    assert headings.split("  ")[0] == "framework"
    for heading in ("forward", "backward", "forward + backward", "update", "phases / step"):
        assert heading in headings
    assert "exchange" not in headings
    assert pytorch.split() == [
        *("pytorch", "4.00", "ms", "(20%)", "12.0", "ms", "(60%)", "–", "4.00", "ms", "(20%)", "102.00", "%")
    ]
    assert mlx.split() == ["mlx", "–", "–", "30.0", "ms", "(75%)", "10.0", "ms", "(25%)", "99.00", "%"]


def test_workers_are_told_apart():
    *_, two, _ = breakdowns.tables([row("mxnet", PYTORCH), row("mxnet", PYTORCH, workers=2)])
    assert two.startswith("mxnet, 2 workers")


def test_a_sum_without_phases_is_in_no_table():
    assert breakdowns.tables([row("pytorch", {"phase_sum": 1.5}), row("jax", {})]) == []
