"""The table of all options: how each is declared to pytest, and its help."""

from dataclasses import fields

import pytest

from pytest_dlbench import options
from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import METRICS
from pytest_dlbench.options import OPTIONS, Options
from pytest_dlbench.options.parsers import flag

rows = pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)


class Declared:
    """A parser that records what is declared."""

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


def test_every_field_of_options_is_a_row_of_the_table():
    assert [*(option.name for option in OPTIONS), "typed_tolerance", "later_tolerance", "again"] == [
        field.name for field in fields(Options)
    ]


@rows
def test_every_row_is_a_flag_and_an_ini_key(option):
    declared = Declared()
    assert option.flag in declared.flags
    assert option.key in declared.keys


@rows
def test_every_flag_has_its_ini_key_as_dest(option):
    assert Declared().flags[option.flag]["dest"] == option.key


@rows
def test_every_ini_key_is_written_with_underscores(option):
    assert option.key == option.flag.removeprefix("--").replace("-", "_")


@pytest.mark.parametrize("key", ["dlbench_max-runs", "dlbench-max-runs"])
def test_an_ini_key_with_hyphens_is_refused_with_the_right_one(key):
    with pytest.raises(OptionError, match=f"ini key {key}: .* underscores: dlbench_max_runs$"):
        options.check_keys(["addopts", key])


@pytest.mark.parametrize(
    ("key", "nearest"), [("dlbench_runz", "dlbench_runs"), ("dlbench_max_run", "dlbench_max_runs")]
)
def test_an_unknown_ini_key_is_refused_with_the_nearest(key, nearest):
    with pytest.raises(OptionError, match=f"unknown key '{key}'(.|\n)*did you mean '{nearest}'"):
        options.check_keys([key])


@pytest.mark.parametrize(
    ("flag", "advice"),
    [
        ("--dlbench-framework=jax", "--dlbench-framework; did you mean --dlbench-frameworks?"),
        ("--dlbench-dataset", "--dlbench-dataset; did you mean --dlbench-datasets?"),
        ("--dlbench-zzz", "--dlbench-zzz; pytest --help lists them"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest(flag, advice):
    with pytest.raises(OptionError) as caught:
        options.check_flags(["--unlike-ours", flag])
    assert str(caught.value) == f"unknown option {advice}"


def test_ini_keys_of_other_plugins_may_have_hyphens():
    options.check_keys(["some-plugins-key", "dlbench_max_runs"])


@rows
def test_every_help_begins_with_a_capital_letter(option):
    assert option.help[0].isupper()


@rows
def test_every_help_ends_with_a_period(option):
    assert option.help.endswith(".")


@rows
def test_every_help_on_the_command_line_ends_with_a_period_or_the_default(option):
    shown = Declared().flags[option.flag]["help"] % {}
    assert shown.endswith((".", f" [{option.default}]"))


@rows
def test_every_help_can_be_shown_by_argparse(option):
    assert Declared().flags[option.flag]["help"] % {} == option.help + (
        f" [{option.default}]" if option.default not in ("", "false") else ""
    )


@rows
def test_every_option_that_takes_a_value_has_a_metavar(option):
    takes_none = option.parse is flag
    assert bool(option.metavar) != takes_none


@rows
def test_every_default_can_be_parsed(option):
    option.read(option.default, option.flag, METRICS)
