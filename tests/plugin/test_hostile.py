"""A worker that wants to reach the terminal, the log of the CI service, its summary, JUnit and the page."""

from xml.etree import ElementTree as ET

from tests.doubles.hostile import acted_on


def test_what_a_worker_says_acts_on_nothing(suite, monkeypatch):
    suite.write(builder="hostile")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite.path / "summary.md"))
    result = suite.run("--dlbench-runs=1", "-rA", "--junitxml=junit.xml", "--dlbench-html=report.html")
    assert result.ret == 1
    commands = [line for line in result.outlines if line.startswith("::error file=test_suite.py,")]
    others = [line for line in result.outlines if line not in commands]
    assert len(commands) == 1
    assert "\\x1b[31mred" in "".join(others)
    assert acted_on("\n".join(others)) == acted_on(commands[0].removeprefix("::error ")) == []
    assert acted_on((suite.path / "summary.md").read_text()) == []
    junit = "".join(ET.parse(suite.path / "junit.xml").getroot().itertext())
    assert "forged" in junit
    assert acted_on(junit) == []
    page, _, scripts = (suite.path / "report.html").read_text().partition('<script type="application/json"')
    assert "forged" in page
    assert acted_on(page) == []
    assert "\u202e" not in scripts
    assert "<script>window.hacked" not in page


def test_a_baseline_of_a_pull_request_says_nothing_to_the_log(suite):
    suite.write()
    suite.save("--dlbench-runs=3", "--dlbench-allow=invalid")
    path = suite.baseline()
    forged = "\\u001b[2J\\r\\n::error file=a.py::forged\\n##[error]forged\\u202e"
    path.write_text(path.read_text().replace('"reason": "first"', f'"reason": "{forged}"'))
    result = suite.run("--dlbench-compare", "--dlbench-allow=invalid", "-rA")
    assert acted_on(result.stdout.str()) == []
