"""Engines of searches that come with their own networks: programs, each trial of which is a process of its own."""
