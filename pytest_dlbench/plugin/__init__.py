"""The pytest plugin: hooks, the fixture, parametrization, markers and terminal output."""
