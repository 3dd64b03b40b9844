import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import METRICS, parse_tolerances

OF_OPERATORS = {name: 0.05 for name, metric in METRICS.items() if metric.purpose == "operator" and metric.unit == "s"}
DEFAULTS = {"step_time": 0.05, "latency": 0.05, "accuracy": 1.0, "peak_rss": 0.02, "leak": 2.0, **OF_OPERATORS}


def parsed(*texts):
    return parse_tolerances(texts, "--dlbench-tolerance", METRICS)


def complaint(*texts):
    with pytest.raises(OptionError) as caught:
        parsed(*texts)
    return str(caught.value)


def test_by_default_metrics_have_their_own_tolerances():
    assert parsed() == DEFAULTS


@pytest.mark.parametrize(
    ("text", "name", "amount"),
    [
        ("step_time:5%", "step_time", 0.05),
        ("step_time:2.5%", "step_time", 0.025),
        ("step_time:.5%", "step_time", 0.005),
        ("step_time:10 %", "step_time", 0.1),
        ("accuracy:1pp", "accuracy", 1.0),
        ("accuracy:0.25pp", "accuracy", 0.25),
        ("peak_rss:2%", "peak_rss", 0.02),
    ],
)
def test_an_amount_is_read_with_its_unit(text, name, amount):
    assert parsed(text)[name] == pytest.approx(amount)


def test_what_is_set_leaves_the_others_as_they_are():
    assert parsed("accuracy:3pp") == {**DEFAULTS, "accuracy": 3.0}


def test_several_can_be_set():
    assert parsed("accuracy:3pp", "step_time:1%") == {**DEFAULTS, "accuracy": 3.0, "step_time": 0.01}


def test_the_last_of_one_metric_counts():
    assert parsed("step_time:1%", "step_time:9%")["step_time"] == pytest.approx(0.09)


def test_a_metric_without_a_tolerance_is_judged_when_it_gets_one():
    assert parsed("throughput:5%") == {**DEFAULTS, "throughput": 0.05}


@given(st.sampled_from(sorted(METRICS)), st.integers(min_value=1, max_value=99), st.integers(0, 99))
def test_every_metric_takes_every_amount(name, whole, hundredths):
    amount = float(f"{whole}.{hundredths:02d}")
    is_points = METRICS[name].kind == "points"
    text = f"{name}:{whole}.{hundredths:02d}{'pp' if is_points else '%'}"
    assert parsed(text)[name] == pytest.approx(amount if is_points else amount / 100)


BAD = [
    "step_tme:5%",
    "step_time=5%",
    "step_time:five%",
    "step_time:-5%",
    "step_time:5",
    "step_time:5pp",
    "step_time:0%",
]


@pytest.mark.parametrize("text", BAD)
def test_a_complaint_names_the_option(text):
    assert complaint(text).startswith("--dlbench-tolerance: ")


@pytest.mark.parametrize("text", ["step_time=5%", "step_time:five%", "step_time:-5%", "step_time:5", "step_time:5pp"])
def test_a_complaint_quotes_the_value(text):
    assert repr(text) in complaint(text)


@pytest.mark.parametrize("text", ["", "step_time", "5%", "step_time=5%"])
def test_a_text_without_a_metric_and_an_amount_is_shown_an_example(text):
    assert "METRIC:AMOUNT such as step_time:5%" in complaint(text)


def test_an_unknown_metric_is_named():
    assert "unknown metric 'step_tme'" in complaint("step_tme:5%")


def test_the_error_for_an_unknown_metric_lists_the_known_ones():
    assert f"known: {', '.join(sorted(METRICS))}" in complaint("step_tme:5%")


def test_the_error_for_an_unknown_metric_suggests_the_closest_match():
    assert "did you mean 'step_time'?" in complaint("step_tme:5%")


def test_a_metric_unlike_all_known_ones_has_no_closest_match():
    assert "did you mean" not in complaint("xyz:5%")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("step_time:5pp", "unknown unit 'pp' in 'step_time:5pp'; step_time is judged in %: step_time:5%"),
        ("accuracy:1%", "unknown unit '%' in 'accuracy:1%'; accuracy is judged in pp: accuracy:1pp"),
        ("step_time:5", "a unit is missing in 'step_time:5'; step_time is judged in %: step_time:5%"),
    ],
)
def test_another_unit_is_answered_with_what_is_right(text, told):
    assert complaint(text) == f"--dlbench-tolerance: {told}"


@pytest.mark.parametrize(
    "text", ["step_time:five%", "step_time:-5%", "step_time:%", "step_time:nan%", "step_time:inf%"]
)
def test_an_amount_that_is_no_number_is_shown_an_example(text):
    assert "expected an amount such as step_time:5%" in complaint(text)


@pytest.mark.parametrize("text", ["step_time:0%", "accuracy:0.0pp"])
def test_no_tolerance_at_all_is_refused(text):
    assert "expected a tolerance above 0" in complaint(text)


def test_one_bad_text_among_good_ones_is_refused():
    assert "'step_tme'" in complaint("accuracy:1pp", "step_tme:5%")


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        (f"step_time:{'9' * 320}%", "above 0 and up to 1000%"),
        ("step_time:1001%", "above 0 and up to 1000%"),
        (f"step_time:0.{'0' * 400}1%", "above 0 and up to 1000%"),
        ("accuracy:101pp", "above 0 and up to 100pp"),
        (f"accuracy:{'9' * 320}pp", "above 0 and up to 100pp"),
    ],
)
def test_a_tolerance_at_which_nothing_fails_is_refused_with_the_range(text, allowed):
    assert f"expected a tolerance {allowed}, got '{text[:40]}" in complaint(text)
    assert len(complaint(text)) < 150


@pytest.mark.parametrize("text", ["step_time:1000%", "accuracy:100pp"])
def test_the_largest_tolerances_are_accepted(text):
    name, _, amount = text.partition(":")
    assert parsed(text)[name] == {"1000%": 10, "100pp": 100}[amount]
