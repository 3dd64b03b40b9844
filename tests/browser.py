"""Headless Chromium for report pages: in tests, in measurements, and for screenshots."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new",
    # Root in a container needs this; the page is our own.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--window-size=1200,900",
)


def programs() -> tuple[str, str] | None:
    """Chromium and its driver, if both are installed."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (program, driver) if program and driver else None


@contextmanager
def chromium(program: str, driver: str) -> Iterator[webdriver.Chrome]:
    """A browser that is closed after the block."""
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        browser.set_script_timeout(60)
        yield browser
    finally:
        browser.quit()


def draw(browser: webdriver.Chrome, name: str) -> int:
    """Scroll to a chart and wait until it is drawn; returns the number of rows it shows."""
    script = """
        const [name, done] = arguments, section = document.getElementById(name);
        const look = () => {
            if (section.dataset.state === "drawn") done(Number(section.dataset.rows));
            else requestAnimationFrame(look);
        };
        section.scrollIntoView({behavior: "instant"});
        look();
    """
    return int(browser.execute_async_script(script, name))


def charts(browser: webdriver.Chrome) -> list[str]:
    """The names of all charts on the open page."""
    script = "return [...document.querySelectorAll('section.chart:has(.picture)')].map(chart => chart.id)"
    return list(browser.execute_script(script))
