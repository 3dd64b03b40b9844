"""Signals that are sent to this process, which handles them as a session does."""

import os
import signal

import pytest

from pytest_dlbench.running import interrupts
from pytest_dlbench.running.interrupts import Interrupts, TerminatedError, handled, undisturbed


@pytest.fixture(autouse=True)
def usual():
    """The dispositions that a process usually has; a shell may have started this one with others."""
    before = {number: signal.signal(number, what) for number, what in interrupts.USUAL.items()}
    yield
    assert {number: signal.getsignal(number) for number in before} == interrupts.USUAL
    for number, what in before.items():
        signal.signal(number, what)


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_interrupts_and_has_its_status(number, status):
    with handled(), pytest.raises(TerminatedError, match=f"{number.name} received") as caught:
        send(number)
    assert caught.value.status == status


def test_ctrl_c_stays_a_plain_interrupt():
    with handled(), pytest.raises(KeyboardInterrupt) as caught:
        send(signal.SIGINT)
    assert type(caught.value) is KeyboardInterrupt


@pytest.mark.parametrize("number", interrupts.USUAL)
def test_a_second_signal_right_after_does_not_disturb_the_clean_up(number):
    with handled():
        with pytest.raises(KeyboardInterrupt):
            send(number)
        for other in interrupts.USUAL:
            send(other)


def test_later_ctrl_c_interrupts_again(monkeypatch):
    with handled():
        for seconds in (100.0, 102.0):
            monkeypatch.setattr(interrupts, "monotonic", lambda seconds=seconds: seconds)
            with pytest.raises(KeyboardInterrupt):
                send(signal.SIGINT)


def test_at_the_end_only_the_second_ctrl_c_interrupts():
    with handled() as session:
        session.ending()
        for number in (*interrupts.USUAL, signal.SIGTERM):
            send(number)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)


def _is_disturbed(done):
    with undisturbed():
        with undisturbed():
            send(signal.SIGTERM)
            done.append("inner")
        done.append("outer")
    done.append("after")


def test_a_signal_takes_effect_after_what_must_not_be_disturbed():
    done = []
    with handled(), pytest.raises(TerminatedError):
        _is_disturbed(done)
    assert done == ["inner", "outer"]


def test_signals_that_somebody_else_handles_stay_theirs():
    seen = []
    signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    session = Interrupts()
    session.handle()
    send(signal.SIGTERM)
    send(signal.SIGHUP)
    assert seen == [signal.SIGTERM]
    session.restore()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
