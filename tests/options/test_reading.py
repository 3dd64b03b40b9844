from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench import options
from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import GATE_FAILING, METRICS, parse_tolerances
from pytest_dlbench.records import CaseOutcome

ROOT = Path("/repository")


def read(command_line=None, ini=None):
    """Options of what was typed and of what stands in the ini file, both by the name of the option."""
    typed = {f"dlbench_{name}": value for name, value in (command_line or {}).items()}
    written = {f"dlbench_{name}": value for name, value in (ini or {}).items()}
    return options.read(typed.get, written.get, ROOT)


def complaint(command_line=None, ini=None):
    with pytest.raises(OptionError) as caught:
        read(command_line, ini)
    return str(caught.value)


# What is there without a word


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("save", False),
        ("reason", ""),
        ("compare", False),
        ("allow", frozenset()),
        ("strict", False),
        ("tolerance", parse_tolerances([], "", METRICS)),
        ("runs", 3),
        ("scale", "quick"),
        ("allocator", "tuned"),
        ("frameworks", ()),
        ("models", ()),
        ("datasets", ()),
        ("devices", ()),
        ("settings", {}),
        ("plan", False),
        ("json", None),
        ("history", ""),
        ("group_by", ()),
        ("columns", ()),
        ("sort", ""),
        ("timeout", 600.0),
        ("seed", 1),
        ("baselines", ROOT / "baselines"),
        ("journals", ROOT / ".dlbench"),
    ],
)
def test_without_a_word_each_option_has_its_default(name, value):
    assert getattr(read(), name) == value


def test_without_a_word_a_worker_has_all_cores():
    assert read().threads[0] >= 1


# What is typed, and what is written

GIVEN = [
    ("save", "true", True),
    ("reason", " torch 2.13 ", "torch 2.13"),
    ("compare", "true", True),
    ("compare", "FALSE", False),
    ("allow", "no_baseline, inconclusive", {CaseOutcome.NO_BASELINE, CaseOutcome.INCONCLUSIVE}),
    ("strict", "true", True),
    ("runs", "5", 5),
    ("scale", "full", "full"),
    ("allocator", "default", "default"),
    ("frameworks", "pytorch,jax", ("pytorch", "jax")),
    ("models", "mnist-cnn", ("mnist-cnn",)),
    ("datasets", " digits28 , ", ("digits28",)),
    ("devices", "cpu", ("cpu",)),
    ("threads", "4,1,4", (4, 1)),
    ("timeout", "0.5", 0.5),
    ("seed", "42", 42),
    ("baselines", "figures", ROOT / "figures"),
    ("baselines", "/elsewhere", Path("/elsewhere")),
    ("journals", "logs", ROOT / "logs"),
]
# Saving wants a reason beside it.
WITH = {"save": {"reason": "because"}}


@pytest.mark.parametrize(("name", "text", "value"), GIVEN)
def test_each_option_can_be_typed(name, text, value):
    assert getattr(read({name: text, **WITH.get(name, {})}), name) == value


@pytest.mark.parametrize(("name", "text", "value"), GIVEN)
def test_each_option_can_stand_in_the_ini_file(name, text, value):
    assert getattr(read(ini={name: text, **WITH.get(name, {})}), name) == value


@pytest.mark.parametrize(
    ("name", "typed", "written", "value"),
    [
        ("runs", "7", "5", 7),
        ("scale", "smoke", "full", "smoke"),
        ("frameworks", "jax", "pytorch", ("jax",)),
        ("reason", "typed", "written", "typed"),
    ],
)
def test_what_is_typed_beats_what_is_written(name, typed, written, value):
    assert getattr(read({name: typed}, {name: written}), name) == value


def test_what_is_typed_leaves_what_is_written_elsewhere():
    assert read({"runs": "7"}, {"scale": "full"}).scale == "full"


def test_a_repeated_tolerance_sets_each_metric():
    found = read({"tolerance": ["step_time:1%", "accuracy:2pp"]}).tolerance
    assert (found["step_time"], found["accuracy"]) == (0.01, 2.0)


def test_tolerances_with_a_comma_between_them_set_each_metric():
    found = read({"tolerance": ["step_time:1%,accuracy:2pp"]}).tolerance
    assert (found["step_time"], found["accuracy"]) == (0.01, 2.0)


def test_tolerances_can_stand_in_the_ini_file():
    assert read(ini={"tolerance": "step_time:1%, accuracy:2pp"}).tolerance["accuracy"] == 2.0


@given(st.integers(min_value=1, max_value=10**6))
def test_every_whole_number_is_one(number):
    assert read({"runs": str(number)}).runs == number


@given(st.text(max_size=6))
def test_whatever_is_typed_for_a_number_is_one_or_is_refused_by_name(text):
    try:
        found = read({"runs": text}).runs
    except OptionError as error:
        found = str(error)
    assert found.startswith("--dlbench-runs: ") if isinstance(found, str) else found >= 1


# What means nothing

BAD = [
    ("runs", "0", "a whole number, 1 or more"),
    ("runs", "-1", "a whole number, 1 or more"),
    ("runs", "2.5", "a whole number, 1 or more"),
    ("runs", "many", "a whole number, 1 or more"),
    ("runs", "", "a whole number, 1 or more"),
    ("threads", "0", "a whole number, 1 or more"),
    ("seed", "x", "a whole number, 1 or more"),
    ("timeout", "0", "a number of seconds above 0"),
    ("timeout", "-3", "a number of seconds above 0"),
    ("timeout", "nan", "a number of seconds above 0"),
    ("timeout", "inf", "a number of seconds above 0"),
    ("timeout", "soon", "a number of seconds above 0"),
    ("scale", "ful", "did you mean 'full'?"),
    ("allocator", "jemalloc", "known: default, tuned"),
    ("scale", "ful", "known: full, quick, smoke"),
    ("allow", "no_baselin", "did you mean 'no_baseline'?"),
    ("allow", "inconclusive,no_baselin", "unknown outcome 'no_baselin'"),
    ("allow", "regressed", "known: incomparable, inconclusive, invalid, no_baseline, skipped, suspect, unsupported"),
    ("compare", "yes", "expected true or false"),
    ("strict", "", "expected true or false"),
]


@pytest.mark.parametrize(("name", "text", "right"), BAD)
def test_a_bad_value_is_answered_with_what_is_right(name, text, right):
    assert right in complaint({name: text})


@pytest.mark.parametrize(("name", "text", "right"), BAD)
def test_a_bad_value_is_quoted(name, text, right):
    assert repr(text.rpartition(",")[2]) in complaint({name: text})


@pytest.mark.parametrize(("name", "text", "right"), BAD)
def test_a_bad_value_is_told_with_the_option_it_was_typed_for(name, text, right):
    assert complaint({name: text}).startswith(f"--dlbench-{name}: ")


@pytest.mark.parametrize(("name", "text", "right"), BAD)
def test_a_bad_value_is_told_with_the_ini_key_it_was_written_for(name, text, right):
    assert complaint(ini={name: text}).startswith(f"ini key dlbench_{name}: ")


def test_a_bad_tolerance_is_told_with_the_option_and_the_value():
    text = complaint({"tolerance": ["accuracy:1pp", "step_tme:5%"]})
    assert text.startswith("--dlbench-tolerance: unknown metric 'step_tme'")


@pytest.mark.parametrize("outcome", sorted(set(CaseOutcome) - GATE_FAILING))
def test_an_outcome_on_which_no_gate_fails_of_its_own_cannot_be_allowed(outcome):
    assert f"unknown outcome {outcome.value!r}" in complaint({"allow": outcome.value})


@pytest.mark.parametrize("outcome", sorted(GATE_FAILING))
def test_an_outcome_on_which_only_a_gate_fails_can_be_allowed(outcome):
    assert read({"allow": outcome.value}).allow == {outcome}


# Settings


def test_settings_that_are_typed_one_by_one_are_gathered():
    assert read({"set": ["learning_rate=0.01", "batch_size=50,500"]}).settings == {
        "batch_size": (50, 500),
        "learning_rate": (0.01,),
    }


def test_settings_can_stand_in_the_ini_file():
    assert read(ini={"set": "batch_size=50,500, learning_rate=0.01"}).settings["batch_size"] == (50, 500)


def test_a_bad_setting_is_told_with_the_flag_as_it_is_typed():
    assert complaint({"set": ["batch=50"]}).startswith("--dlbench-set: unknown setting 'batch'")


# Saving


def test_saving_without_a_reason_is_refused_with_an_example():
    assert complaint({"save": "true"}).endswith('--dlbench-reason "first baseline"')


def test_saving_with_an_empty_reason_is_refused():
    assert "--dlbench-reason" in complaint({"save": "true", "reason": "  "})


@pytest.mark.parametrize("runs", ["1", "2"])
def test_saving_too_few_runs_is_refused_with_both_numbers(runs):
    text = complaint({"save": "true", "reason": "because", "runs": runs})
    assert text == f"--dlbench-save: needs --dlbench-runs 3 or more, got {runs}"


def test_three_runs_with_a_reason_can_be_saved():
    assert read({"save": "true", "reason": "because", "runs": "3"}).save


@pytest.mark.parametrize(
    ("key", "flag", "value"),
    [
        ("budget", "--dlbench-budget", "5m"),
        ("max_runs", "--dlbench-max-runs", "6"),
        ("false_alarms", "--dlbench-false-alarms", "5%"),
    ],
)
def test_what_is_for_pairs_is_refused_where_there_are_none(key, flag, value):
    with pytest.raises(OptionError, match=f"{flag}: is for pairs, and this session has none"):
        read({key: value})
    assert read({key: value, "ab": "pytorch==2.12.0,pytorch==2.13.0"}).ab
    assert read(ini={key: value})


def test_fewer_runs_can_be_done_without_saving():
    assert read({"runs": "1"}).runs == 1


# Again


def test_a_case_is_repeated_with_the_flags_that_decide_what_it_is():
    typed = {"scale": "smoke", "runs": "5", "threads": "2", "seed": "7", "baselines": "figures"}
    assert set(read(typed).again) == {f"--dlbench-{name}={value}" for name, value in typed.items()}


def test_a_case_is_repeated_with_every_setting():
    typed = {"set": ["batch_size=50,500", "learning_rate=0.01"]}
    assert read(typed).again == ("--dlbench-set=batch_size=50,500", "--dlbench-set=learning_rate=0.01")


def test_a_case_is_repeated_without_the_flags_that_say_what_becomes_of_it():
    typed = {"save": "true", "reason": "because", "compare": "true", "allow": "no_baseline", "models": "mnist-cnn"}
    assert read({**typed, "tolerance": ["step_time:1%"]}).again == ()


def test_a_case_is_repeated_without_what_the_ini_file_says_again():
    assert read(ini={"scale": "smoke", "runs": "5"}).again == ()


# Tables and files


@pytest.mark.parametrize(("name", "value"), [("group_by", "modle"), ("columns", "accurcy"), ("sort", "step_tme")])
def test_a_wish_for_tables_that_nobody_knows_is_refused_with_the_nearest(name, value):
    assert "did you mean" in complaint({name: value})


def test_columns_are_in_the_order_in_which_they_were_named():
    assert read({"columns": "verdict,accuracy"}).columns == ("verdict", "accuracy")


def test_files_are_relative_to_the_root():
    asked = read({"json": "out/session.json", "history": "history"})
    assert (asked.json, asked.history) == (ROOT / "out/session.json", str(ROOT / "history"))


def test_an_address_of_a_history_stays_as_it_is():
    assert read({"history": "s3://bucket/history"}).history == "s3://bucket/history"


def test_a_typed_tolerance_leaves_the_others_of_the_ini_file():
    found = read({"tolerance": ["step_time:1%"]}, {"tolerance": "accuracy:3pp, step_time:8%"})
    assert (found.tolerance["step_time"], found.tolerance["accuracy"]) == (0.01, 3.0)
    assert found.typed_tolerance == {"step_time": 0.01}
