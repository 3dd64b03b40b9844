"""Which operators changed between two profiles of a step."""

from collections.abc import Mapping

from pytest_dlbench.records import OperatorTime

# So many of them explain a regression, or nothing does.
SHOWN = 8


def operator_changes(old: Mapping[str, float], new: Mapping[str, float]) -> tuple[OperatorTime, ...]:
    """Those whose seconds a step changed most, longer or shorter; 0 where a side has no such operator."""
    changes = [
        OperatorTime(name=name, old=old.get(name, 0.0), new=new.get(name, 0.0))
        for name in sorted(old.keys() | new.keys())
    ]
    largest = sorted(changes, key=lambda change: -abs(change.new - change.old))
    return tuple(change for change in largest[:SHOWN] if change.new != change.old)
