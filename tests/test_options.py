from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench import options
from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import parse_tolerances
from pytest_dlbench.options import OPTIONS, Options
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
        ("tolerance", parse_tolerances([], "")),
        ("runs", 3),
        ("scale", "quick"),
        ("frameworks", ()),
        ("models", ()),
        ("datasets", ()),
        ("devices", ()),
        ("timeout", 600.0),
        ("seed", 1),
        ("baselines", ROOT / "baselines"),
        ("journals", ROOT / ".dlbench"),
    ],
)
def test_without_a_word_each_option_has_its_default(name, value):
    assert getattr(read(), name) == value


def test_without_a_word_a_worker_has_all_cores():
    assert read().threads >= 1


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
    ("frameworks", "pytorch,jax", ("pytorch", "jax")),
    ("models", "mnist-cnn", ("mnist-cnn",)),
    ("datasets", " digits28 , ", ("digits28",)),
    ("devices", "cpu", ("cpu",)),
    ("threads", "4", 4),
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
    ("scale", "ful", "known: full, quick, smoke"),
    ("allow", "no_baselin", "did you mean 'no_baseline'?"),
    ("allow", "inconclusive,no_baselin", "unknown outcome 'no_baselin'"),
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


def test_fewer_runs_can_be_done_without_saving():
    assert read({"runs": "1"}).runs == 1


# The table

rows = pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)


class Declared:
    """A parser that keeps what it is told."""

    def __init__(self):
        self.flags, self.keys = {}, {}
        options.declare(self)

    def getgroup(self, name, description):
        self.group = (name, description)
        return self

    def addoption(self, flag, **attributes):
        self.flags[flag] = attributes

    def addini(self, key, **attributes):
        self.keys[key] = attributes


def test_every_field_of_the_options_is_a_row():
    assert [option.name for option in OPTIONS] == [field.name for field in fields(Options)]


@rows
def test_every_row_is_a_flag_and_an_ini_key(option):
    declared = Declared()
    assert option.flag in declared.flags
    assert option.key in declared.keys


@rows
def test_every_flag_is_kept_under_its_ini_key(option):
    assert Declared().flags[option.flag]["dest"] == option.key


@rows
def test_every_help_begins_with_a_capital_letter(option):
    assert option.help[0].isupper()


@rows
def test_every_help_ends_with_a_period(option):
    assert option.help.endswith(".")


@rows
def test_every_help_on_the_command_line_ends_with_a_period_or_the_default(option):
    shown = Declared().flags[option.flag]["help"]
    assert shown.endswith((".", f" [{option.default}]"))


@rows
def test_every_help_can_be_shown_by_argparse(option):
    assert Declared().flags[option.flag]["help"] % {} == option.help + (
        f" [{option.default}]" if option.default not in ("", "false") else ""
    )


@rows
def test_every_option_that_takes_a_value_says_of_what_kind(option):
    takes_none = option.parse is options.flag
    assert bool(option.metavar) != takes_none


@rows
def test_every_default_can_be_read(option):
    option.parse(option.default, option.flag)
