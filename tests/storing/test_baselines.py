import json
import math
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from pytest_dlbench.errors import FileFormatError, StorageError
from pytest_dlbench.records import codec
from pytest_dlbench.storing import BaselineStore
from pytest_dlbench.storing.baselines import both_sides, encode, session_name, unverified
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
    assert json.loads(store.path(CASE, MACHINE).read_text())["format"] == 3


@pytest.mark.parametrize("changes", [{"metrics": {"step_time": []}}, {"seeds": [1, 1, 2]}, {"metrics": {}}])
def test_a_damaged_baseline_of_the_first_format_is_refused(store, changes):
    of_first_format(store, **changes)
    assert "restore it from version control" in error_of(store)


# Format 2: as format 3, without a checksum


def without_checksum(path):
    content = json.loads(path.read_text())
    del content["checksum"]
    return content


def test_a_baseline_of_the_second_format_is_read_and_written_in_the_current_one(store):
    path = written(store)
    path.write_text(json.dumps(without_checksum(path) | {"format": 2}))
    assert store.read(CASE, MACHINE) == replace(records.baseline(), format=2)
    store.write(store.read(CASE, MACHINE))
    assert json.loads(path.read_text())["format"] == 3


# The checksum


@pytest.mark.parametrize(
    ("old", "new"),
    [('"step_time":0.01', '"step_time":0.02'), ('"batch_size": 64', '"batch_size": 65'), ("first base", "last base")],
)
def test_whatever_was_edited_by_hand_is_damage(store, old, new):
    path = written(store)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    said = error_of(store)
    number = next(place for place, line in enumerate(text.splitlines(), start=1) if "checksum" in line)
    assert said.startswith(f"{path}, line {number}: something was changed after it was saved: its checksum is ")
    assert f"git checkout {path}\n" in said
    assert f"dlbench baseline repair {path}" in said


def test_a_missing_checksum_is_damage(store):
    path = written(store)
    path.write_text(json.dumps(without_checksum(path)))
    assert "its checksum is none" in error_of(store)


def test_a_checksum_does_not_depend_on_how_the_file_is_indented(store):
    path = written(store)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4))
    assert store.read(CASE, MACHINE) == records.baseline()


def test_single_bit_flips_are_damage_or_change_nothing(store):
    path = written(store)
    content = path.read_bytes()
    accepted = []
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 7]) + content[place + 1 :])
        try:
            accepted.append(store.read(CASE, MACHINE))
        except FileFormatError:
            continue
    # Blanks may become other blanks.
    assert set(map(repr, accepted)) <= {repr(records.baseline())}


def test_an_older_format_number_does_not_hide_a_change(store):
    assert "its checksum is" in error_with(store, format=2)


def test_the_content_of_an_edited_file_can_be_taken_as_it_is(store):
    path = written(store)
    text = path.read_bytes().replace(b"first baseline", b"edited")
    assert unverified(text, "here") == records.baseline(sessions=(records.baseline_session(reason="edited"),))


# Merge conflicts

OURS = records.baseline_of(records.runs(), records.runs(steps=(0.02,) * 3))
THEIRS = records.baseline_of(records.runs(), records.runs(steps=(0.03,) * 3))


def git(folder, *arguments):
    author = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", "-C", str(folder), *author, *arguments], capture_output=True, timeout=60, check=False)


@pytest.fixture
def conflict(store):
    """A baseline that two branches have added a session to, after git merge."""
    path = written(store, records.baseline_of(records.runs()))
    folder = store.folder
    git(folder, "init", "-q")
    for baseline, branch in ((None, "main"), (OURS, "ours"), (THEIRS, "theirs")):
        git(folder, "checkout", "-q", "main") if baseline else None
        git(folder, "checkout", "-q", "-b", branch)
        written(store, baseline) if baseline else None
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", branch)
    git(folder, "checkout", "-q", "ours")
    assert git(folder, "merge", "-q", "theirs").returncode == 1
    return path


def test_a_merge_conflict_is_recognised_and_the_message_has_the_commands_that_resolve_it(store, conflict):
    said = error_of(store)
    number = conflict.read_text().splitlines().index("<<<<<<< HEAD") + 1
    assert said.startswith(f"{conflict}, line {number}: a merge conflict of git is not resolved\n")
    assert f"dlbench baseline repair {conflict} --yes, and git add {conflict}\n" in said
    assert f"git checkout --ours {conflict}, or --theirs" in said


def test_both_sides_of_a_merge_conflict_are_those_that_were_committed(conflict):
    assert both_sides(conflict, conflict.read_bytes()) == (encode(OURS), encode(THEIRS))


def test_without_git_both_sides_are_read_between_the_marks(conflict, tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(conflict.read_bytes())
    assert both_sides(elsewhere, elsewhere.read_bytes()) == (encode(OURS), encode(THEIRS))


def test_a_file_without_a_conflict_has_no_sides(store):
    path = written(store)
    assert both_sides(path, path.read_bytes()) is None


# Reading, changing and writing

ADD = """
import sys
from dataclasses import replace
from pathlib import Path
from pytest_dlbench.storing import BaselineStore
from tests.doubles import records

def added(found):
    session = records.baseline_session(name=f"{sys.argv[2]}-{len(found.sessions)}")
    return replace(found, sessions=(*found.sessions, session))

for _ in range(5):
    BaselineStore(folder=Path(sys.argv[1])).update(records.case(), records.machine(), added)
"""


def test_processes_that_save_the_same_case_keep_all_sessions(store):
    written(store)
    processes = [subprocess.Popen([sys.executable, "-c", ADD, str(store.folder), name]) for name in "abcd"]
    assert [process.wait(120) for process in processes] == [0] * 4
    assert len(store.read(CASE, MACHINE).sessions) == 21
    assert names(written(store).parent) == [f"{CASE.id}.json"]


def test_a_damaged_baseline_is_not_updated(store):
    path = written(store)
    path.write_bytes(b"{")
    with pytest.raises(FileFormatError, match="line 1: not complete JSON"):
        store.update(CASE, MACHINE, lambda _: records.baseline())
    assert path.read_bytes() == b"{"


def test_a_case_with_a_long_name_is_stored_and_found(store):
    long = records.case(f"training-pytorch-{'x' * 300}-digits28-cpu-quick")
    written(store, records.baseline(case=long))
    assert store.read(long, MACHINE).case == long
    assert store.others(long, records.machine(name="linux-other")) == (MACHINE.name,)


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
    path.write_bytes(encode(other))
    assert re.search(r"belongs to the case 'training-jax-mnist-cnn' @ \$\.case\.id", error_of(store))


@pytest.mark.parametrize("number", [0, 4, 99])
def test_an_unknown_format_is_refused(store, number):
    assert f"format {number}; this version reads 1 to 3" in error_with(store, format=number)


def test_an_unknown_format_is_reported_even_if_everything_else_differs(store):
    written(store).write_text('{"format": 4, "figures": []}')
    assert "format 4; this version reads 1 to 3" in error_of(store)


def test_fewer_values_than_seeds_are_refused(store):
    said = with_session(store, values={"accuracy": [0.9, 0.9]})
    assert "2 values for 3 seeds @ $.sessions[0].values.accuracy" in said


def test_a_metric_without_values_is_refused(store):
    assert "0 values for 0 seeds" in with_session(store, values={"accuracy": []}, seeds=[])


def test_a_session_without_figures_is_refused(store):
    assert "@ $.sessions[0].medians" in with_session(store, medians={})


def test_a_duplicate_seed_is_refused(store):
    assert "@ $.sessions[0].seeds" in with_session(store, seeds=[1, 1, 2])


def test_a_figure_below_zero_is_refused_where_no_checksum_shows_that_it_was_saved(store):
    path = written(store)
    content = without_checksum(path) | {"format": 2}
    content["sessions"][0]["medians"]["step_time"] = -0.1
    path.write_text(json.dumps(content))
    assert "-0.1 @ $.sessions[0].medians.step_time" in error_of(store)
    assert "its checksum is" in with_session(store, medians={"step_time": -0.1})


def test_a_figure_below_zero_is_read_as_it_was_saved(store):
    session = records.baseline_session()
    rewarded = replace(session, medians={**session.medians, "reward": -3.5})
    baseline = records.baseline(sessions=(rewarded,))
    written(store, baseline)
    assert store.read(CASE, MACHINE) == baseline


@pytest.mark.parametrize("figure", [math.inf, math.nan, -1e31])
def test_a_figure_that_could_not_be_read_is_not_saved(store, figure):
    path = written(store)
    before, session = path.read_bytes(), records.baseline_session()
    odd = records.baseline(sessions=(replace(session, medians={**session.medians, "reward": figure}),))
    with pytest.raises(FileFormatError, match=r"medians\.reward\n  nothing was saved") as refused:
        store.update(CASE, MACHINE, lambda _: odd)
    assert "figures must be from -1e+30 to 1e+30" in str(refused.value)
    assert path.read_bytes() == before


def test_a_baseline_without_sessions_is_refused(store):
    assert "no session @ $.sessions" in error_with(store, sessions=[])


def test_two_sessions_with_the_same_id_are_refused(store):
    path = written(store)
    (session,) = json.loads(path.read_text())["sessions"]
    assert "two sessions have the same id" in error_with(store, sessions=[session, session])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b'{\n  "case": nonsense\n}', "line 2"),
        (b'{\n "case": "a",\n', "line 2"),
        (b'{\n\n "format": "x"}', "line 3"),
    ],
)
def test_the_line_of_the_damage_is_named(store, text, place):
    path = written(store)
    path.write_bytes(text)
    assert error_of(store).startswith(f"{path}, {place}: ")


def test_the_line_of_a_damaged_session_is_named(store):
    path = written(store, OURS)
    lines = path.read_text().splitlines()
    (number,) = [place for place, line in enumerate(lines, start=1) if '"id":"20261102T100000"' in line]
    path.write_text(
        path.read_text().replace(lines[number - 1], lines[number - 1].replace('"step_time":0.02', '"step_time":-1e31'))
    )
    assert error_of(store).startswith(
        f"{path}, line {number}: figures must be from -1e+30 to 1e+30, got -1e+31 @ $.sessions[1]"
    )


def test_a_figure_without_bounds_is_damage(store):
    path = written(store)
    content = without_checksum(path) | {"format": 2}
    content["sessions"][0]["medians"]["step_time"] = 1e300
    path.write_text(json.dumps(content))
    assert "figures must be from 0 to 1e+30, got 1e+300" in error_of(store)


def test_a_missing_reference_session_is_refused(store):
    assert "no session 'gone' @ $.anchor" in error_with(store, anchor="gone")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_figure_that_is_not_a_number_is_refused(store, number):
    path = written(store)
    path.write_text(path.read_text().replace("0.01", number))
    assert str(path) in error_of(store)


def test_an_error_names_the_file(store):
    assert error_with(store, format=4).startswith(f"{store.path(CASE, MACHINE)}: ")


@pytest.mark.parametrize("changes", [{"format": 4}, {"anchor": "gone"}, {"sessions": []}])
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
