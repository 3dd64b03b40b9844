"""Files with random damage: each is read, or refused with an error that names it; nothing crashes."""

import random

import pytest

from tests.campaign.files import kinds, read_or_refused

ATTEMPTS = 1500
TOKENS = (
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"NaN",
    b'""',
    b"[]",
    b"{}",
    b"\\ud800",
    b"\x00",
    b"\xff",
    b"\n",
    b'"a":',
    b",",
)


def damaged(content, drawn):
    """A copy with one to four changes: flipped bits, and parts that are removed, repeated or replaced."""
    found = bytearray(content)
    for _ in range(drawn.randint(1, 4)):
        first = drawn.randrange(len(found) + 1)
        last = min(len(found), first + drawn.choice((1, 1, 4, 40)))
        match drawn.randrange(4):
            case 0 if first < len(found):
                found[first] ^= 1 << drawn.randrange(8)
            case 1:
                del found[first:last]
            case 2:
                found[first:first] = found[first:last]
            case _:
                found[first:last] = drawn.choice(TOKENS)
    return bytes(found)


@pytest.mark.parametrize("place", range(8))
def test_damage(attempt, tmp_path, place):
    kind = kinds(tmp_path / "made")[place]
    drawn, path = random.Random(place), tmp_path / kind.name
    for number in range(ATTEMPTS):
        path.write_bytes(damaged(kind.content, drawn))
        with attempt(f"{kind.name}, number {number}"):
            found = read_or_refused(kind, path)
            assert not isinstance(found, str) or kind.name in found
