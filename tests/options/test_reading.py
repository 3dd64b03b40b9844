from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench import options
from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import GATE_FAILING, METRICS, parse_tolerances, shown_in
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting.columns import STUDIES

ROOT = Path("/repository")


def read(command_line=None, ini=None):
    """The options from a command line and an ini file; both map names of options to texts."""
    typed = {f"dlbench_{name}": value for name, value in (command_line or {}).items()}
    written = {f"dlbench_{name}": value for name, value in (ini or {}).items()}
    return options.read(typed.get, written.get, ROOT)


def error_of(command_line=None, ini=None):
    with pytest.raises(OptionError) as caught:
        read(command_line, ini)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("cpu,gpu", ("cpu", "gpu")),
        ("gpu:0", ("gpu:0",)),
        ("gpu:0,1", ("gpu:0,1",)),
        ("cpu,gpu:2, 0", ("cpu", "gpu:2,0")),
        ("gpu:0,gpu:1,cpu", ("gpu:0,1", "cpu")),
        ("cpu,1", ("cpu", "1")),
    ],
)
def test_the_numbers_of_gpus_are_one_device(text, devices):
    assert read({"devices": text}).devices == devices


# Defaults


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
        ("on", "local"),
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
def test_an_option_that_is_not_given_has_its_default(name, value):
    assert getattr(read(), name) == value


def test_by_default_a_worker_has_all_cores():
    assert read().threads[0] >= 1


def test_a_run_of_a_whole_recipe_has_a_day_unless_a_timeout_is_given():
    assert read({"scale": "full"}).timeout == 86400.0
    assert read({"scale": "full", "timeout": "60"}).timeout == 60.0
    assert read({"scale": "full"}, {"timeout": "60"}).timeout == 60.0


# The command line and the ini file

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
    ("on", "ray", "ray"),
    ("on", "srun:--partition=a  -t5", "srun:--partition=a -t5"),
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
# Saving also needs a reason.
WITH = {"save": {"reason": "because"}}


@pytest.mark.parametrize(("name", "text", "value"), GIVEN)
def test_each_option_can_be_given_on_the_command_line(name, text, value):
    assert getattr(read({name: text, **WITH.get(name, {})}), name) == value


@pytest.mark.parametrize(("name", "text", "value"), GIVEN)
def test_each_option_can_be_given_in_the_ini_file(name, text, value):
    assert getattr(read(ini={name: text, **WITH.get(name, {})}), name) == value


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("frameworks", ["pytorch", "jax"], ("pytorch", "jax")),
        ("frameworks", [], ()),
        ("runs", 2, 2),
        ("threads", [1, 2], (1, 2)),
        ("target_accuracy", 0.97, 0.97),
        ("compare", True, True),
        ("compare", False, False),
        ("allow", ["no_baseline", "inconclusive"], {CaseOutcome.NO_BASELINE, CaseOutcome.INCONCLUSIVE}),
    ],
)
def test_the_ini_file_may_have_values_as_toml_has_them(name, written, value):
    assert getattr(read(ini={name: written}), name) == value


@pytest.mark.parametrize(
    ("name", "written", "message"),
    [
        ("runs", [1, 2], "ini key dlbench_runs: expected a whole number, 1 or more, got '1,2'"),
        ("runs", 2.5, "ini key dlbench_runs: expected a whole number, 1 or more, got '2.5'"),
        ("scale", {"quick": 1}, "ini key dlbench_scale: expected text, a number, true or false, or a list of them"),
    ],
)
def test_a_value_of_toml_that_does_not_fit_is_refused(name, written, message):
    assert message in error_of(ini={name: written})


@pytest.mark.parametrize(
    ("name", "typed", "written", "value"),
    [
        ("runs", "7", "5", 7),
        ("scale", "smoke", "full", "smoke"),
        ("frameworks", "jax", "pytorch", ("jax",)),
        ("reason", "typed", "written", "typed"),
    ],
)
def test_the_command_line_overrides_the_ini_file(name, typed, written, value):
    assert getattr(read({name: typed}, {name: written}), name) == value


def test_the_command_line_keeps_other_options_of_the_ini_file():
    assert read({"runs": "7"}, {"scale": "full"}).scale == "full"


def test_a_repeated_tolerance_sets_each_metric():
    found = read({"tolerance": ["step_time:1%", "accuracy:2pp"]}).tolerance
    assert (found["step_time"], found["accuracy"]) == (0.01, 2.0)


def test_comma_separated_tolerances_set_each_metric():
    found = read({"tolerance": ["step_time:1%,accuracy:2pp"]}).tolerance
    assert (found["step_time"], found["accuracy"]) == (0.01, 2.0)


def test_tolerances_can_be_given_in_the_ini_file():
    assert read(ini={"tolerance": "step_time:1%, accuracy:2pp"}).tolerance["accuracy"] == 2.0


@given(st.integers(min_value=1, max_value=10**6))
def test_every_whole_number_above_0_is_accepted(number):
    assert read({"runs": str(number)}).runs == number


@given(st.text(max_size=6))
def test_any_text_for_a_number_is_parsed_or_refused_with_the_name_of_the_option(text):
    try:
        found = read({"runs": text}).runs
    except OptionError as error:
        found = str(error)
    assert found.startswith("--dlbench-runs: ") if isinstance(found, str) else found >= 1


# Invalid values

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
    ("on", "ray://host", "did you mean 'ray'?"),
    ("on", "slurm", "known: local, ray, srun"),
    ("on", "srun:--partition gpu", "got 'gpu' in"),
    ("scale", "ful", "known: full, quick, smoke"),
    ("allow", "no_baselin", "did you mean 'no_baseline'?"),
    ("allow", "inconclusive,no_baselin", "unknown outcome 'no_baselin'"),
    ("allow", "regressed", "known: incomparable, inconclusive, invalid, no_baseline, skipped, suspect, unsupported"),
    ("compare", "yes", "expected true or false"),
    ("strict", "", "expected true or false"),
]


@pytest.mark.parametrize(("name", "text", "right"), BAD)
def test_the_error_for_an_invalid_value_says_what_is_expected(name, text, right):
    assert right in error_of({name: text})


@pytest.mark.parametrize(("name", "text", "right"), BAD)
def test_the_error_for_an_invalid_value_quotes_it(name, text, right):
    assert repr(text.rpartition(",")[2]) in error_of({name: text})


@pytest.mark.parametrize(("name", "text", "right"), BAD)
def test_the_error_for_an_invalid_value_names_the_option(name, text, right):
    assert error_of({name: text}).startswith(f"--dlbench-{name}: ")


@pytest.mark.parametrize(("name", "text", "right"), BAD)
def test_the_error_for_an_invalid_value_names_the_ini_key(name, text, right):
    assert error_of(ini={name: text}).startswith(f"ini key dlbench_{name}: ")


def test_the_error_for_an_invalid_tolerance_names_the_option_and_the_value():
    text = error_of({"tolerance": ["accuracy:1pp", "step_tme:5%"]})
    assert text.startswith("--dlbench-tolerance: unknown metric 'step_tme'")


@pytest.mark.parametrize("outcome", sorted(set(CaseOutcome) - GATE_FAILING))
def test_an_outcome_that_does_not_depend_on_the_gate_cannot_be_allowed(outcome):
    assert f"unknown outcome {outcome.value!r}" in error_of({"allow": outcome.value})


@pytest.mark.parametrize("outcome", sorted(GATE_FAILING))
def test_an_outcome_that_fails_only_a_gate_can_be_allowed(outcome):
    assert read({"allow": outcome.value}).allow == {outcome}


# Settings


def test_repeated_settings_are_combined():
    assert read({"set": ["learning_rate=0.01", "batch_size=50,500"]}).settings == {
        "batch_size": (50, 500),
        "learning_rate": (0.01,),
    }


def test_settings_can_be_given_in_the_ini_file():
    assert read(ini={"set": "batch_size=50,500, learning_rate=0.01"}).settings["batch_size"] == (50, 500)


def test_the_error_for_an_invalid_setting_names_the_flag():
    assert error_of({"set": ["batch=50"]}).startswith("--dlbench-set: unknown setting 'batch'")


# Saving


def test_saving_without_a_reason_is_refused_with_an_example():
    assert error_of({"save": "true"}).endswith('--dlbench-reason "first baseline"')


def test_saving_with_an_empty_reason_is_refused():
    assert "--dlbench-reason" in error_of({"save": "true", "reason": "  "})


@pytest.mark.parametrize("runs", ["1", "2"])
def test_saving_too_few_runs_is_refused_with_both_numbers(runs):
    text = error_of({"save": "true", "reason": "because", "runs": runs})
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
def test_options_for_pairs_are_refused_without_pairs(key, flag, value):
    with pytest.raises(OptionError, match=f"{flag}: applies to pairs only, and this session has none"):
        read({key: value})
    assert read({key: value, "ab": "pytorch==2.12.0,pytorch==2.13.0"}).ab
    assert read(ini={key: value})


def test_fewer_runs_are_allowed_without_saving():
    assert read({"runs": "1"}).runs == 1


def test_runs_of_a_cluster_are_not_resumed():
    text = error_of({"resume": "newest", "on": "ray"})
    assert text.startswith("--dlbench-resume: not with --dlbench-on=ray: ")
    assert read({"resume": "newest"}).on == "local"


# Flags that repeat a case


def test_flags_that_define_a_case_are_repeated():
    typed = {"scale": "smoke", "runs": "5", "threads": "2", "seed": "7", "baselines": "figures"}
    assert set(read(typed).again) == {f"--dlbench-{name}={value}" for name, value in typed.items()}


def test_every_setting_is_repeated():
    typed = {"set": ["batch_size=50,500", "learning_rate=0.01"]}
    assert read(typed).again == ("--dlbench-set=batch_size=50,500", "--dlbench-set=learning_rate=0.01")


def test_flags_that_do_not_define_a_case_are_not_repeated():
    typed = {"save": "true", "reason": "because", "compare": "true", "allow": "no_baseline", "models": "mnist-cnn"}
    assert read({**typed, "tolerance": ["step_time:1%"]}).again == ()


def test_options_of_the_ini_file_are_not_repeated():
    assert read(ini={"scale": "smoke", "runs": "5"}).again == ()


# Tables and files


@pytest.mark.parametrize(("name", "value"), [("group_by", "modle"), ("columns", "accurcy"), ("sort", "step_tme")])
def test_the_error_for_an_unknown_column_or_group_suggests_the_closest_match(name, value):
    assert "did you mean" in error_of({name: value})


def test_columns_keep_the_order_in_which_they_were_named():
    assert read({"columns": "verdict,accuracy"}).columns == ("verdict", "accuracy")


def test_the_columns_of_a_study_are_metrics():
    for study in STUDIES:
        columns = [metric.name for metric in shown_in(study, METRICS)]
        assert {"accuracy", "training_time", "cpu_use", "mean_rss"} <= set(columns)
        assert read({"columns": f"runs,{study},accuracy"}).columns == ("runs", *columns)


def test_a_price_is_an_amount_above_0():
    assert read({"hourly_price": "0.45"}).hourly_price == 0.45
    assert read({}).hourly_price is None


@pytest.mark.parametrize("wrong", ["0", "-1", "free", "0.45 EUR", "inf"])
def test_a_price_that_is_none_is_refused(wrong):
    assert "expected an amount above 0 without a currency, such as 0.45" in error_of({"hourly_price": wrong})


def test_files_are_relative_to_the_root():
    asked = read({"json": "out/session.json", "history": "history"})
    assert (asked.json, asked.history) == (ROOT / "out/session.json", str(ROOT / "history"))


def test_the_address_of_a_history_is_not_changed():
    assert read({"history": "s3://bucket/history"}).history == "s3://bucket/history"


def test_a_tolerance_on_the_command_line_keeps_the_others_of_the_ini_file():
    found = read({"tolerance": ["step_time:1%"]}, {"tolerance": "accuracy:3pp, step_time:8%"})
    assert (found.tolerance["step_time"], found.tolerance["accuracy"]) == (0.01, 3.0)
    assert found.typed_tolerance == {"step_time": 0.01}
