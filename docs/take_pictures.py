"""Pictures of a report for the documentation: light, dark, and as a phone shows it; and single charts, made small.

dlbench report .dlbench -o report
python -m docs.take_pictures report/report.html --chart report/charts/frameworks.png -o docs/pictures
"""

import argparse
import base64
import io
import sys
from pathlib import Path

from PIL import Image
from selenium import webdriver

from tests import browser

WIDTH, PHONE_WIDTH = 1100, 390
THEMES = ("light", "dark")


def picture(
    chromium: webdriver.Chrome, path: Path, *, theme: str, width: int, last: str, is_phone: bool
) -> Image.Image:
    """The page from its top to the end of the section ``last``, with every chart drawn by then."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": is_phone}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = [{"name": "prefers-color-scheme", "value": theme}]
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    chromium.get(path.as_uri())
    for name in browser.charts(chromium):
        browser.draw(chromium, name)
        if name == last:
            break
    chromium.execute_script("scrollTo({top: 0, behavior: 'instant'})")
    if not (end := chromium.find_elements("id", last)):
        names = ", ".join(browser.charts(chromium))
        sys.exit(f"{path} has no section {last!r} to end with; name another: --last and --last-on-phone, of {names}")
    clip = {"x": 0, "y": 0, "width": width, "height": end[0].rect["y"] + end[0].rect["height"] + 12, "scale": 1}
    shot = chromium.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    return Image.open(io.BytesIO(base64.b64decode(shot["data"])))


def save(image: Image.Image, path: Path) -> None:
    """A third of the size that it would have in full."""
    # By median cut the few pixels of a chart's colours would become those of the many around them.
    small = image.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main() -> None:
    """Write ``report-light.png``, ``report-dark.png``, ``report-phone.png``, and every chart under its own name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--chart", type=Path, action="append", default=[], help="A picture of a chart; repeatable.")
    parser.add_argument("--last", default="frameworks", help="The section that a picture ends with [frameworks].")
    parser.add_argument("--last-on-phone", default="changes", help="And the one that a phone's ends with [changes].")
    asked = parser.parse_args()
    if (found := browser.programs()) is None:
        sys.exit("needs chromium and chromium-driver")
    path = asked.report.resolve()
    with browser.chromium(*found) as chromium:
        taken = {
            theme: picture(chromium, path, theme=theme, width=WIDTH, last=asked.last, is_phone=False)
            for theme in THEMES
        }
        taken["phone"] = picture(
            chromium, path, theme="light", width=PHONE_WIDTH, last=asked.last_on_phone, is_phone=True
        )
    asked.output.mkdir(parents=True, exist_ok=True)
    for name, image in taken.items():
        save(image, asked.output / f"report-{name}.png")
    for chart in asked.chart:
        save(Image.open(chart), asked.output / chart.name)


if __name__ == "__main__":
    main()
