"""The HTML of the page: complete, of bounded size, and with records only as text."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.records import CaseOutcome, RunOutcome
from pytest_dlbench.records.reasons import Difference, Incomparable, Unavailable, Unfinished
from pytest_dlbench.reporting.page import page
from pytest_dlbench.reporting.page.gathering import Gathered
from tests.doubles import records
from tests.doubles.judged import judged, measured

MEGABYTES = 1e6


def gathered(*cases):
    return Gathered(cases=measured(*cases), sessions=("one",))


@given(st.text())
@settings(max_examples=200)
def test_json_in_a_page_cannot_end_its_script_and_keeps_its_value(text):
    text_of_page = str(page._json({"text": text}))
    assert not set(text_of_page) & set("<>&\u2028\u2029")
    assert json.loads(text_of_page) == {"text": text.encode("utf-8", "replace").decode()}


def test_the_page_runs_only_its_own_scripts(tmp_path):
    page.write(tmp_path / "report.html", gathered(judged()))
    text = (tmp_path / "report.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert policy.count("'sha256-") == text.count("<script>") == 2


def test_a_reason_is_a_heading_a_list_and_a_command(tmp_path):
    differs = Difference(name="steps", baseline=50, candidate=51)
    reason = Incomparable(saved="2026-11-20", differences=(differs,), again=records.again(node="a.py::test[<b>]"))
    path = tmp_path / "report.html"
    page.write(path, gathered(judged(result={"outcome": CaseOutcome.INCOMPARABLE, "reasons": (reason,)})))
    text = path.read_text()
    assert "<p>the baseline of 2026-11-20 was measured under different conditions:</p>" in text
    assert "<li>steps 50 → 51</li>" in text
    assert "<p>to replace it: <code>pytest &#39;a.py::test[&lt;b&gt;]&#39; --dlbench-scale=smoke " in text


def test_what_a_worker_printed_is_quoted(tmp_path):
    reason = Unfinished(index=0, seed=1, outcome=RunOutcome.CRASHED, message="it died", log=("loading", "<fault>"))
    path = tmp_path / "report.html"
    page.write(path, gathered(judged(result={"outcome": CaseOutcome.CRASHED, "reasons": (reason,)})))
    text = path.read_text()
    assert "<pre>loading\n&lt;fault&gt;</pre>" in text


def test_a_traceback_is_folded_to_the_error(tmp_path):
    message = "Traceback (most recent call last):\n  File 'x.py'\n    import it\nImportError: no it"
    reason = Unfinished(index=0, seed=1, outcome=RunOutcome.CRASHED, message=message)
    path = tmp_path / "report.html"
    page.write(path, gathered(judged(result={"outcome": CaseOutcome.CRASHED, "reasons": (reason,)})))
    assert "<summary><code>ImportError: no it</code> <span>3 lines</span></summary>" in path.read_text()


def test_what_is_unsupported_is_not_unfolded(tmp_path):
    path = tmp_path / "report.html"
    page.write(
        path, gathered(judged(result={"outcome": CaseOutcome.UNSUPPORTED, "reasons": (Unavailable(problem="x"),)}))
    )
    assert re.search(r'<details class="story" data-case="0">', path.read_text())


def test_failures_come_before_uncertain_cases():
    doubtful = judged("jax", result={"outcome": CaseOutcome.INCONCLUSIVE})
    worse = judged("mxnet", result={"outcome": CaseOutcome.SUSPECT})
    wrong = judged("pytorch", result={"outcome": CaseOutcome.REGRESSED})
    outcomes = [case.result.outcome for _, case in page._noisy(measured(doubtful, worse, wrong))]
    assert outcomes == [CaseOutcome.REGRESSED, CaseOutcome.SUSPECT, CaseOutcome.INCONCLUSIVE]


def test_a_page_without_cases_explains_why_each_chart_is_missing(tmp_path):
    assert page.write(tmp_path / "report.html", gathered()) == ()
    assert (tmp_path / "report.html").read_text().count("Nothing to show: ") == len(page.CHARTS)


def test_a_page_of_500_cases_stays_under_15_megabytes(tmp_path):
    compared = {
        "verdicts": (records.verdict(), records.verdict(metric="peak_rss")),
        "reasons": (records.compared(why="long " * 100),),
    }
    cases = [
        judged(framework, f"model-{number}", steps=800, spread=0.01, result=compared)
        for number in range(50)
        for framework in (f"framework-{n}" for n in range(10))
    ]
    page.write(tmp_path / "report.html", gathered(*cases))
    assert (tmp_path / "report.html").stat().st_size < 15 * MEGABYTES
