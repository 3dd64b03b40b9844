"""Runs one case: starts a fresh worker per run, talks to it over private pipes, and explains how it ended."""
