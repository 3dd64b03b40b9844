"""What pytest calls: hooks, the fixture, parametrization, markers and terminal output."""
