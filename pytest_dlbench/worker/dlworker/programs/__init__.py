"""Runs a program: a training loop of the user's own, which imports nothing of this package."""
