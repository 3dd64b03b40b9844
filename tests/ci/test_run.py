""".ci/run itself: its parts in their order, each replaced by nothing or by a failure."""

import re
import subprocess

import pytest

from tests.ci.conftest import ROOT

RUN = ROOT / ".ci" / "run"
PARTS = re.findall(r"^    part (\w+) ", RUN.read_text(), re.MULTILINE)
STAGED = """
source {run}
{stubs}
python() {{ echo "python $*"; }}
{failing}
main
"""


def run(failing: str = "") -> subprocess.CompletedProcess[str]:
    stubs = "\n".join(f"{part}() {{ :; }}" for part in PARTS)
    # What comes after the false would hide it, were errors ignored there.
    failure = f"{failing}() {{ false; true; }}" if failing else ""
    script = STAGED.format(run=RUN, stubs=stubs, failing=failure)
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)


def test_a_run_that_passes_says_what_each_part_took():
    done = run()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(re.match(r" +\d+ s  ", line) is not None for line in lines) == len(PARTS)
    assert lines[-1] == f"{len(PARTS)} passed, 0 failed"


def test_in_the_background_clusters_come_after_linters():
    script = STAGED.format(
        run=RUN,
        stubs="\n".join(f"{part}() {{ :; }}" for part in PARTS),
        failing="lint() { sleep 1; touch $work/linted; }; cluster() { [ -e $work/linted ] && echo after; }",
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "\nafter\n" in done.stdout


@pytest.mark.parametrize("part", PARTS)
def test_a_run_of_which_a_part_fails_fails(part):
    done = run(failing=part)
    assert done.returncode != 0
    assert "0 failed" not in done.stdout


@pytest.mark.parametrize(
    ("failing", "called"),
    [
        (None, ["pytest", ".ci/skips.py", ".ci/stamps.py"]),
        ("pytest", ["pytest"]),
        (".ci/skips.py", ["pytest", ".ci/skips.py"]),
    ],
)
def test_a_part_is_stamped_once_its_tests_have_passed_and_its_skips_are_allowed(failing, called):
    stubs = f"""
    source {RUN}
    DLBENCH_CI_PLAN=plan.json
    called() {{ echo "$1 ${{@: -1}}"; [ "$1" != "{failing}" ]; }}
    pytest() {{ called pytest "$@"; }}
    python() {{ called "$@"; }}
    tested driver -n 2
    """
    done = subprocess.run(["bash", "-c", stubs], capture_output=True, text=True, check=False)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [command for command, _ in lines] == called
    assert all(report.endswith("/driver.xml") for _, report in lines)
    assert (done.returncode == 0) is (failing is None)


def test_each_part_with_a_report_of_its_own_is_stamped():
    text = RUN.read_text()
    reports = re.findall(r'--junitxml "\$work/([\w$]+)\.xml"', text)
    assert sorted(re.findall(r'stamps\.py write "\$DLBENCH_CI_PLAN" "\$work/([\w$]+)\.xml"', text)) == sorted(reports)
    assert '"$python" .ci/stamps.py pages "$DLBENCH_CI_PLAN"' in text


def test_its_parts_and_their_number_are_those_that_were_found():
    assert {"driver_tests", "worker_tests", "equivalence", "side_by_side"} <= set(PARTS)
