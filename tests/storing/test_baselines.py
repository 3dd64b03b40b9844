import json
import re
from dataclasses import replace

import pytest

from pytest_dlbench.errors import FileFormatError, StorageError
from pytest_dlbench.records import codec
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.baselines import session_name
from pytest_dlbench.storing.files import write_whole
from tests.doubles import records

CASE, MACHINE = records.case(), records.machine()


@pytest.fixture
def store(tmp_path):
    return BaselineStore(folder=tmp_path / "baselines")


def written(store, baseline=None):
    return store.write(baseline or records.baseline())


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def error_of(store):
    with pytest.raises(FileFormatError) as caught:
        store.read(CASE, MACHINE)
    return str(caught.value)


def error_with(store, **changes):
    """The error for a baseline whose fields were edited by hand."""
    path = written(store)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return error_of(store)


def with_session(store, **changes):
    """The error for a baseline whose session was edited by hand."""
    path = written(store)
    (session,) = json.loads(path.read_text())["sessions"]
    return error_with(store, sessions=[session | changes])


# Writing


def test_a_baseline_is_read_as_it_was_written(store):
    written(store)
    assert store.read(CASE, MACHINE) == records.baseline()


def test_a_case_without_a_baseline_has_none(store):
    assert store.read(CASE, MACHINE) is None


def test_a_baselines_path_has_its_machine_and_its_case(store):
    assert written(store) == store.folder / MACHINE.name / f"{CASE.id}.json"


def test_a_baseline_of_another_machine_is_not_read(store):
    written(store)
    assert store.read(CASE, records.machine(name="linux-other-64cores")) is None


def test_writing_replaces(store):
    written(store)
    newer = records.baseline_of(records.runs(), records.runs(steps=(0.02,) * 3))
    written(store, newer)
    assert store.read(CASE, MACHINE) == newer


def test_writing_twice_gives_the_same_bytes(store):
    first = written(store).read_bytes()
    assert written(store).read_bytes() == first


def test_the_order_of_the_fields_does_not_matter(store):
    shuffled = records.baseline(recipe=dict(reversed(records.RECIPE.items())))
    first = written(store).read_bytes()
    assert written(store, shuffled).read_bytes() == first


def test_the_keys_of_the_file_are_sorted(store):
    keys = list(json.loads(written(store).read_text()))
    assert keys == sorted(keys)


def test_the_file_ends_with_one_line_feed(store):
    content = written(store).read_bytes()
    assert content.endswith(b"}\n")


def test_no_temporary_files_remain(store):
    assert names(written(store).parent) == [f"{CASE.id}.json"]


def test_other_users_can_read_the_file(store):
    assert written(store).stat().st_mode & 0o777 == 0o644


def test_every_session_is_one_line(store):
    one = records.baseline_of(records.runs())
    two = records.baseline_of(records.runs(), records.runs(steps=(0.02,) * 3))
    before, after = (written(store, baseline).read_text().splitlines() for baseline in (one, two))
    assert len(after) == len(before) + 1


# Format 1: one session, every metric of every run

FIRST_FORMAT = {
    "format": 1,
    "case": codec.builtins(CASE),
    "context": codec.builtins(records.context()),
    "recipe": dict(records.RECIPE),
    "versions": records.VERSIONS,
    "seeds": [1, 2, 3],
    "metrics": {"step_time": [0.010, 0.012, 0.011], "accuracy": [0.95, 0.96, 0.94]},
    "saved": "2026-11-20T10:00:00+00:00",
    "reason": "first baseline",
}


def of_first_format(store, **changes):
    path = store.path(CASE, MACHINE)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(FIRST_FORMAT | changes))


def test_a_baseline_of_the_first_format_is_read_as_one_session(store):
    of_first_format(store)
    baseline = store.read(CASE, MACHINE)
    (session,) = baseline.sessions
    assert (session.id, baseline.anchor, session.reason) == ("20261120T100000", "20261120T100000", "first baseline")
    assert session.medians == {"step_time": 0.011, "accuracy": 0.95}
    assert session.values["accuracy"] == (0.95, 0.96, 0.94)


def test_a_baseline_of_the_first_format_is_written_in_the_current_one(store):
    of_first_format(store)
    store.write(store.read(CASE, MACHINE))
    assert json.loads(store.path(CASE, MACHINE).read_text())["format"] == 2


@pytest.mark.parametrize("changes", [{"metrics": {"step_time": []}}, {"seeds": [1, 1, 2]}, {"metrics": {}}])
def test_a_damaged_baseline_of_the_first_format_is_refused(store, changes):
    of_first_format(store, **changes)
    assert "restore it from version control" in error_of(store)


# Names of sessions


def test_a_session_is_named_after_its_time_of_saving():
    assert session_name("2026-11-20T10:00:00+00:00") == "20261120T100000"


def test_sessions_saved_in_the_same_second_have_different_names():
    taken = records.baseline()
    assert session_name("2026-11-20T10:00:00+00:00", taken) == "20261120T100000-2"


# Atomic writes

def test_writing_something_other_than_bytes_leaves_the_old_file_and_no_temporary_file(tmp_path):
    (tmp_path / "case.json").write_bytes(b"old")
    with pytest.raises(TypeError):
        write_whole(tmp_path / "case.json", "text")
    assert (names(tmp_path), (tmp_path / "case.json").read_bytes()) == (["case.json"], b"old")


def test_a_target_that_cannot_be_replaced_leaves_no_temporary_file(tmp_path):
    (tmp_path / "case.json").mkdir()
    with pytest.raises(StorageError, match="directory"):
        write_whole(tmp_path / "case.json", b"new")
    assert names(tmp_path) == ["case.json"]


def test_a_reader_with_the_old_file_open_keeps_it(store):
    path = written(store)
    with path.open("rb") as before:
        written(store, records.baseline_of(records.runs(), records.runs()))
        assert codec.decode(before.read(), type(records.baseline()), "here") == records.baseline()


# Invalid files


@pytest.mark.parametrize("content", [b"", b"\n", b"{", b"not json", b"\xff\xfe{}"])
def test_a_file_that_is_not_json_is_refused(store, content):
    written(store).write_bytes(content)
    assert "not complete JSON" in error_of(store)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_file_is_refused(store, share):
    path = written(store)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert "not complete JSON" in error_of(store)


def test_a_file_that_is_not_utf8_is_refused(store):
    path = written(store, records.baseline(sessions=(records.baseline_session(reason="größer"),)))
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    assert str(path) in error_of(store)


@pytest.mark.parametrize("content", ["[]", "null", '"text"', "3"])
def test_json_that_is_not_an_object_is_refused(store, content):
    written(store).write_text(content)
    assert "Expected `object`" in error_of(store)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"medians": {"step_time": "fast"}}, "$.sessions[0].medians[...]"),
        ({"values": {"accuracy": [0.9, None, 0.9]}}, "$.sessions[0].values[...][1]"),
        ({"seeds": [1, 2.5, 3]}, "$.sessions[0].seeds[1]"),
        ({"saved": 20261120}, "$.sessions[0].saved"),
    ],
)
def test_a_wrong_type_in_a_session_is_reported_with_its_path(store, changes, place):
    assert place in with_session(store, **changes)


def test_a_wrong_type_is_reported_with_its_path(store):
    assert "$.case" in error_with(store, case="training")


def test_a_baseline_of_another_case_is_refused(store):
    path = written(store)
    other = replace(records.baseline(), case=records.case("training-jax-mnist-cnn"))
    path.write_bytes(codec.encode_file(other))
    assert re.search(r"belongs to the case 'training-jax-mnist-cnn' @ \$\.case\.id", error_of(store))


@pytest.mark.parametrize("number", [0, 3, 99])
def test_an_unknown_format_is_refused(store, number):
    assert f"format {number}; this version reads 1 and 2" in error_with(store, format=number)


def test_an_unknown_format_is_reported_even_if_everything_else_differs(store):
    written(store).write_text('{"format": 3, "figures": []}')
    assert "format 3; this version reads 1 and 2" in error_of(store)


def test_fewer_values_than_seeds_are_refused(store):
    said = with_session(store, values={"accuracy": [0.9, 0.9]})
    assert "2 values for 3 seeds @ $.sessions[0].values.accuracy" in said


def test_a_metric_without_values_is_refused(store):
    assert "0 values for 0 seeds" in with_session(store, values={"accuracy": []}, seeds=[])


def test_a_session_without_figures_is_refused(store):
    assert "@ $.sessions[0].medians" in with_session(store, medians={})


def test_a_duplicate_seed_is_refused(store):
    assert "@ $.sessions[0].seeds" in with_session(store, seeds=[1, 1, 2])


def test_a_figure_below_zero_is_refused(store):
    assert "-0.1 @ $.sessions[0].medians.step_time" in with_session(store, medians={"step_time": -0.1})


def test_a_baseline_without_sessions_is_refused(store):
    assert "no session @ $.sessions" in error_with(store, sessions=[])


def test_two_sessions_with_the_same_id_are_refused(store):
    path = written(store)
    (session,) = json.loads(path.read_text())["sessions"]
    assert "two sessions have the same id" in error_with(store, sessions=[session, session])


def test_a_missing_reference_session_is_refused(store):
    assert "no session 'gone' @ $.anchor" in error_with(store, anchor="gone")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_figure_that_is_not_a_number_is_refused(store, number):
    path = written(store)
    path.write_text(path.read_text().replace("0.01", number))
    assert str(path) in error_of(store)


def test_an_error_names_the_file(store):
    assert error_with(store, format=3).startswith(f"{store.path(CASE, MACHINE)}: ")


@pytest.mark.parametrize("changes", [{"format": 3}, {"anchor": "gone"}, {"sessions": []}])
def test_an_error_says_what_to_do(store, changes):
    advice = "restore it from version control, or delete it and save a new one with --dlbench-save"
    assert error_with(store, **changes).endswith(f"\n  {advice}")


def test_an_invalid_file_can_be_replaced(store):
    written(store).write_text("{")
    written(store)
    assert store.read(CASE, MACHINE) == records.baseline()


# Other machines


def on(store, *machines, case=CASE):
    for name in machines:
        context = records.context(machine=records.machine(name=name))
        written(store, records.baseline(case=case, context=context))


def test_other_machines_with_a_baseline_of_the_case_are_listed_in_order(store):
    on(store, "linux-zeta", "linux-alpha", MACHINE.name)
    assert store.others(CASE, MACHINE) == ("linux-alpha", "linux-zeta")


def test_this_machine_is_not_listed_among_the_others(store):
    written(store)
    assert store.others(CASE, MACHINE) == ()


def test_machines_with_baselines_of_other_cases_are_not_listed(store):
    on(store, "linux-alpha", case=records.case("training-jax-mnist-cnn"))
    assert store.others(CASE, MACHINE) == ()


def test_a_missing_folder_has_no_other_machines(store):
    assert store.others(CASE, MACHINE) == ()


@pytest.mark.parametrize("name", ["label[1]-pytorch", "label*-pytorch", "label?-pytorch"])
def test_a_case_with_glob_characters_in_its_name_is_found(store, name):
    on(store, "linux-alpha", case=records.case(name))
    assert store.others(records.case(name), MACHINE) == ("linux-alpha",)
