"""How long a reader waits for a page of 500 cases, in headless Chromium.

python -m tests.perf.page --openings 9
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import monotonic

from selenium import webdriver

from pytest_dlbench.reporting.page import page
from pytest_dlbench.reporting.page.gathering import Gathered
from tests import browser
from tests.doubles import records
from tests.doubles.judged import judged, measured

FRAMEWORKS = 10
# What the page's main thread has worked for it, in seconds on a processor, by the name that the browser has for it.
WORK = {
    "ScriptDuration": "scripts",
    "LayoutDuration": "layout",
    "RecalcStyleDuration": "styles",
    "TaskDuration": "all, reading and painting included",
}


def write(path: Path, cases: int) -> None:
    """A page of so many cases of three runs with 800 steps each, all of them compared."""
    compared = {"verdicts": (records.verdict(), records.verdict(metric="peak_rss")), "message": "told " * 100}
    found = [
        judged(f"framework-{number % FRAMEWORKS}", f"model-{number // FRAMEWORKS}", steps=800, result=compared)
        for number in range(cases)
    ]
    page.write(path, Gathered(cases=measured(*found), sessions=("one",)))


def opening(chromium: webdriver.Chrome, path: Path) -> Mapping[str, float]:
    """Seconds since navigation began, and seconds of work, of one opening; then of drawing all other charts."""
    chromium.execute_cdp_cmd("Performance.disable", {})
    chromium.get("about:blank")
    # Its main thread's time on a processor: what neighbours on the machine do is not in it.
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
    work = {told: metrics[name] for name, told in WORK.items()}
    began, names = monotonic(), browser.charts(chromium)
    for name in names:
        browser.draw(chromium, name)
    return {
        "read and laid out": read,
        "loaded, scripts run": loaded,
        "charts in sight drawn": drawn,
        **{f"  processor: {name}": seconds for name, seconds in work.items()},
        f"then every chart, one after the other ({len(names)})": monotonic() - began,
    }


def told(values: Sequence[float]) -> str:
    """Median and range."""
    return f"{median(values):7.2f} s  ({min(values):.2f} to {max(values):.2f})"


def main() -> None:
    """Open again and again, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--openings", type=int, default=9)
    asked = parser.parse_args()
    if (found := browser.programs()) is None:
        sys.exit("needs chromium and chromium-driver")
    with tempfile.TemporaryDirectory() as folder, browser.chromium(*found) as chromium:
        path = Path(folder) / "report.html"
        write(path, asked.cases)
        print(f"{asked.cases} cases, {path.stat().st_size / 1e6:.1f} MB; median (range) of {asked.openings} openings:")
        openings = [opening(chromium, path) for _ in range(asked.openings)]
        if complaints := chromium.get_log("browser"):
            sys.exit(f"the console complains: {complaints[0]['message']}")
    for name in openings[0]:
        print(f"{name:52}{told([one[name] for one in openings])}")


if __name__ == "__main__":
    main()
