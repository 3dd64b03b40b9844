"""--dlbench-html: the page of a session, from the session itself."""

import re

from pytest_dlbench.reporting.page.gathering import gather


def test_a_session_writes_its_page(suite):
    result = suite.run("--dlbench-html=out/report.html")
    result.stdout.fnmatch_lines(["report: *report.html"])
    (journal,) = (suite.path / ".dlbench").glob("*.jsonl")
    (case,) = gather([journal]).cases
    assert case.label in (suite.path / "out" / "report.html").read_text()


def test_a_page_that_cannot_be_written_fails_the_session_and_loses_no_other_line(suite):
    (suite.path / "taken").write_text("a file, not a folder")
    result = suite.run("--dlbench-html=taken/report.html")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["journal: *", "ERROR: report not written: *the journal has all results"])


def test_without_the_extra_nothing_runs_and_the_error_says_what_to_install(suite):
    suite.pytester.makepyfile(
        hidden="from pytest_dlbench.reporting import extras\nextras.REPORT['a_module_that_nobody_has'] = 'altair'"
    )
    result = suite.run("-p", "hidden", "--dlbench-html=report.html")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--dlbench-html needs altair: pip install*"])


def test_the_page_of_pairs_has_both_sides_and_no_baseline_in_its_title(suite):
    suite.write(more={"slow": "slowed"})
    wide = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%", "--dlbench-allow=invalid")
    suite.run("--dlbench-ab=numpy,slow", "--dlbench-html=report.html", *wide)
    text = (suite.path / "report.html").read_text()
    title = re.search(r"<title>(.*?)</title>", text)[1]
    assert title.startswith("dlbench report: Regressed: slow takes ")
    assert " times as long a step as numpy [" in title
    assert "numpy (baseline) · softmax" in text
    assert "Changes between the two sides" in text
