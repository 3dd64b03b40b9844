"""What pages say of clusters: their tables are of what was measured, and the model of links is what it says."""

import pytest

from tests import figures
from tests.cluster import idle, links
from tests.cluster.links import ALONE, FREE, LINKS, Link, Measured
from tests.figures import Conditions
from tests.perf import simulated_cluster
from tests.perf.simulated_cluster import Kept

CONDITIONS = Conditions(cpu_model="a processor", cores=2, load=(0.0, 1.0))


@pytest.mark.parametrize(
    ("module", "kind"),
    [
        pytest.param(links, Measured, id="links"),
        pytest.param(idle, dict[str, idle.Idle], id="idle"),
        pytest.param(simulated_cluster, Kept, id="simulated"),
    ],
)
def test_the_table_of_a_page_is_of_what_was_measured(module, kind):
    kept = module.lines(figures.kept(module.FILE, kind))
    assert figures.written(module.PAGE, module.COMMAND) == kept, f"write it again: {module.COMMAND} --page"


@pytest.mark.parametrize(
    ("link", "seconds"),
    [
        (Link(), 0.0),
        (Link(bits_per_second=1e9), 0.04),
        (Link(bits_per_second=1e8), 0.4),
        (Link(delay_seconds=0.01), 0.02),
        (Link(bits_per_second=1e9, delay_seconds=0.001), 0.042),
    ],
)
def test_a_link_lengthens_a_step_by_the_bytes_over_its_bandwidth_and_twice_its_delay(link, seconds):
    assert link.exchange_seconds(5_000_000) == pytest.approx(seconds)


def test_the_gradients_are_as_large_as_the_weights_of_the_network():
    assert links.gradient_bytes(2) == 4 * (20 * 2 + 2 + 2 * 2 + 2 + 2 * 3 + 3)


def test_the_efficiency_is_predicted_from_one_worker_and_from_two_without_a_limit():
    steps = {ALONE: (0.1, 0.3, 0.12), FREE: (0.06, 0.08, 0.01), "1 Gbit/s": (0.1, 0.15, 0.1)}
    found = Measured(framework="f", gradient_bytes=5_000_000, batch=1, conditions=CONDITIONS, steps=steps)
    assert found.predicted_seconds("1 Gbit/s") == pytest.approx(0.1)
    assert found.predicted_efficiency("1 Gbit/s") == pytest.approx(0.6)
    assert found.efficiencies("1 Gbit/s") == pytest.approx([0.5, 1.0, 0.6])
    assert links.lines(found)[-1] == ("| 1 Gbit/s | 100 ms | 100 ms [100, 150] | 60 % | 60 % [50, 100] |")


@pytest.mark.parametrize("name", [name for name in LINKS if name != FREE])
def test_the_measured_efficiency_is_about_what_was_predicted(name):
    found = figures.kept(links.FILE, Measured)
    assert (
        min(found.efficiencies(name)) / 1.25 < found.predicted_efficiency(name) < 1.25 * max(found.efficiencies(name))
    )


def test_the_cost_of_a_case_was_the_same_at_the_end_of_the_session():
    parts = figures.kept(simulated_cluster.FILE, Kept).measured.parts
    early, late = parts[len(parts) // 4 : len(parts) // 2], parts[3 * len(parts) // 4 :]
    assert _mean(late, "grown_bytes_per_case") < 1.5 * _mean(early, "grown_bytes_per_case")


def _mean(parts, name):
    return sum(getattr(part, name) for part in parts) / len(parts)
