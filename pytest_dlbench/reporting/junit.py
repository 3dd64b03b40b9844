"""A case as JUnit properties."""

from pytest_dlbench.records import CaseResult


def properties(result: CaseResult) -> list[tuple[str, object]]:
    """Name and value of each: the outcome, every figure, and every comparison."""
    found: list[tuple[str, object]] = [("dlbench_case", result.case.id), ("dlbench_outcome", result.outcome.value)]
    found += [(f"dlbench_{name}", value) for name, value in result.figures.items()]
    for verdict in result.verdicts:
        found += [
            (f"dlbench_{verdict.metric}_verdict", verdict.outcome.value),
            (f"dlbench_{verdict.metric}_change", verdict.change),
            (f"dlbench_{verdict.metric}_lower", verdict.lower),
            (f"dlbench_{verdict.metric}_upper", verdict.upper),
        ]
    return found
