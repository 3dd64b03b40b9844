"""What is counted after the measurement: the framework's counts without those of evaluations, and why others lack."""

import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_dlbench.running.launch import WORKER_FOLDER


@pytest.fixture(scope="module")
def worker():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(WORKER_FOLDER)
        from dlworker import counting, instructions  # noqa: PLC0415 - they are on the worker's path

        return SimpleNamespace(counting=counting, instructions=instructions)


def step():
    return sum(range(1000))


def test_what_is_compiled_for_an_evaluation_is_not_that_of_training(worker):
    total = {"compilations": 5}
    compiled = worker.counting.Compiled(lambda: dict(total))
    total["compilations"] += 2
    with compiled.besides():
        total["compilations"] += 10
    total["compilations"] += 1
    assert compiled.counts() == {"compilations": 3}


def test_a_counter_that_comes_up_late_begins_at_nothing(worker):
    total = {}
    compiled = worker.counting.Compiled(lambda: dict(total))
    total["graph_breaks"] = 2
    assert compiled.counts() == {"graph_breaks": 2}
    with compiled.besides():
        total["graph_breaks"] += 3
    assert compiled.counts() == {"graph_breaks": 2}


def test_counts_and_reasons_are_told_apart(worker):
    counts, absent = worker.counting.counted(step, lambda _: {"operations": 7, "allocated_bytes": "no"}, {"x": 1})
    assert counts.items() >= {"operations": 7, "x": 1}.items()
    assert absent["allocated_bytes"] == "no"


def test_a_profiler_that_fails_is_the_reason_why_operations_are_unknown(worker):
    def count(run):
        raise ValueError("no events")

    _, absent = worker.counting.counted(step, count, {})
    assert absent["operations"] == "ValueError: no events"


def test_a_builder_that_counts_nothing_is_named(worker):
    builder = SimpleNamespace(__name__="dlworker.frameworks.pytorch.quick", Trainer=object)
    (reason,) = worker.counting.of_builder(builder, None, "cpu")(step).values()
    assert reason == "the builder pytorch.quick has no function count(run, trainer, device)"


def test_instructions_are_counted_or_the_reason_is_the_kernels(worker):
    counts, absent = worker.counting.counted(step, lambda _: {}, {})
    if "instructions" in counts:
        # An addition is several.
        assert counts["instructions"] > 1000
    else:
        assert absent["instructions"].startswith("the kernel counts no instructions: ")


# A software event, which kernels without counters of instructions have, too: one page fault for each new page.
SOFTWARE, PAGE_FAULTS = 1, 2
PAGES = 1000


def touch():
    """Use new memory."""
    with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as memory:
        for page in range(PAGES):
            memory[page * mmap.PAGESIZE] = 1


@pytest.fixture
def faults(worker, monkeypatch):
    """``instructions`` that counts page faults instead."""
    monkeypatch.setattr(worker.instructions, "HARDWARE", SOFTWARE)
    monkeypatch.setattr(worker.instructions, "INSTRUCTIONS", PAGE_FAULTS)
    try:
        worker.instructions.instructions(step)
    except worker.instructions.UncountedError as error:
        pytest.skip(str(error))
    return worker.instructions.instructions


def descriptors():
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def test_what_happens_meanwhile_is_counted_and_nothing_else(faults):
    touch()
    assert PAGES <= faults(touch) < 2 * PAGES
    assert faults(step) < PAGES


def test_threads_count_that_were_there_before_and_that_start_meanwhile(faults):
    with ThreadPoolExecutor(1) as before:
        before.submit(step).result()

        def run():
            before.submit(touch).result()
            with ThreadPoolExecutor(1) as started:
                started.submit(touch).result()

        assert faults(run) >= 2 * PAGES


def test_a_thread_that_has_ended_since_it_was_listed_is_passed_over(faults, worker, monkeypatch):
    # Greater than any number that Linux gives.
    monkeypatch.setattr(worker.instructions.os, "listdir", lambda _: [str(os.getpid()), str(2**30)])
    assert PAGES <= faults(touch) < 2 * PAGES


def test_counters_are_closed_afterwards(faults):
    before = descriptors()
    faults(step)
    assert descriptors() == before


def test_what_the_kernel_does_not_count_is_unknown_and_leaves_no_counter_open(worker, monkeypatch):
    monkeypatch.setattr(worker.instructions, "HARDWARE", 999)
    before = descriptors()
    with pytest.raises(worker.instructions.UncountedError, match="the kernel counts no instructions: "):
        worker.instructions.instructions(step)
    assert descriptors() == before


def test_a_processor_whose_system_call_is_not_known_counts_nothing(worker, monkeypatch):
    monkeypatch.setattr(worker.instructions.platform, "machine", lambda: "pdp11")
    with pytest.raises(worker.instructions.UncountedError, match="a known processor, not pdp11"):
        worker.instructions.instructions(step)
