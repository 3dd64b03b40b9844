"""Samplers: each reads one resource of a worker from outside the process, by its process id."""
