"""How long a page of 500 cases takes to open in headless Chromium."""

from collections.abc import Mapping
from pathlib import Path
from time import monotonic

import pytest
from selenium import webdriver

from pytest_dlbench.reporting.page import page
from pytest_dlbench.reporting.page.gathering import Gathered
from tests import browser
from tests.doubles import records
from tests.doubles.judged import judged, measured
from tests.perf.pairs import REPLAYED, replay

CASES = 500
FRAMEWORKS = 10
ROUNDS = 9
# Processor seconds of the page's main thread, by the browser's names.
WORK = {
    "ScriptDuration": "processor, scripts",
    "LayoutDuration": "processor, layout",
    "RecalcStyleDuration": "processor, styles",
    "TaskDuration": "processor, all",
}
MOMENTS = ("laid out", "loaded", "charts in sight drawn", *WORK.values(), "every other chart drawn")


def write(path: Path, cases: int) -> None:
    """A page of ``cases`` cases with three runs of 800 steps each, all of them compared."""
    compared = {"verdicts": (records.verdict(), records.verdict(metric="peak_rss")), "message": "text " * 100}
    found = [
        judged(f"framework-{number % FRAMEWORKS}", f"model-{number // FRAMEWORKS}", steps=800, result=compared)
        for number in range(cases)
    ]
    page.write(path, Gathered(cases=measured(*found), sessions=("one",)))


def opening(chromium: webdriver.Chrome, path: Path) -> Mapping[str, float]:
    """Wall and processor seconds of opening the page once, since navigation began; then of drawing all other charts."""
    chromium.execute_cdp_cmd("Performance.disable", {})
    chromium.get("about:blank")
    # Processor time of its main thread, which excludes other load on the machine.
    chromium.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    chromium.get(path.as_uri())
    script = """
        const done = arguments[0], look = () => {
            const [mark] = performance.getEntriesByName("charts-drawn");
            if (!mark) return requestAnimationFrame(look);
            const [navigation] = performance.getEntriesByType("navigation");
            done([navigation.domInteractive, navigation.loadEventEnd, mark.startTime]);
        };
        look();
    """
    read, loaded, drawn = (1e-3 * value for value in chromium.execute_async_script(script))
    metrics = {
        entry["name"]: entry["value"] for entry in chromium.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    }
    work = {moment: metrics[name] for name, moment in WORK.items()}
    began, names = monotonic(), browser.charts(chromium)
    for name in names:
        browser.draw(chromium, name)
    return {
        "laid out": read,
        "loaded": loaded,
        "charts in sight drawn": drawn,
        **work,
        "every other chart drawn": monotonic() - began,
    }


@pytest.fixture(scope="module")
def openings(pytestconfig, tmp_path_factory, conclude):
    """Seconds of every opening, by moment."""
    if (found := browser.programs()) is None:
        pytest.skip("chromium and chromedriver are not installed")
    path = tmp_path_factory.mktemp("page") / "report.html"
    write(path, CASES)
    conclude(f"page of {CASES} cases: {path.stat().st_size / 1e6:.1f} MB")
    with browser.chromium(*found) as chromium:
        each = [opening(chromium, path) for _ in range(pytestconfig.getoption("rounds") or ROUNDS)]
        if complaints := chromium.get_log("browser"):
            pytest.fail(f"the console complains: {complaints[0]['message']}")
    return {moment: [one[moment] for one in each] for moment in MOMENTS}


@pytest.mark.benchmark(group=f"page of {CASES} cases, opened", timer=REPLAYED.now)
@pytest.mark.parametrize("moment", MOMENTS)
def bench_opening(benchmark, openings, moment):
    """Seconds from navigation until each moment, from the browser's own timings; 9 openings of one page from disk.

    ``processor`` is the time of the page's main thread on a processor until the charts in sight are drawn; ``every
    other chart drawn`` is counted from then on, with scrolling to each.
    """
    replay(benchmark, openings[moment])


@pytest.mark.benchmark(group=f"page of {CASES} cases, written")
def bench_writing(benchmark, tmp_path):
    """Seconds to create the cases and write their page, in this process; 3 rounds."""
    benchmark.pedantic(write, args=(tmp_path / "report.html", CASES), rounds=3)
