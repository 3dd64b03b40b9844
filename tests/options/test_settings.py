"""From options to the settings of the use cases."""

from pytest_dlbench import options
from pytest_dlbench.options import settings
from pytest_dlbench.running.progress import Silent


def read(tmp_path, **typed):
    given = {option.key: typed[option.name] for option in options.OPTIONS if option.name in typed}
    return options.read(given.get, {}.get, tmp_path)


def run_settings(tmp_path, **typed):
    options = read(tmp_path, **typed)
    return settings.run_settings(options, settings.hosts(options), Silent())


def test_runs_are_made_as_was_asked(tmp_path):
    found = run_settings(tmp_path, runs="7", scale="smoke", threads="2", seed="5", timeout="60")
    assert (found.runs, found.scale, found.threads, found.seed, found.timeout_seconds) == (7, "smoke", 2, 5, 60.0)


def test_invalid_runs_are_done_again_unless_they_are_allowed(tmp_path):
    usual, allowed = run_settings(tmp_path), run_settings(tmp_path, allow="invalid")
    assert (usual.keeps_invalid, usual.repeats) == (False, 2)
    assert (allowed.keeps_invalid, allowed.repeats) == (True, 0)


def test_environments_are_built_only_where_that_was_asked_for(tmp_path):
    assert run_settings(tmp_path).places.progress is None
    assert run_settings(tmp_path, build="true").places.progress is not None


def test_checkpoints_are_saved_only_where_that_was_asked_for_and_by_suggested_commands_too(tmp_path):
    assert not run_settings(tmp_path).checkpoints
    assert run_settings(tmp_path, checkpoint="true").checkpoints
    assert read(tmp_path, checkpoint="true").again == ("--dlbench-checkpoint",)


def test_steps_are_divided_only_where_that_was_asked_for(tmp_path):
    assert not run_settings(tmp_path).breaks_down
    assert run_settings(tmp_path, breakdown="true").breaks_down
    assert not run_settings(tmp_path, breakdown="true").times_layers
    layered = run_settings(tmp_path, layers="true")
    assert (layered.breaks_down, layered.times_layers) == (True, True)


def test_the_policy_is_what_decides(tmp_path):
    found = settings.gate_policy(read(tmp_path, false_alarms="2%", max_runs="8", ab="a,b", budget="2m", shadow="true"))
    assert (found.false_alarms, found.max_pairs, found.budget_seconds) == (0.02, 8, 120.0)
    assert (found.is_report_only, found.saves, found.profiles) == (True, False, False)
    assert found.tolerances["step_time"] == 0.05


def test_what_is_saved_has_its_reason(tmp_path):
    found = settings.gate_policy(read(tmp_path, save="true", reason="first"))
    assert (found.saves, found.reason) == (True, "first")


def test_folders_are_of_the_repository(tmp_path):
    found = settings.storage(read(tmp_path, history="all"))
    assert (found.baselines, found.journals) == (tmp_path / "baselines", tmp_path / ".dlbench")
    assert found.history == str(tmp_path / "all")
