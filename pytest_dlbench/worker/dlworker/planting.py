"""Faults planted to check that they are detected, used only by ``dlbench calibrate``."""

from time import monotonic


class Slowed(object):
    """A trainer whose steps each take longer by a fraction of their own time, with the same results."""

    def __init__(self, trainer, share):
        self.trainer, self.share = trainer, share

    def step(self, number):
        began = monotonic()
        # Waits for the device, as the timing loop does: otherwise it would be a fraction of the dispatch only.
        loss = float(self.trainer.step(number))
        prolong(began, self.share)
        return loss


def prolong(began, share):
    """Spin until a step that began then has taken longer by a share of its own time."""
    now = monotonic()
    until = now + share * (now - began)
    # Busy waiting: sleep is only as precise as the scheduler, and lets the processor clock down.
    while monotonic() < until:
        pass


def slowed(trainer, share):
    """The trainer itself, or a slower one."""
    return Slowed(trainer, share) if share else trainer
