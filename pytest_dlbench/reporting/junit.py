"""A case as JUnit properties."""

from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.records import CaseOutcome, CaseResult
from pytest_dlbench.reporting import cautions, explain, foreign


def properties(result: CaseResult, metrics: Metrics = METRICS) -> list[tuple[str, object]]:
    """Names and values: the case, the outcome and its reasons, every figure, and every verdict."""
    found: list[tuple[str, object]] = [("dlbench_case", result.case.id), ("dlbench_outcome", result.outcome.value)]
    sides = {"dlbench_revision": result.case, "dlbench_baseline_revision": result.pairing and result.pairing.old}
    found += [(name, explain.revision(side.revision)) for name, side in sides.items() if side and side.revision]
    found += [("dlbench_aa", True if cautions.is_aa(result) else None)]
    found += [("dlbench_reason", explain.kinds(result) or None)]
    # Its test passes without --dlbench-compare, so that no failure says why it was not compared.
    has_words = result.outcome is CaseOutcome.INCOMPARABLE
    found += [("dlbench_message", explain.message(result, metrics) if has_words else None)]
    found += [("dlbench_settled_by", explain.settled_by(result, metrics) or None)]
    found += [("dlbench_warnings", "\n".join(cautions.warnings(result, metrics)) or None)]
    found += [("dlbench_steps", result.steps), ("dlbench_recipe_steps", result.recipe_steps)]
    found += [(f"dlbench_{name}", value) for name, value in result.figures.items()]
    for verdict in result.verdicts:
        found += [
            (f"dlbench_{verdict.metric}_verdict", verdict.outcome.value),
            (f"dlbench_{verdict.metric}_old", verdict.old),
            (f"dlbench_{verdict.metric}_new", verdict.new),
            (f"dlbench_{verdict.metric}_change", verdict.change),
            (f"dlbench_{verdict.metric}_lower", verdict.lower),
            (f"dlbench_{verdict.metric}_upper", verdict.upper),
            (f"dlbench_{verdict.metric}_tolerance", verdict.tolerance),
        ]
    for verdict in result.since_anchor:
        found += [
            (f"dlbench_{verdict.metric}_anchor_verdict", verdict.outcome.value),
            (f"dlbench_{verdict.metric}_anchor_change", verdict.change),
        ]
    return [(foreign.line(name), _shown(value)) for name, value in found if value is not None]


def _shown(value: object) -> object:
    return foreign.line(value) if isinstance(value, str) else value
