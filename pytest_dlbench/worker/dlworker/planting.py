"""Faults that are planted to see whether they are found: ``dlbench calibrate``. Nothing else asks for them."""

from time import monotonic


class Slowed(object):
    """A trainer each of whose steps takes longer by a share of its own time; what it computes is the same."""

    def __init__(self, trainer, share):
        self.trainer, self.share = trainer, share

    def step(self, number):
        began = monotonic()
        # Waits for the device, as the loop that times it does: else the share would be of the dispatch alone.
        loss = float(self.trainer.step(number))
        now = monotonic()
        until = now + self.share * (now - began)
        # Not sleeping: that is no more exact than the scheduler, and lets the processor clock down.
        while monotonic() < until:
            pass
        return loss


def slowed(trainer, share):
    """The trainer, or one that is slower."""
    return Slowed(trainer, share) if share else trainer
