"""Pages of a report in a real browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new",
    # A container's root has no other way; the page is our own.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--window-size=1200,900",
)


# Not for the session: tests that come later look for processes that were left behind.
@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("needs chromium and chromium-driver, to open pages as a reader does")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_script_timeout(60)
    yield browser
    browser.quit()


class Page:
    """An open report."""

    def __init__(self, browser: webdriver.Chrome) -> None:
        self.browser = browser

    def run(self, script: str, *arguments: object) -> object:
        """What a script returns, a promise's value when it is kept."""
        return self.browser.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """What the console shows, and any request that the page was not allowed or not able to make."""
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def draw(self, name: str) -> int:
        """Scroll to a chart and wait until it is drawn; gives how many rows it shows."""
        script = """
            const [name, done] = arguments, section = document.getElementById(name);
            const look = () => {
                if (section.dataset.state === "drawn") done(Number(section.dataset.rows));
                else requestAnimationFrame(look);
            };
            section.scrollIntoView({behavior: "instant"});
            look();
        """
        return int(self.browser.execute_async_script(script, name))

    def choose(self, axis: str, value: str) -> None:
        """Tick a value of a filter, as a reader does."""
        self.run("scrollTo({top: 0, behavior: 'instant'})")
        details = self.browser.find_element("css selector", f".axis[data-axis={axis}]")
        if not details.get_attribute("open"):
            details.find_element("css selector", "summary").click()
        (box,) = (box for box in details.find_elements("css selector", "input") if box.get_attribute("value") == value)
        box.click()

    def count(self) -> str:
        """The line that says how many cases are shown."""
        return self.browser.find_element("id", "count").text


@pytest.fixture
def open_page(chromium):
    def open_it(path: Path) -> Page:
        chromium.get_log("browser")
        chromium.get(path.as_uri())
        return Page(chromium)

    return open_it
