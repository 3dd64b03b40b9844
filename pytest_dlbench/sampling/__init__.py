"""Samplers: each reads one resource of a worker from outside, by its process id."""
