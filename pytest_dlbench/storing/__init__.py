"""Files that outlive a session: baselines, journals and the history."""

from pytest_dlbench.storing.baselines import BaselineStore
from pytest_dlbench.storing.journal import Damage, Entry, Journal, read_journal

__all__ = ["BaselineStore", "Damage", "Entry", "Journal", "read_journal"]
