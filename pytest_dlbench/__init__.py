"""Benchmarks of deep-learning training as pytest test cases."""
