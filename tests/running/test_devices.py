"""Who waits for whom, between processes that do nothing but hold a device."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.running import devices

# Tells the card or the cores it has, and holds it until its input ends; "waits" comes first if it must wait.
HOLDS = """
import sys
from pytest_dlbench.running import devices
what, *named = sys.argv[1:]
devices.WAIT_PERIOD_SECONDS = 0.02

def waits():
    print("waits", flush=True)

cores = map(int, named) if what.isdigit() else ()
turn = devices.shared(int(what), waits, list(cores)) if what.isdigit() else devices.held(what, waits, lambda: named)
with turn as found:
    print("has", *(sorted(found) if what.isdigit() else [found]), flush=True)
    sys.stdin.read()
"""
BOTH = ("GPU-a", "GPU-b")


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def holder() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a process that wants a device."""
    with ExitStack() as stack:

        def holder(*arguments: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", HOLDS, *arguments]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            # Ended first, then its pipes are closed.
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield holder


def says(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline().strip()


def test_cases_on_processors_never_overlap(holder):
    first = holder("cpu")
    assert says(first) == "has"
    second = holder("cpu")
    assert says(second) == "waits"
    first.stdin.close()
    assert says(second) == "has"


def test_each_case_on_a_card_has_one_of_its_own_and_the_third_of_two_waits(holder):
    first, second = holder("gpu", *BOTH), holder("gpu", *BOTH)
    assert {says(first), says(second)} == {"has GPU-a", "has GPU-b"}
    third = holder("gpu", *BOTH)
    assert says(third) == "waits"
    second.stdin.close()
    assert says(third) in ("has GPU-a", "has GPU-b")


def test_a_case_on_processors_waits_for_all_cards_and_they_for_it(holder):
    on_card = holder("gpu", *BOTH)
    assert says(on_card) == "has GPU-a"
    on_processors = holder("cpu")
    assert says(on_processors) == "waits"
    on_card.stdin.close()
    assert says(on_processors) == "has"
    assert says(holder("gpu", *BOTH)) == "waits"


class TestWhatIsNotMeasured:
    """``holder("1", "7", "5")`` wants one of the processors 7 and 5, 7 rather."""

    def test_is_done_side_by_side_each_on_a_processor_of_its_own_and_the_third_of_two_waits(self, holder):
        first, second = holder("1", "7", "5"), holder("1", "7", "5")
        assert {says(first), says(second)} == {"has 7", "has 5"}
        third = holder("1", "7", "5")
        assert says(third) == "waits"
        first.stdin.close()
        assert says(third) in ("has 7", "has 5")

    def test_with_more_threads_waits_for_as_many_processors(self, holder):
        first = holder("1", "7", "5")
        assert says(first) == "has 7"
        second = holder("2", "7", "5")
        assert says(second) == "waits"
        first.stdin.close()
        assert says(second) == "has 5 7"

    def test_with_more_threads_than_processors_has_them_all(self, holder):
        assert says(holder("3", "7", "5")) == "has 5 7"

    def test_needs_no_processors_where_none_are_pinned(self, holder):
        assert [says(holder("1")) for _ in range(2)] == ["has"] * 2

    @pytest.mark.parametrize("device", [("cpu",), ("gpu", "GPU-a")])
    def test_is_never_beside_a_measurement(self, holder, device):
        measuring = holder(*device)
        assert says(measuring).startswith("has")
        other = holder("1", "7")
        assert says(other) == "waits"
        measuring.stdin.close()
        assert says(other) == "has 7"
        assert says(holder(*device)) == "waits"

    def test_lets_a_measurement_pass_that_waits(self, holder):
        first = holder("1", "7", "5")
        assert says(first) == "has 7"
        measuring = holder("cpu")
        assert says(measuring) == "waits"
        # A processor is free, but whoever came first would wait for ever behind such a stream.
        second = holder("1", "7", "5")
        assert says(second) == "waits"
        first.stdin.close()
        assert says(measuring) == "has"
        measuring.stdin.close()
        assert says(second) in ("has 7", "has 5")

    def test_waits_no_longer_for_a_measurement_that_was_given_up(self, holder):
        first = holder("1", "7", "5")
        assert says(first) == "has 7"
        measuring = holder("cpu")
        assert says(measuring) == "waits"
        measuring.kill()
        measuring.wait()
        assert says(holder("1", "7", "5")) == "has 5"


def test_a_process_that_is_killed_holds_nothing(holder):
    first = holder("cpu")
    assert says(first) == "has"
    first.kill()
    first.wait()
    assert says(holder("cpu")) == "has"


def test_a_device_is_free_behind_its_block_however_it_ends():
    with pytest.raises(KeyboardInterrupt), devices.held("cpu", lambda: None):
        raise KeyboardInterrupt
    with devices.held("cpu", lambda: pytest.fail("the device is held")):
        pass


def test_everybody_may_lock_and_nobody_may_write(holder):
    says(holder("cpu"))
    locks = list(devices.folder().iterdir())
    assert {lock.name for lock in locks} == {"cpu.lock", "timed.lock", "untimed.lock"}
    assert devices.folder().stat().st_mode & 0o7777 == 0o1777
    assert {lock.stat().st_mode & 0o777 for lock in locks} == {0o644}


def test_a_link_in_the_place_of_a_lock_is_refused(tmp_path):
    (devices.folder() / "cpu.lock").symlink_to(tmp_path / "somewhere")
    with pytest.raises(DlbenchError, match=r"cpu\.lock: .*locks a device"), devices.held("cpu", lambda: None):
        pass


def test_without_a_library_there_is_one_card_without_a_name(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def no_cards(names):
        raise devices.NoGpuError("no driver")

    monkeypatch.setattr(devices, "open_gpus", no_cards)
    assert devices.cards() == ("",)


def test_on_the_processors_one_case_is_measured_at_a_time_and_on_cards_one_on_each():
    assert devices.places(devices.CPU) == 1
    assert devices.places("gpu", lambda: ("one", "two")) == 2
