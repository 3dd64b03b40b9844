"""Files that end too early, at every byte: nothing is accepted silently, and nothing before the cut is lost."""

import pytest

from pytest_dlbench.storing import Damage, read_journal
from tests.campaign.files import kinds, read_or_refused

# At every byte up to this size, beyond at as many places, evenly.
MOST_CUTS = 3_000


def places(size):
    return range(0, size, max(1, size // MOST_CUTS))


@pytest.fixture
def whole(tmp_path):
    return {kind.name: kind for kind in kinds(tmp_path / "made")}


@pytest.mark.parametrize("name", ["journal.jsonl", "old-journal.jsonl"])
def test_journals(attempt, whole, tmp_path, name):
    content, path = whole[name].content, tmp_path / name
    lines = content.splitlines(keepends=True)
    path.write_bytes(content)
    entries = list(read_journal(path))
    assert len(entries) == len(lines)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    for place in places(len(content)):
        with attempt(f"{name} cut at {place}"):
            path.write_bytes(content[:place])
            found = list(read_journal(path))
            # Only the line end may be missing.
            intact = sum(start <= place + 1 for start in starts[1:])
            assert found[:intact] == entries[:intact]
            assert len(found) <= intact + 1
            assert all(isinstance(entry, Damage) for entry in found[intact:])


@pytest.mark.parametrize("name", ["baseline.json", "document.json", "old-baseline.json", "old-document.json"])
def test_baselines_and_documents(attempt, whole, tmp_path, name):
    kind, path = whole[name], tmp_path / name
    path.write_bytes(kind.content)
    expected = kind.read(path)
    for place in places(len(kind.content)):
        with attempt(f"{name} cut at {place}"):
            path.write_bytes(kind.content[:place])
            found = read_or_refused(kind, path)
            assert found == expected or str(path) in found
