"""Sessions, and processes that save baselines, killed at random times: nothing is lost, torn or left running."""

import random
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from pytest_dlbench.running import devices
from pytest_dlbench.storing import BaselineStore, Damage
from tests.campaign.sessions import Suite, seconds_of
from tests.doubles import records
from tests.running.processes import IN_VAIN

KILLS = 10
SAVES = 20
# Saves again and again, each time with one more session, up to 30.
SAVING = """
import sys
from pathlib import Path
from pytest_dlbench.storing import BaselineStore
from tests.doubles import records
store, usual = BaselineStore(folder=Path(sys.argv[1])), records.runs()
stored = [records.baseline_of(*[usual] * count) for count in range(1, 31)]
print("ready", flush=True)
while True:
    for baseline in stored:
        store.write(baseline)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def usual_seconds(tmp_path_factory, cache):
    # The first one prepares the data.
    seconds_of(Suite(tmp_path_factory.mktemp("first") / "suite", cache))
    return seconds_of(Suite(tmp_path_factory.mktemp("second") / "suite", cache))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_sessions_that_are_ended_at_any_time(attempt, tmp_path, cache, usual_seconds, number):
    drawn = random.Random(number)
    for place in range(KILLS):
        seconds = drawn.uniform(0, usual_seconds)
        suite = Suite(tmp_path / str(place), cache)
        with attempt(f"{number.name} after {seconds:.3f} s"):
            output = suite.ended_after(seconds, number)
            suite.check_that_no_process_is_left()
            # The device is free at once.
            with devices.held("cpu", replace(IN_VAIN, limit_seconds=0.0)):
                pass
            damages = [entry for entry in suite.entries() if isinstance(entry, Damage)]
            if number is signal.SIGKILL:
                assert len(damages) <= 1
            else:
                assert not damages
                assert suite.runs_in_document() == suite.runs_in_journals(), output
                assert suite.temporary_folders() == []
            # The next session is not disturbed by what is left.
            if place % 5 == 0:
                status, output = suite.run()
                assert status == 0, output


def test_baselines_that_are_being_saved(attempt, tmp_path, pytestconfig):
    drawn, usual = random.Random(1), records.baseline()
    for place in range(SAVES):
        folder = tmp_path / str(place)
        seconds = drawn.uniform(0, 0.1)
        with attempt(f"SIGKILL after {seconds:.4f} s of saving"):
            command = [sys.executable, "-c", SAVING, str(folder)]
            with subprocess.Popen(command, cwd=pytestconfig.rootpath, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout.readline() == "ready\n"
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(seconds)
                process.kill()
            found = BaselineStore(folder=folder).read(usual.case, usual.context.machine)
            assert found is None or found.sessions
