"""From axes to cases: what is run, what is skipped and why, and how long it should take."""
