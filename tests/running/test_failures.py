"""How the end of a worker is explained, including by the kernel's counts of out-of-memory kills."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_dlbench.records import Run, RunOutcome, codec
from pytest_dlbench.records.problems import BadAnswer, TimedOut, WorkerDied
from pytest_dlbench.running import failures
from pytest_dlbench.running.connection import BrokenProtocolError, WorkerDiedError, WorkerTimeoutError

ROOT = Path(__file__).parents[2]
LIMIT_BYTES = 192 * 2**20

# As kernel 6.1 writes them.
EVENTS = "low 0\nhigh 0\nmax 132\noom 3\noom_kill 2\noom_group_kill 0\n"
CONTROL = "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"
# Before kernel 4.13 there was no count.
OLD_CONTROL = "oom_kill_disable 0\nunder_oom 0\n"
V1_LINES = "11:memory:/docker/4f2a\n10:cpu,cpuacct:/docker/4f2a\n1:name=systemd:/docker/4f2a\n"


@pytest.fixture
def kills(tmp_path):
    """memory_kills() of control groups made of plain files in a folder."""

    def kills(membership: str, files: dict[str, str]) -> int:
        for name, text in files.items():
            file = tmp_path / "cgroup" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (tmp_path / "membership").write_text(membership)
        return failures.memory_kills(tmp_path / "cgroup", tmp_path / "membership")

    return kills


class TestMemoryKills:
    def test_are_read_in_version_2(self, kills):
        assert kills("0::/user.slice/ci.scope\n", {"user.slice/ci.scope/memory.events": EVENTS}) == 2

    def test_are_read_in_version_2_at_the_root_of_a_container(self, kills):
        assert kills("0::/\n", {"memory.events": EVENTS}) == 2

    def test_are_read_in_version_1(self, kills):
        assert kills(V1_LINES, {"memory/docker/4f2a/memory.oom_control": CONTROL}) == 5

    def test_are_read_in_a_container_that_sees_only_its_own_group(self, kills):
        assert kills(V1_LINES, {"memory/memory.oom_control": CONTROL}) == 5

    def test_are_read_in_version_1_alongside_a_version_2_without_memory(self, kills):
        files = {"memory/docker/4f2a/memory.oom_control": CONTROL, "unified/cgroup.procs": "1\n"}
        assert kills(V1_LINES + "0::/\n", files) == 5

    def test_are_read_where_controllers_are_mounted_together(self, kills):
        assert kills("4:memory,hugetlb:/ci\n", {"memory/ci/memory.oom_control": CONTROL}) == 5

    def test_are_read_in_a_group_with_a_colon_in_its_name(self, kills):
        assert kills("0::/a:b\n", {"a:b/memory.events": EVENTS}) == 2

    @pytest.mark.parametrize(
        ("membership", "files"),
        [
            ("", {}),
            ("0::/\n", {}),
            ("1:name=systemd:/\n", {"memory/memory.oom_control": CONTROL}),
            (V1_LINES, {"memory/docker/4f2a/memory.oom_control": OLD_CONTROL}),
            ("0::/ci\n", {"ci/memory.events": ""}),
            ("0::/ci\n", {"ci/memory.events": "oom_kill many\n"}),
        ],
    )
    def test_are_zero_where_the_kernel_does_not_count(self, kills, membership, files):
        assert kills(membership, files) == 0

    def test_are_zero_without_control_groups(self, tmp_path):
        assert failures.memory_kills(tmp_path, tmp_path / "missing") == 0

    def test_of_this_process_can_be_read(self):
        assert failures.memory_kills() >= 0


def died(cause: str, number: int = 0) -> WorkerDied:
    return WorkerDied(request="train", cause=cause, number=number)


@dataclass(frozen=True)
class EndedWorker:
    """A worker, as far as an explanation needs it."""

    status: int | None

    def exit_status(self) -> int | None:
        return self.status


class TestExplanation:
    @pytest.fixture
    def explain(self, monkeypatch):
        def explain(error, status=0, *, kills_before=0, kills_after=0):
            monkeypatch.setattr(failures, "memory_kills", lambda: kills_after)
            return failures.explain(error, EndedWorker(status), kills_before, 30.0)

        return explain

    @pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGFPE", "SIGBUS", "SIGILL", "SIGTERM"])
    def test_has_the_signal(self, explain, name):
        outcome, problem = explain(WorkerDiedError("train"), -signal.Signals[name])
        assert (outcome, problem) == (RunOutcome.CRASHED, died("signal", signal.Signals[name]))

    def test_of_an_uncounted_kill_is_a_crash(self, explain):
        found = explain(WorkerDiedError("train"), -signal.SIGKILL, kills_before=3, kills_after=3)
        assert found == (RunOutcome.CRASHED, died("signal", signal.SIGKILL))

    def test_of_a_counted_kill_is_out_of_memory(self, explain):
        found = explain(WorkerDiedError("train"), -signal.SIGKILL, kills_before=3, kills_after=4)
        assert found == (RunOutcome.OUT_OF_MEMORY, died("memory"))

    def test_of_another_signal_is_not_out_of_memory_even_if_a_kill_was_counted(self, explain):
        outcome, _ = explain(WorkerDiedError("train"), -signal.SIGSEGV, kills_before=3, kills_after=4)
        assert outcome is RunOutcome.CRASHED

    def test_has_the_exit_status(self, explain):
        assert explain(WorkerDiedError("train"), 3) == (RunOutcome.CRASHED, died("status", 3))

    def test_of_a_worker_that_did_not_exit_has_no_signal(self, explain):
        assert explain(WorkerDiedError("train"), None) == (RunOutcome.BROKEN_PROTOCOL, died("pipe"))

    def test_of_a_worker_that_had_ended_before_a_request_says_so(self, explain):
        _, problem = explain(WorkerDiedError("train", is_before=True), 3)
        assert problem == WorkerDied(request="train", is_before=True, cause="status", number=3)

    def test_of_a_timeout_has_the_seconds(self, explain):
        late = TimedOut(request="train", limit_seconds=30.0)
        assert explain(WorkerTimeoutError("train")) == (RunOutcome.TIMEOUT, late)

    def test_of_garbage_is_what_was_wrong_with_it(self, explain):
        garbage = BadAnswer(request="train", fault="not_json", quoted="b'x'")
        assert explain(BrokenProtocolError(garbage)) == (RunOutcome.BROKEN_PROTOCOL, garbage)


def _memory_groups() -> Iterator[tuple[Path, str]]:
    """Control groups in which a limited one can be created, and the name of the file with its limit."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield failures.CGROUPS / "memory" / path.lstrip("/"), "memory.limit_in_bytes"
    # In version 2 only the root group can have both processes and limited children.
    yield failures.CGROUPS, "memory.max"


@pytest.fixture
def limited_group(tmp_path) -> Iterator[Path]:
    """A control group with little memory; skips with the reason if it cannot be created."""
    name, reasons = f"dlbench-test-{uuid.uuid4().hex[:8]}", []
    for parent, limit in _memory_groups():
        group = parent / name
        try:
            group.mkdir()
        except OSError as error:
            reasons.append(str(error))
            continue
        try:
            # Opened without creating it: a folder that is not a control group has no such file.
            with (group / limit).open("r+") as file:
                file.write(str(LIMIT_BYTES))
        except OSError as error:
            group.rmdir()
            reasons.append(str(error))
            continue
        # Swap would be filled first. Not every kernel can limit it.
        for swap, most in (("memory.swap.max", "0"), ("memory.memsw.limit_in_bytes", str(LIMIT_BYTES))):
            with suppress(OSError), (group / swap).open("r+") as file:
                file.write(most)
        yield group
        group.rmdir()
        return
    pytest.skip(f"no memory control group can be created: {'; '.join(reasons)}")


def test_a_worker_that_the_kernel_kills_is_reported_as_out_of_memory(limited_group, tmp_path):
    command = [sys.executable, "-m", "tests.running.driver", "eats_memory", "1", "1000", str(tmp_path / "data")]
    driver = subprocess.run(
        [*command, str(limited_group / "cgroup.procs")],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    run = codec.decode(driver.stdout, Run, "the driver's answer")
    assert run.outcome is RunOutcome.OUT_OF_MEMORY
    assert run.problem == died("memory")
    assert run.training is None
