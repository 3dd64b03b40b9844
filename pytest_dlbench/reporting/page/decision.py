"""What a report says first: the decision, and a plain sentence per cell."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_dlbench.judging import METRICS, Metrics, shown_in
from pytest_dlbench.judging.outcomes import ALWAYS_FAILING
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.records.reasons import Portable
from pytest_dlbench.reporting import explain, figures, sentences
from pytest_dlbench.reporting.charts import frameworks
from pytest_dlbench.reporting.charts.measured import Measured

BAD, GOOD, DOUBT, PLAIN = "bad", "good", "doubt", "plain"
UNDECIDED = (CaseOutcome.SUSPECT, CaseOutcome.INCONCLUSIVE, CaseOutcome.INCOMPARABLE, CaseOutcome.INVALID)
CONCLUDED = (CaseOutcome.PASSED, CaseOutcome.IMPROVED)


def headline(cases: Sequence[Measured], metrics: Metrics = METRICS) -> tuple[str, str]:
    """The decision, and its tone. Baseline sides were not judged, and are no cases of their own."""
    judged = [case for case in cases if not case.is_baseline]
    if not any(case.result.figures or case.result.outcome in ALWAYS_FAILING for case in judged):
        return "Nothing was measured", PLAIN
    return _bad(judged, metrics) or _doubtful(judged, metrics) or _fine(cases, judged, metrics)


def _bad(judged: Sequence[Measured], metrics: Metrics) -> tuple[str, str] | None:
    found = Counter(case.result.outcome for case in judged if case.result.outcome in ALWAYS_FAILING)
    if found[CaseOutcome.REGRESSED]:
        return f"Regressed: {_where(judged, CaseOutcome.REGRESSED, metrics)}", BAD
    return (f"Failed: {_counts(found)}{_of(judged)}", BAD) if found else None


def _doubtful(judged: Sequence[Measured], metrics: Metrics) -> tuple[str, str] | None:
    found = Counter(case.result.outcome for case in judged if case.result.outcome in UNDECIDED)
    if found[CaseOutcome.SUSPECT]:
        return f"A regression is suspected: {_where(judged, CaseOutcome.SUSPECT, metrics)}", DOUBT
    return (f"Not decided: {_counts(found)}{_of(judged)}", DOUBT) if found else None


def _fine(cases: Sequence[Measured], judged: Sequence[Measured], metrics: Metrics) -> tuple[str, str]:
    compared = [case for case in judged if sentences.compared(case.result, metrics)]
    if not compared:
        return _without_baseline(cases), PLAIN
    improved = sum(case.result.outcome is CaseOutcome.IMPROVED for case in compared)
    fine = f"No regression{f', {improved} improved' if improved else ''}"
    left = len(judged) - len(compared)
    return (f"{fine}; {left} of {_many(len(judged), 'case')} had nothing to be compared with" if left else fine), GOOD


def statements(cases: Sequence[Measured], metrics: Metrics = METRICS) -> list[tuple[int, str, str]]:
    """A sentence per cell, with the number of its first case, and the cell's name.

    First what was compared with a baseline or in pairs, regressions first; then frameworks next to each other; then
    what has nothing to be compared with.
    """
    numbers = {case.label: number for number, case in enumerate(cases)}
    judged = [case for case in cases if not case.is_baseline]
    compared = [case for case in judged if sentences.compared(case.result, metrics)]
    compared.sort(key=lambda case: (case.result.outcome not in ALWAYS_FAILING, case.result.outcome in CONCLUDED))
    found = [
        (numbers[case.label], case.cell, sentences.of_comparison(case.result, *_sides(case), metrics))
        for case in compared
    ]
    stated = {case.label for case in compared}
    for case in judged:
        if case.label not in stated and any(isinstance(one, Portable) for one in case.result.reasons):
            text = f"{case.case.framework} on any machine: {explain.portable(case.result, metrics)}"
            found.append((numbers[case.label], case.cell, text))
    for group in _rivals(cases):
        found.append((group[0][0], group[0][1].cell, _sentence(group)))
        stated |= {case.label for _, case in group}
    found += [(numbers[case.label], case.cell, _alone(case, metrics)) for case in judged if case.label not in stated]
    return found


def _where(judged: Sequence[Measured], outcome: CaseOutcome, metrics: Metrics) -> str:
    """What changed in the only case with this outcome, or in how many cases something did."""
    found = [case for case in judged if case.result.outcome is outcome]
    if len(found) > 1:
        return f"{len(found)} of {_many(len(judged), 'case')}"
    (case,) = found
    changed = sentences.change_of(case.result, *_sides(case), metrics)
    # A leak, for example, is judged alone.
    is_ambiguous = changed and len({other.cell for other in judged}) > 1
    return f"{changed or case.label}{f', on {case.cell}' if is_ambiguous else ''}"


def _without_baseline(cases: Sequence[Measured]) -> str:
    """Which framework is fastest, if these figures show it."""
    groups = list(_rivals(cases))
    if not groups:
        return "Measured, and compared with nothing"
    if len(groups) == 1:
        return f"{groups[0][0][1].cell}: {_sentence(groups[0])}"
    winners = {_winner(group) for group in groups}
    (winner, *others) = winners
    if winner and not others:
        return f"{winner} is the fastest on {_all(len(groups))} cells"
    return f"No framework is the fastest on {_all(len(groups))} cells"


def _rivals(cases: Sequence[Measured]) -> Iterator[list[tuple[int, Measured]]]:
    """Frameworks of one cell, the fastest first; the two sides of a pair are not rivals."""
    for group in frameworks.groups(cases):
        if not any(case.is_baseline or case.result.pairing for _, case in group):
            yield frameworks.ranked(group)


def _sentence(group: Sequence[tuple[int, Measured]]) -> str:
    (_, fastest), *others = group
    found = [(case.case.framework, frameworks.ratio(case, fastest)) for _, case in others]
    timed = sentences.TIMED[frameworks.judged_metric(fastest).name]
    return sentences.of_frameworks(fastest.case.framework, found, timed)


def _winner(group: Sequence[tuple[int, Measured]]) -> str | None:
    (_, fastest), *others = group
    is_clear = all(frameworks.ratio(case, fastest).lower > 1 for _, case in others)
    return fastest.case.framework if is_clear else None


def _sides(case: Measured) -> tuple[str, str]:
    """The names of a case and of what it was compared with."""
    pairing = case.result.pairing
    return case.case.framework, pairing.old.framework if pairing else "its baseline"


def _alone(case: Measured, metrics: Metrics) -> str:
    """The figures of a case without anything to compare them with; or that it has none."""
    known = case.result.figures
    shown = [
        f"{metric.heading} {figures.figure(metric.name, known[metric.name], metrics)}"
        for metric in shown_in("statement", metrics)
        if metric.name in known
    ]
    if case.result.outcome is CaseOutcome.NO_BASELINE and shown:
        return f"{case.case.framework}: {', '.join(shown)}"
    # Figures of an invalid case, for example, are not stated.
    return f"{case.case.framework}: {case.result.outcome.replace('_', ' ')}"


def _all(number: int) -> str:
    return "both" if number == 2 else f"all {number}"


def _counts(outcomes: Mapping[CaseOutcome, int]) -> str:
    return ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in outcomes.items())


def _of(judged: Sequence[Measured]) -> str:
    return f" (of {_many(len(judged), 'case')})" if len(judged) > 1 else ""


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
