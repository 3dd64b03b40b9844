"""The order of the tests: what one worker of pytest-xdist is busy with for minutes comes first, or the others wait."""

import pytest

LONGEST = "test_vocabulary_agrees.py::test_trains_as_the_oracle_what_it_supports_and_refuses_the_rest[tinygrad-"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST not in item.nodeid)
