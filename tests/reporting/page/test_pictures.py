"""Charts as files, without a browser."""

import pytest

from pytest_dlbench.reporting.charts import accuracy, look, step_series, utilisation
from pytest_dlbench.reporting.charts import threads as threads_chart
from pytest_dlbench.reporting.page import pictures
from tests.doubles.judged import judged, measured

CASES = measured(judged(), judged("jax"))


def test_a_chart_becomes_an_svg_and_a_png(tmp_path):
    svg, png = pictures.write(accuracy.chart(CASES), CASES, tmp_path)
    assert svg.read_text().startswith("<svg")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_a_chart_with_a_choice_shows_the_first_and_says_so():
    drawn = pictures.specification(step_series.chart(CASES), CASES)
    assert drawn["title"]["subtitle"] == ["pytorch · tartu-mnist-cnn (1 of 2)"]
    assert {row["case"] for row in drawn["datasets"]["rows"]} == {"pytorch · tartu-mnist-cnn"}


def test_a_picture_of_many_cases_shows_the_first_ones_and_says_so():
    cases = measured(*(judged(model=f"model-{number}", runs=1) for number in range(pictures.MOST + 5)))
    drawn = pictures.specification(accuracy.chart(cases), cases)
    assert drawn["title"]["subtitle"] == ["the first 30 of 35"]
    assert len(drawn["datasets"]["rows"]) == pictures.MOST


def test_a_constant_line_is_in_the_picture_too():
    drawn = pictures.specification(utilisation.chart(CASES), CASES)
    assert [{"roof": 100}] in drawn["datasets"].values()


def test_a_long_legend_does_not_shrink_the_plot():
    few, many = (
        measured(*(judged(f"framework-{n}", threads=threads) for n in range(count) for threads in (1, 2)))
        for count in (4, 24)
    )
    heights = [pictures.specification(threads_chart.chart(cases), cases)["height"] for cases in (few, many)]
    assert heights == [look.HEIGHT, look.HEIGHT + 4 * pictures.LEGEND_LINE]


def test_two_dozen_frameworks_have_two_dozen_colours():
    for theme in pictures.THEMES.values():
        assert len(set(theme["range"]["category"])) >= 24


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_have_colours_for_the_same_parts(theme):
    assert pictures.THEMES[theme].keys() == pictures.THEMES["light"].keys()
