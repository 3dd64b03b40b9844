"""The report as readers see it: opened from the disk, in a real browser."""

import json

import pytest
from selenium.webdriver.support.ui import WebDriverWait

from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.records.reasons import NoBaseline, Repeat, Survivors, Unavailable
from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.charts import CHARTS, Chart
from pytest_dlbench.reporting.page import page
from pytest_dlbench.reporting.page.gathering import Gathered
from tests.browser import charts
from tests.doubles import records
from tests.doubles.judged import both_sides, judged, measured, unfinished

# Scripts that would run, one for each place that they could get into.
HOSTILE = (
    "</script><script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "<svg/onload=window.hacked=1>",
    "{{ 7*7 }}{% raw %}",
    "javascript:window.hacked=1",
    "<!--<script>",
    "\u2028');window.hacked=1//",
    "datum.x || (window.hacked=1)",
    "__proto__",
)
COMPARED = {"outcome": CaseOutcome.REGRESSED, "reasons": (records.compared(),), "verdicts": (records.verdict(),)}
CASES = measured(
    judged("tensorflow", result=COMPARED, threads=1),
    judged("mxnet", step=0.03, spread=0.1, threads=1),
    judged("mxnet", step=0.02, threads=2),
    judged("mxnet", "gatech-lenet", settings={"batch_size": 16}, threads=1),
    judged("mxnet", "gatech-lenet", settings={"batch_size": 64}, threads=1),
    unfinished(),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    page.write(path, Gathered(cases=CASES, sessions=("one", "two")))
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    hostile_result = {
        "outcome": CaseOutcome.CRASHED,
        "cautions": (Survivors(names=HOSTILE),),
        "reasons": (Unavailable(problem="\n".join(HOSTILE)), NoBaseline(machine="m", again=Repeat(node=HOSTILE[0]))),
    }
    cases = measured(
        *(
            judged(text, text, dataset=text, device=text, name=text, session=text, result=hostile_result)
            for text in HOSTILE
        ),
        *(judged("jax", text, settings={"init": value}) for text in HOSTILE for value in HOSTILE[:2]),
    )
    page.write(path, Gathered(cases=cases, sessions=HOSTILE, damages=HOSTILE))
    return path


def charts_of(cases):
    return [chart.name for chart in (draw(cases) for draw in CHARTS) if isinstance(chart, Chart)]


def test_every_chart_is_drawn_and_the_console_stays_empty(open_page, written):
    page = open_page(written)
    for name in charts_of(CASES):
        assert page.draw(name) > 0, name
    assert page.complaints() == []


def test_the_page_loads_nothing_else(open_page, written):
    page = open_page(written)
    for name in charts_of(CASES):
        page.draw(name)
    assert page.run("return performance.getEntriesByType('resource').map(entry => entry.name)") == []


def test_every_link_leads_somewhere_on_the_page(open_page, written):
    page = open_page(written)
    dead = page.run("return [...document.links].filter(a => !document.querySelector(a.hash)).map(a => a.outerHTML)")
    assert dead == []
    assert page.run("return document.links.length") > 10


def test_the_page_marks_when_the_visible_charts_are_drawn(open_page, written):
    page = open_page(written)
    script = """
        const done = arguments[0], look = () => {
            const [mark] = performance.getEntriesByName("charts-drawn");
            if (!mark) return requestAnimationFrame(look);
            const near = [...document.querySelectorAll("section.chart:has(.picture)")]
                .filter(chart => chart.getBoundingClientRect().top < innerHeight);
            done([mark.startTime, near.every(chart => chart.dataset.state === "drawn")]);
        };
        look();
    """
    milliseconds, is_drawn = page.browser.execute_async_script(script)
    assert milliseconds > 0
    assert is_drawn


def test_a_filter_changes_what_every_part_shows(open_page, written):
    page = open_page(written)
    before = {name: page.draw(name) for name in ("accuracy", "phases")}
    page.choose("framework", "tensorflow")
    assert page.count() == "1 of 6 cases"
    rows = page.run("return [...document.querySelectorAll('#cases tbody tr')].filter(row => !row.hidden).length")
    assert rows == 1
    after = {name: page.draw(name) for name in before}
    assert all(0 < after[name] < before[name] for name in before)
    assert page.draw("sweeps") == 0
    assert page.complaints() == []


def test_filters_of_two_axes_narrow_each_other_and_reset_shows_all(open_page, written):
    page = open_page(written)
    page.choose("framework", "mxnet")
    page.choose("model", "gatech-lenet")
    assert page.count() == "2 of 6 cases"
    page.browser.find_element("css selector", "button[type=reset]").click()
    assert page.count() == "6 of 6 cases"


def test_a_choice_shows_the_series_of_one_case(open_page, written):
    page = open_page(written)
    page.draw("step-series")
    labels = "return [...document.querySelectorAll('#step-series option')].map(option => option.value)"
    assert page.run(labels) == [case.label for case in CASES if case.finished]


def test_the_table_of_a_chart_has_its_rows(open_page, written):
    page = open_page(written)
    page.draw("accuracy")
    page.browser.find_element("css selector", "#accuracy summary").click()
    script = """
        const done = arguments[0], look = () => {
            const rows = document.querySelectorAll("#accuracy table tbody tr");
            rows.length ? done(rows.length) : requestAnimationFrame(look);
        };
        look();
    """
    assert page.browser.execute_async_script(script) == 15


def test_everything_can_be_reached_by_keyboard(open_page, written):
    page = open_page(written)
    script = """
        const all = document.querySelectorAll("a, button, select, input, summary, .scroll");
        return [...all].filter(element => element.tabIndex < 0).map(element => element.outerHTML);
    """
    assert page.run(script) == []


def test_every_picture_has_a_name_and_every_control_a_label(open_page, written):
    page = open_page(written)
    script = """
        const named = element => element.getAttribute("aria-label") || element.labels?.length || element.textContent;
        return [...document.querySelectorAll("[role=img], select, input, button")].filter(e => !named(e)).length;
    """
    assert page.run(script) == 0


def test_light_and_dark_themes_have_their_own_colours(open_page, written):
    page = open_page(written)
    page.draw("accuracy")
    colours = []
    for _ in range(2):
        colours.append(page.run("return getComputedStyle(document.body).backgroundColor"))
        page.run("document.getElementById('theme').click()")
    assert colours[0] != colours[1]
    assert page.complaints() == []


def test_nothing_is_wider_than_a_phone(open_page, written):
    page = open_page(written)
    phone = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        page = open_page(written)
        for name in charts_of(CASES):
            page.draw(name)
        assert page.run("return document.documentElement.scrollWidth") == 375
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_download_has_the_rows_and_no_formula(open_page, hostile):
    page = open_page(hostile)
    page.draw("accuracy")
    script = """
        const done = arguments[0];
        URL.createObjectURL = blob => { blob.text().then(done); return "#"; };
        document.querySelector("#accuracy [data-save=json]").click();
    """
    rows = json.loads(page.browser.execute_async_script(script))
    assert {row["framework"] for row in rows} == {*map(foreign.line, HOSTILE), "jax"}


def test_hostile_names_and_messages_do_nothing(open_page, hostile):
    page = open_page(hostile)
    for name in charts(page.browser):
        page.draw(name)
    page.run("document.querySelectorAll('details').forEach(details => details.open = true)")
    page.choose("framework", HOSTILE[1])
    assert page.run("return window.hacked ?? null") is None
    assert page.run("return document.querySelectorAll('main img, main script:not([type])').length") == 0
    assert page.complaints() == []


def test_hostile_names_are_shown_as_they_are(open_page, hostile):
    page = open_page(hostile)
    shown = page.run("return document.querySelector('#cases').textContent")
    assert all(foreign.line(text) in shown for text in HOSTILE)


@pytest.fixture
def sized(chromium):
    """Sets the width of the window until the test ends."""

    def set_width(width):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    yield set_width
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def has_edges(page, left, right, hinted):
    """Wait until the table of cases shows that it is cut on these sides, and says so; no hint yet: not drawn yet."""
    script = """
        const box = document.querySelector("#cases .scroll"), hint = document.querySelector("#cases .further");
        return hint && [box.classList.contains("more-left"), box.classList.contains("more-right"), !hint.hidden];
    """
    WebDriverWait(page, 30, 0.05).until(lambda page: page.run(script) == [left, right, hinted])


def test_a_table_that_is_cut_shows_where_it_continues(open_page, written, sized):
    sized(700)
    page = open_page(written)
    has_edges(page, left=False, right=True, hinted=True)
    page.run("document.querySelector('#cases .scroll').scrollLeft = 1e6")
    has_edges(page, left=True, right=False, hinted=True)


def test_a_table_that_fits_has_no_edge(open_page, written, sized):
    sized(1400)
    has_edges(open_page(written), left=False, right=False, hinted=False)


@pytest.mark.parametrize("width", [390, 1040, 1400])
def test_the_curves_of_two_dozen_frameworks_fit_into_the_page(open_page, tmp_path, sized, width):
    cases = measured(*(judged(f"framework-{number:02}", step=0.01 * (1 + number)) for number in range(24)))
    path = tmp_path / "report.html"
    page.write(path, Gathered(cases=cases, sessions=("one",)))
    sized(width)
    opened = open_page(path)
    for name in ("accuracy-time", "accuracy-epochs", "losses"):
        opened.draw(name)
        script = """
            const picture = document.querySelector(`#${arguments[0]} .picture`);
            const [svg, room] = [picture.querySelector("svg"), picture.getBoundingClientRect().width];
            return [svg.viewBox.baseVal.width <= room, svg.viewBox.baseVal.width > 0.85 * room];
        """
        assert opened.run(script, name) == [True, True], name
    assert opened.complaints() == []


def test_the_baseline_side_of_pairs_is_no_case_of_its_own(open_page, tmp_path):
    path = tmp_path / "report.html"
    sides = both_sides(step=0.012, outcome=CaseOutcome.REGRESSED, verdicts=(records.verdict(),))
    page.write(path, Gathered(cases=measured(*sides), sessions=("one",)))
    opened = open_page(path)
    assert opened.count() == "1 of 1 cases"
    assert "baseline" not in opened.run("return document.title")
    for name in charts(opened.browser):
        assert opened.draw(name) > 0
