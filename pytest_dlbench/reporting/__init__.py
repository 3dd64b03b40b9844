"""Turns records and verdicts into text; nothing here prints."""
