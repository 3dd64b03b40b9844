"""Which operators changed between two profiles of a step."""

from collections.abc import Mapping

from pytest_dlbench.records import OperatorTime

# If this many operators do not explain a regression, more would not either.
SHOWN = 8


def operator_changes(old: Mapping[str, float], new: Mapping[str, float]) -> tuple[OperatorTime, ...]:
    """The operators whose seconds per step changed most, up or down; 0 if a side has no such operator."""
    changes = [
        OperatorTime(name=name, old=old.get(name, 0.0), new=new.get(name, 0.0))
        for name in sorted(old.keys() | new.keys())
    ]
    largest = sorted(changes, key=lambda change: -abs(change.new - change.old))
    return tuple(change for change in largest[:SHOWN] if change.new != change.old)
