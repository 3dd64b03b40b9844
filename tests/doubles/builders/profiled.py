"""slowed.py with a profiler: each operator takes the time in its name."""

from slowed import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "profile", "threads", "versions"]


def profile(run, trainer, device):
    run()
    return {"dot": 0.02, "wait": 0.04}
