"""Who waits for whom, between processes that do nothing but hold a device."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.running import devices

# Tells the card it has, and holds it until its input ends; "waits" comes first if it must wait.
HOLDS = """
import sys
from pytest_dlbench.running import devices
device, *cards = sys.argv[1:]
devices.WAIT_PERIOD_SECONDS = 0.02
with devices.held(device, lambda: print("waits", flush=True), lambda: cards) as card:
    print(f"has {card}", flush=True)
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
    (lock,) = devices.folder().iterdir()
    assert devices.folder().stat().st_mode & 0o7777 == 0o1777
    assert lock.stat().st_mode & 0o777 == 0o644


def test_a_link_in_the_place_of_a_lock_is_refused(tmp_path):
    (devices.folder() / "cpu.lock").symlink_to(tmp_path / "somewhere")
    with pytest.raises(DlbenchError, match=r"cpu\.lock: .*locks a device"), devices.held("cpu", lambda: None):
        pass


def test_without_a_library_there_is_one_card_without_a_name(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def no_cards(names):
        raise devices.NoCardsError("no driver")

    monkeypatch.setattr(devices, "open_cards", no_cards)
    assert devices.cards() == ("",)
