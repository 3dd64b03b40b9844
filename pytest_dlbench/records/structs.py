"""The base classes of records that are members of a union.

Structs rather than dataclasses, because msgspec supports the ``kind`` that distinguishes the members of a union in
Structs only.
"""

import msgspec


def _kind(name: str) -> str:
    """``TooFew`` is ``too_few`` in JSON."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record within a member of a union, which is of one type only."""


class Tagged(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=_kind):
    """A member of a union."""
