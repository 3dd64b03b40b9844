"""What changed between two versions that ran in pairs: a verdict for every case, and whether it was confirmed."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_dlbench.judging import METRICS
from pytest_dlbench.planning.sides import unlabelled
from pytest_dlbench.planning.sweep import show
from pytest_dlbench.records import Case, CaseOutcome, Verdict, VerdictOutcome
from pytest_dlbench.reporting import figures
from pytest_dlbench.reporting.charts import Chart, Measured, changes
from pytest_dlbench.reporting.published.names import FRAMEWORKS
from pytest_dlbench.reporting.study import memory_growth, pictures
from pytest_dlbench.reporting.study.conditions import many
from pytest_dlbench.reporting.study.document import Block, Lacking, Paragraph, Picture, Section, Table

TITLE = "What new versions changed"
LEAD = (
    "Two versions ran in pairs of fresh processes, and where they could, took single steps in turn. A case regressed if"
    " the interval of a change is entirely beyond the tolerance; it is confirmed if it regressed in a second session,"
    " too. Intervals only ever narrow from pair to pair: one that no longer contains the ratio shows that the machine"
    " changed meanwhile, and the case is inconclusive."
)
OF_PICTURE = (
    "Each line is the interval of a change of the time of a step, its mark the estimate, and the grey band the"
    " tolerance: outside of it, the time has changed."
)
MAIN_METRIC = "step_time"
SUMMARISED = (MAIN_METRIC, "peak_rss")
IN_WORDS = ((MAIN_METRIC, "a step takes {} as long"), ("peak_rss", "the peak memory is {} as large"))

# Of two sides and a workload, the sessions in the order of their journals.
Comparisons = Mapping[tuple[str, str, str], Sequence[Measured]]


def section(cases: Sequence[Measured]) -> Section | Lacking:
    """For each framework, a picture of how the times of its steps changed and a table of all its comparisons."""
    paired = [case for case in compared(cases) if is_of_versions(case)]
    if not paired:
        because = "no two versions ran in pairs"
        return Lacking(title=TITLE, because=because, command="dlbench releases jax --last 5")
    lead = Paragraph(text=LEAD, items=tuple(_counts(by_comparison(paired))))
    of_frameworks: dict[str, list[Measured]] = {}
    for case in paired:
        of_frameworks.setdefault(_what_changed(case.case.framework), []).append(case)
    blocks: list[Block] = [lead]
    for name, some in of_frameworks.items():
        blocks += [*_picture(name, some), table(f"Comparisons of {name}", by_comparison(some))]
    of_both = [case for case in cases if case.is_baseline or case in paired]
    return Section(title=TITLE, blocks=(*blocks, *memory_growth.blocks(of_both)))


def _what_changed(framework: str) -> str:
    """A framework without its version: ``jax`` of ``jax==0.10.2``, ``pytorch@numpy`` of ``pytorch@numpy-2.4.6``."""
    return re.sub(r"(==|-)\d[^@]*$", "", framework)


def _releases(old: str, new: str) -> tuple[str, str, str]:
    """What two releases are of, and their versions; the frameworks as they are named if it is not the same of both."""
    name = _what_changed(new)
    if name in (old, new) or _what_changed(old) != name:
        return "", old, new
    before, after = (side.removeprefix(name).lstrip("=-") for side in (old, new))
    return f"{name.replace('@', ' with ')} ", before, after


def table(caption: str, found: Comparisons) -> Table:
    """A row for each comparison: both sides, its verdict and what changed."""
    headings = ("from", "to", "network", "verdict", "time of a step, now / before", "other changes", "pairs")
    rows = tuple(_row(*names, sessions) for names, sessions in found.items())
    return Table(caption=caption, headings=headings, rows=rows, texts=4)


def compared(cases: Sequence[Measured]) -> Sequence[Measured]:
    """The candidates of comparisons."""
    return [case for case in cases if case.result.pairing and not case.is_baseline]


def is_of_versions(case: Measured) -> bool:
    """Whether a comparison is of two versions of one framework, by its name or by what the studies call it."""
    old, new = (side.framework for side in _sides(case))
    names = {_what_changed(old), _what_changed(new)}
    return old != new and (len(names) == 1 or any(names <= {*ours} for ours in FRAMEWORKS.values()))


def by_comparison(cases: Sequence[Measured]) -> Comparisons:
    """The cases by what they compare, in the order of their sessions."""
    found: dict[tuple[str, str, str], list[Measured]] = {}
    for case in sorted(cases, key=lambda one: one.session):
        found.setdefault(_compared(case), []).append(case)
    return found


def _compared(case: Measured) -> tuple[str, str, str]:
    """Both sides, with the settings in which they differ, and what they trained."""
    old, new = _sides(case)
    workload = " · ".join((case.case.model, case.case.dataset, many(case.case.threads, "thread")))
    return _side(old, new), _side(new, old), workload


def _sides(case: Measured) -> tuple[Case, Case]:
    """The old case and the new one."""
    assert case.result.pairing
    return case.result.pairing.old, case.case


def _side(case: Case, other: Case) -> str:
    settings = (f"{name} {show(value)}" for name, value in case.settings.items() if other.settings.get(name) != value)
    variables = (f"{name}={value}" for name, value in case.variables.items() if other.variables.get(name) != value)
    revision = [case.revision.name] if case.revision and case.revision != other.revision else []
    return ", ".join((unlabelled(case), *settings, *variables, *revision))


def summaries(cases: Sequence[Measured]) -> Iterator[str]:
    """A sentence for each two versions that differ, and one that names all others."""
    alike: list[Unchanged] = []
    paired = [case for case in compared(cases) if is_of_versions(case)]
    for (old, new), sessions in _of_versions(by_comparison(paired)).items():
        firsts = [found[0] for found in sessions]
        outcomes = Counter(case.result.outcome for case in firsts)
        if outcomes[CaseOutcome.REGRESSED] or outcomes[CaseOutcome.IMPROVED]:
            spans = (words.format(span) for metric, words in IN_WORDS if (span := _span(metric, firsts)))
            name, one, other = _releases(old, new)
            yield f"From {name}{one} to {other}, {' and '.join(spans)} ({_counted(sessions)})"
        else:
            _add(alike, *_releases(old, new), decided=outcomes[CaseOutcome.PASSED], cases=len(firsts))
    if alike:
        yield f"No case changed by more than its tolerance: {', '.join(one.words for one in alike)}"


@dataclass(slots=True, kw_only=True)
class Unchanged:
    """Releases of ``name``, each next to the one it was compared with, of whose cases none got better or worse."""

    name: str
    releases: list[str]
    decided: int
    cases: int

    @property
    def words(self) -> str:
        """The releases in their order, and how many cases of all comparisons were decided."""
        return f"{self.name}{' → '.join(self.releases)} ({self.decided} of {many(self.cases, 'case')} decided)"


def _add(alike: list[Unchanged], name: str, old: str, new: str, *, decided: int, cases: int) -> None:
    """Append a comparison to the releases that end with its older one, if there are such."""
    for found in alike:
        if (found.name, found.releases[-1]) == (name, old):
            found.releases.append(new)
            found.decided += decided
            found.cases += cases
            return
    alike.append(Unchanged(name=name, releases=[old, new], decided=decided, cases=cases))


def _counts(found: Comparisons) -> Iterator[str]:
    """A line for each two versions: how many of their cases ended how, and by what time and memory changed."""
    for (old, new), cases in _of_versions(found).items():
        name, one, other = _releases(old, new)
        yield "; ".join((f"{name}{one} → {other}: {_counted(cases)}", *_ranges([sessions[0] for sessions in cases])))


def _counted(cases: Sequence[Sequence[Measured]]) -> str:
    """How many cases ended how: ``3 regressed, confirmed, 1 passed``."""
    outcomes = Counter(map(_outcome, cases))
    return ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.items())


def _of_versions(found: Comparisons) -> Mapping[tuple[str, str], Sequence[Sequence[Measured]]]:
    """The cases of each two versions."""
    of_versions: dict[tuple[str, str], list[Sequence[Measured]]] = {}
    for (old, new, _), sessions in found.items():
        of_versions.setdefault((old, new), []).append(sessions)
    return of_versions


def _ranges(cases: Sequence[Measured]) -> Iterator[str]:
    return (f"{figures.subject(METRICS[name])} {span}" for name in SUMMARISED if (span := _span(name, cases)))


def _span(metric: str, cases: Sequence[Measured]) -> str:
    """From which ratio to which a metric changed; empty if no case has one."""
    verdicts = (verdict for case in cases for verdict in case.result.verdicts if verdict.metric == metric)
    ratios = sorted(verdict.change for verdict in verdicts if verdict.change is not None)
    ends = dict.fromkeys(f"{ratio:.2f}" for ratio in (ratios[0], ratios[-1])) if ratios else ()
    return f"{' to '.join(ends)} times" if ends else ""


def _outcome(sessions: Sequence[Measured]) -> str:
    """That of the first session; for a regression, whether a later one confirmed it."""
    first, *later = [case.result.outcome for case in sessions]
    if first is not CaseOutcome.REGRESSED or not later:
        return first.value
    return "regressed, confirmed" if CaseOutcome.REGRESSED in later else "regressed, not confirmed"


def _row(old: str, new: str, workload: str, sessions: Sequence[Measured]) -> tuple[str, ...]:
    first = sessions[0]
    verdicts = {verdict.metric: verdict for verdict in first.result.verdicts}
    others = [verdict for name, verdict in verdicts.items() if name != MAIN_METRIC and _is_change(verdict)]
    pairing = first.result.pairing
    pairs = len(pairing.new_first) if pairing else 0
    main = verdicts.get(MAIN_METRIC)
    shown = "–" if main is None else figures.change(main).removeprefix("ratio ")
    return (old, new, workload, _outcome(sessions), shown, "; ".join(map(_stated, others)) or "–", f"{pairs:,}")


def _is_change(verdict: Verdict) -> bool:
    return verdict.outcome in (VerdictOutcome.REGRESSED, VerdictOutcome.IMPROVED)


def _stated(verdict: Verdict) -> str:
    heading = METRICS[verdict.metric].heading if verdict.metric in METRICS else verdict.metric
    return f"{heading} {verdict.outcome}, {figures.change(verdict)}"


def _picture(name: str, cases: Sequence[Measured]) -> Iterator[Picture]:
    shown = _labelled(cases)
    chart = changes.chart(shown, {MAIN_METRIC: METRICS[MAIN_METRIC]})
    if isinstance(chart, Chart):
        outcomes = Counter(str(row[3]) for row in chart.rows)
        words = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.items())
        drawn = pictures.drawn(
            chart,
            shown,
            name=f"versions-{name.replace('@', '-')}",
            alt=f"Changes of the time of a step in {name}: {words}",
        )
        yield replace(drawn, caption=OF_PICTURE)


def _labelled(cases: Sequence[Measured]) -> Sequence[Measured]:
    """The same with the versions and the network as labels, and what else is needed to distinguish them."""
    found, seen = [], Counter[str]()
    within = Counter((case.session, _label(case)) for case in cases)
    for case in sorted(cases, key=lambda one: one.session):
        label = _label(case) if within[case.session, _label(case)] == 1 else f"{_label(case)} · {case.cell}"
        seen[label] += 1
        found.append(replace(case, label=label if seen[label] == 1 else f"{label}, again ({seen[label]})"))
    return found


def _label(case: Measured) -> str:
    old, new, _ = _compared(case)
    # The picture is of one framework, whose name two versions or two requirements files have in common.
    (*name, version), (*other, later) = (re.split("(==|@)", side, maxsplit=1) for side in (old, new))
    versions = f"{version} → {later}" if name and name == other else f"{old} → {new}"
    return f"{versions} · {case.case.model}"
