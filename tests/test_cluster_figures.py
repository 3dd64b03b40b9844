"""What is predicted of links between hosts, and the tables that pages have of clusters."""

import pytest

from tests import figures
from tests.cluster import idle, links
from tests.cluster.idle import Idle
from tests.cluster.links import ALONE, FREE, Link
from tests.figures import Conditions
from tests.perf import simulated_cluster
from tests.perf.simulated_cluster import Kept, Measured, Part

CONDITIONS = Conditions(cpu_model="a processor", cores=2, load=(0.0, 1.0))


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
    found = links.Measured(framework="f", gradient_bytes=5_000_000, batch=1, conditions=CONDITIONS, steps=steps)
    assert found.predicted_seconds("1 Gbit/s") == pytest.approx(0.1)
    assert found.predicted_efficiency("1 Gbit/s") == pytest.approx(0.6)
    assert found.efficiencies("1 Gbit/s") == pytest.approx([0.5, 1.0, 0.6])
    assert links.lines(found)[-1] == ("| 1 Gbit/s | 100 ms | 100 ms [100, 150] | 60 % | 60 % [50, 100] |")


def test_the_tables_of_idle_daemons_and_of_many_cases_have_a_row_for_each():
    ratios = dict.fromkeys(("fast", "fast_null", "mean", "mean_null"), "1.0000 [0.9990, 1.0010] (60 pairs)")
    one = Idle(processes=5, rss_bytes=2**28, core_share=0.0123, product_seconds=0.002, conditions=CONDITIONS, **ratios)
    shown = " | ".join(["1.0000 [0.9990, 1.0010]"] * 4)
    assert f"| Ray | 5 | 256 MiB | 1.23 % of a core | {shown} |" in idle.lines({"ray": one})
    parts = [
        Part(
            cases=100 * (place + 1),
            seconds_per_case=0.01,
            cpu_seconds_per_case=0.008,
            rss_bytes=(100 + place) * 2**20,
            grown_bytes_per_case=1.0,
            instructions=0,
        )
        for place in range(8)
    ]
    found = Measured(
        status=0, collected_rss_bytes=99 * 2**20, parts=parts, report_cpu_seconds=2.0, hosts=1000, printed=""
    )
    kept = Kept(measured=found, collected=2000, lost_every=500, conditions=CONDITIONS)
    assert simulated_cluster.lines(kept)[-2:] == [
        "| 1 to 400 | 8.0 ms | 103 MiB | 10.2 KiB |",
        "| 401 to 800 | 8.0 ms | 107 MiB | 10.2 KiB |",
    ]


@pytest.mark.parametrize(
    ("module", "kind"), [(links, links.Measured), (idle, dict[str, Idle]), (simulated_cluster, Kept)]
)
def test_a_table_on_a_page_is_of_what_was_kept(module, kind):
    kept = figures.kept(module.FILE, kind)
    assert figures.written(module.PAGE, module.COMMAND) == module.lines(kept)


def test_a_page_without_a_place_for_figures_is_named(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n")
    with pytest.raises(SystemExit, match=r"page\.md: has no place .*<!-- figures: measure -->"):
        figures.write(page, "measure", ["new"])
    page.write_text("before\n<!-- figures: measure -->\nold\n<!-- end of the figures -->\nafter\n")
    figures.write(page, "measure", ["new", "lines"])
    assert figures.written(page, "measure") == ["new", "lines"]
    assert page.read_text().startswith("before\n<!-- figures")
    assert page.read_text().endswith("figures -->\nafter\n")
