import json
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import (
    Baseline,
    BaselineSession,
    CaseResult,
    Evaluation,
    Run,
    RunOutcome,
    Training,
    Usage,
    codec,
    reasons,
)
from pytest_dlbench.storing import Entry
from tests.doubles import records

numbers = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(min_value=0, max_value=2**62)
versions = st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3)
many_numbers = st.lists(numbers, max_size=4).map(tuple)
trees = st.recursive(
    st.none() | st.booleans() | counts | numbers | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
runs = st.builds(
    Run,
    case=st.text(),
    index=counts,
    seed=counts,
    outcome=st.sampled_from(RunOutcome),
    began=st.text(),
    wall_seconds=numbers,
    message=st.text(),
    log=st.lists(st.text(), max_size=3).map(tuple),
    versions=versions,
    parameters=st.dictionaries(st.text(max_size=8), st.lists(counts, max_size=4).map(tuple), max_size=3),
    import_seconds=st.none() | numbers,
    build_seconds=st.none() | numbers,
    training=st.none()
    | st.builds(Training, step_seconds=many_numbers, losses=many_numbers, examples=counts, batch_size=counts),
    evaluation=st.none() | st.builds(Evaluation, seconds=numbers, examples=counts, correct=counts, loss=numbers),
    usage=st.dictionaries(
        st.text(max_size=8),
        st.builds(
            Usage,
            wall_seconds=numbers,
            user_seconds=numbers,
            system_seconds=numbers,
            rss_mean_bytes=counts,
            rss_peak_bytes=counts,
            samples=counts,
        ),
        max_size=2,
    ),
)
baseline_sessions = st.builds(
    BaselineSession,
    id=st.text(),
    saved=st.text(),
    reason=st.text(),
    commit=st.text(),
    versions=versions,
    seeds=st.lists(counts, max_size=4).map(tuple),
    medians=st.dictionaries(st.text(max_size=8), numbers, max_size=3),
    values=st.dictionaries(st.text(max_size=8), many_numbers, max_size=3),
    accepted=st.lists(st.text(), max_size=2).map(tuple),
)
baselines = st.builds(
    Baseline,
    case=st.just(records.case()),
    context=st.builds(records.context, precision=st.text(), steps=counts),
    recipe=st.dictionaries(st.text(max_size=8), trees, max_size=3),
    anchor=st.text(),
    sessions=st.lists(baseline_sessions, max_size=2).map(tuple),
)


differences = st.lists(st.builds(reasons.Difference, name=st.text(), baseline=trees, candidate=trees), max_size=2).map(
    tuple
)
results = st.builds(
    records.case_result,
    reasons=st.lists(
        st.builds(reasons.Incomparable, saved=st.text(), differences=differences, again=st.none())
        | st.builds(reasons.TooFew, runs=counts, needed=counts)
        | st.builds(
            records.compared, versions=differences, why=st.text(), pairs=st.none() | st.just(records.in_pairs())
        )
        | st.builds(
            reasons.Unfinished,
            index=counts,
            seed=counts,
            outcome=st.sampled_from(RunOutcome),
            message=st.text(),
            log=st.lists(st.text(), max_size=3).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    cautions=st.lists(st.builds(reasons.NeverSteady, unsteady=counts, runs=counts), max_size=2).map(tuple),
)


def as_dictionary(record):
    return json.loads(codec.encode_line(record))


def error_of(document, kind, where="here"):
    with pytest.raises(FileFormatError) as caught:
        codec.decode(json.dumps(document).encode(), kind, where)
    return str(caught.value)


@given(runs)
@settings(deadline=None)
def test_a_run_survives_a_line_of_json(run):
    assert codec.decode(codec.encode_line(run), Run, "here") == run


@given(baselines)
@settings(deadline=None)
def test_a_baseline_survives_a_file(baseline):
    assert codec.decode(codec.encode_file(baseline), Baseline, "here") == baseline


@given(runs)
@settings(deadline=None)
def test_a_run_survives_conversion_to_builtins(run):
    assert codec.convert(codec.builtins(run), Run, "here") == run


@given(results)
@settings(deadline=None)
def test_a_result_is_itself_after_a_line_and_after_plain_data(result):
    assert codec.decode(codec.encode_line(result), CaseResult, "here") == result
    assert codec.convert(codec.builtins(result), CaseResult, "here") == result


def test_a_reason_says_its_kind():
    (reason,) = as_dictionary(records.case_result(reasons=(reasons.TooFew(runs=1, needed=3),)))["reasons"]
    assert reason == {"kind": "too_few", "needed": 3, "runs": 1}


@given(runs)
@settings(deadline=None)
def test_builtins_are_what_json_has(run):
    assert json.loads(json.dumps(codec.builtins(run), allow_nan=False)) == as_dictionary(run)


@given(runs)
@settings(deadline=None)
def test_an_encoded_line_is_one_line(run):
    line = codec.encode_line(run)
    assert line.splitlines() == [line[:-1]]


@given(st.binary(max_size=40))
def test_any_text_is_read_or_refused(text):
    with suppress(FileFormatError):
        codec.decode(text, CaseResult, "here")


@given(st.integers(min_value=0, max_value=len(codec.encode_line(records.run())) - 2))
@settings(deadline=None)
def test_a_line_truncated_anywhere_is_refused(length):
    with pytest.raises(FileFormatError):
        codec.decode(codec.encode_line(records.run())[:length], Run, "here")


def test_the_keys_of_a_file_are_sorted():
    def pairs(found):
        keys = [key for key, _ in found]
        assert keys == sorted(keys)

    json.loads(codec.encode_file(records.baseline()), object_pairs_hook=pairs)


def test_a_file_is_indented():
    assert codec.encode_file({"b": 1, "a": [2]}) == b'{\n  "a": [\n    2\n  ],\n  "b": 1\n}\n'


def test_numbers_keep_all_their_digits():
    exact = 0.1 + 0.2
    session = records.baseline_session(medians={"step_time": exact})
    read = codec.decode(codec.encode_file(session), BaselineSession, "here")
    assert read.medians["step_time"] == exact


def test_text_beyond_ascii_stays_readable():
    assert "größer".encode() in codec.encode_file(records.baseline_session(reason="größer"))


def test_the_error_for_a_wrong_type_names_its_path():
    run = as_dictionary(replace(records.run(), training=records.training((0.1, 0.1))))
    run["training"]["losses"][1] = "nan"
    assert error_of(run, Run) == "here: Expected `float`, got `str` - at `$.training.losses[1]`"


@pytest.mark.parametrize("bad", [None, "0.1", True, [0.1]])
def test_a_value_that_is_not_a_number_is_refused(bad):
    run = as_dictionary(records.run())
    run["training"]["losses"][0] = bad
    assert "$.training.losses[0]" in error_of(run, Run)


def test_the_error_for_a_missing_field_names_it():
    run = as_dictionary(records.run())
    del run["seed"]
    assert "`seed`" in error_of(run, Run)


def test_the_error_for_an_unknown_outcome_names_its_path():
    run = as_dictionary(records.run()) | {"outcome": "sleepy"}
    assert "'sleepy' - at `$.outcome`" in error_of(run, Run)


def test_an_error_begins_with_where_the_record_was_read():
    assert error_of({}, Run, "runs.jsonl, line 3").startswith("runs.jsonl, line 3: ")


@pytest.mark.parametrize("text", [b"", b" ", b"{", b'{"a": 1', b"\x00\x01"])
def test_the_error_for_text_that_is_not_json_says_so(text):
    with pytest.raises(FileFormatError, match="here: not complete JSON"):
        codec.decode(text, Run, "here")


def test_text_that_is_not_utf8_is_refused():
    text = codec.encode_line(records.run(message="größer")).decode().encode("latin-1")
    with pytest.raises(FileFormatError, match=r"here: "):
        codec.decode(text, Run, "here")


def test_the_error_for_builtins_of_a_wrong_type_names_the_path():
    with pytest.raises(FileFormatError, match=r"worker: .*\$\.correct"):
        codec.convert({"seconds": 1.0, "examples": 10, "correct": "many", "loss": 0.1}, Evaluation, "worker")


def test_another_format_is_refused_before_its_shape_is_checked():
    with pytest.raises(FileFormatError, match=r"here: format 2; this version reads 1"):
        codec.decode_versioned(b'{"format": 2, "all": "is different"}', Entry, "here")


def test_the_error_for_a_format_that_is_not_a_number_names_its_path():
    with pytest.raises(FileFormatError, match=r"here: Expected `int`, got `str` - at `\$.format`"):
        codec.decode_versioned(b'{"format": "1"}', Entry, "here")


def test_the_current_format_is_read():
    entry = Entry(run=records.run())
    assert codec.decode_versioned(codec.checked_line(entry).rstrip(), Entry, "here", (1, entry.format)) == entry
