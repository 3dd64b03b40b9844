"""The campaign: what is done on purpose to sessions, files and workers, and how much of it they survive.

Every module is a group, named like its file: ``test_kills.py`` is the group "kills". A test makes its attempts with the
fixture ``attempt``; one that fails does not stop the others, but fails the test. The summary has "survived n/n" for
each group. ``pytest tests/campaign`` runs it, and nothing else does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

SHOWN_FAILURES = 5
SHOWN_CHARACTERS = 500


@dataclass
class Attempts:
    """What a group tried, and what it did not survive."""

    made: int = 0
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """One attempt."""
        self.made += 1
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            self.failures.append(f"{what}: {type(error).__name__}: {str(error)[:SHOWN_CHARACTERS]}")


GROUPS = pytest.StashKey[dict[str, Attempts]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.slow)


@pytest.fixture
def attempt(request: pytest.FixtureRequest) -> Iterator[Attempts]:
    """A context manager for each attempt."""
    group = request.path.stem.removeprefix("test_")
    attempts = Attempts()
    yield attempts
    groups = request.config.stash.setdefault(GROUPS, {})
    known = groups.setdefault(group, Attempts())
    known.made += attempts.made
    known.failures += attempts.failures
    assert attempts.made, "nothing was attempted"
    if attempts.failures:
        shown = "\n".join(attempts.failures[:SHOWN_FAILURES])
        pytest.fail(f"{len(attempts.failures)} of {attempts.made} attempts failed, such as\n{shown}", pytrace=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if groups := config.stash.get(GROUPS, {}):
        terminalreporter.section("campaign")
        for name, attempts in groups.items():
            survived = attempts.made - len(attempts.failures)
            terminalreporter.write_line(f"survived {survived}/{attempts.made} {name}")
