"""Pages of a report in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests import browser


# Not session-scoped: later tests check for leftover processes.
@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    if (found := browser.programs()) is None:
        pytest.skip("needs chromium and chromium-driver, to open pages as a reader does")
    with browser.chromium(*found) as opened:
        yield opened


class Page:
    """An open report."""

    def __init__(self, browser: webdriver.Chrome) -> None:
        self.browser = browser

    def run(self, script: str, *arguments: object) -> object:
        """The value that a script returns; promises are awaited."""
        return self.browser.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """The messages of the console, and blocked or failed requests."""
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def draw(self, name: str) -> int:
        """Scroll to a chart and wait until it is drawn; returns how many rows it shows."""
        return browser.draw(self.browser, name)

    def choose(self, axis: str, value: str) -> None:
        """Tick a value of a filter."""
        self.run("document.getElementById('filters').scrollIntoView({behavior: 'instant'})")
        details = self.browser.find_element("css selector", f".axis[data-axis={axis}]")
        if not details.get_attribute("open"):
            details.find_element("css selector", "summary").click()
        (box,) = (box for box in details.find_elements("css selector", "input") if box.get_attribute("value") == value)
        box.click()

    def count(self) -> str:
        """The line with the number of cases shown."""
        return self.browser.find_element("id", "count").text


@pytest.fixture
def open_page(chromium):
    def open_it(path: Path) -> Page:
        chromium.get_log("browser")
        chromium.get(path.as_uri())
        return Page(chromium)

    return open_it
