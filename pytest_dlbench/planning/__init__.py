"""From axes to cases: which are run, which are skipped and why, and how long they should take."""
