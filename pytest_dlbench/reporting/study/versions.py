"""What changed between two versions that ran in pairs: a verdict for every case, and whether it was confirmed."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, log1p, prod

from pytest_dlbench.judging import METRICS
from pytest_dlbench.planning.sides import unlabelled
from pytest_dlbench.planning.sweep import show
from pytest_dlbench.records import Case, CaseOutcome, Verdict, VerdictOutcome
from pytest_dlbench.records.cases import label_of
from pytest_dlbench.reporting import figures
from pytest_dlbench.reporting.charts import Chart, Measured, changes
from pytest_dlbench.reporting.published.names import FRAMEWORKS
from pytest_dlbench.reporting.study import memory_growth, pictures
from pytest_dlbench.reporting.study.conditions import many
from pytest_dlbench.reporting.study.document import Block, Lacking, Paragraph, Picture, Section, Table

TITLE = "What new versions changed"
# With the tolerances of the time of a step, of the peak memory, and the least change of the latter.
LEAD = (
    "Two versions ran in pairs of fresh processes, and where they could, took single steps in turn. A metric changed if"
    " the interval of its change is entirely beyond the tolerance, which is {} for the time of a step, and for the peak"
    " memory (peak RSS) {} or {}, whichever is larger; it is confirmed if a second session found the same. A case has"
    " the verdict of its worst metric: it regressed even if only its memory did. The memory passes if it surely grew by"
    " less than its tolerance, even if it may have shrunk by more; if it varies too much from run to run, it is"
    " undecided, and the case may pass without it. Tolerances apply from one version to the next: small changes may add"
    " up."
    " Intervals only ever narrow from pair to pair: one that no longer contains the ratio shows that the machine"
    " changed meanwhile, and the case is inconclusive."
)
OF_PICTURE = (
    "Each line is the interval of a change of the time of a step, its mark the estimate, and the grey band the"
    " tolerance: outside of it, the time has changed."
)
MAIN_METRIC, MEMORY = "step_time", "peak_rss"
SUMMARISED = (MAIN_METRIC, MEMORY)
IN_WORDS = ((MAIN_METRIC, "a step takes {} as long"), (MEMORY, "the peak memory is {} as large"))
CHANGES = {
    (MAIN_METRIC, VerdictOutcome.IMPROVED): "steps faster",
    (MAIN_METRIC, VerdictOutcome.REGRESSED): "steps slower",
    (MEMORY, VerdictOutcome.IMPROVED): "less memory",
    (MEMORY, VerdictOutcome.REGRESSED): "more memory",
}
UNDECIDED = (VerdictOutcome.INCONCLUSIVE, VerdictOutcome.SUSPECT)
# What comparisons end with; other outcomes say that there was none.
JUDGED = (
    CaseOutcome.PASSED,
    CaseOutcome.REGRESSED,
    CaseOutcome.IMPROVED,
    CaseOutcome.INCONCLUSIVE,
    CaseOutcome.SUSPECT,
)

# Of two sides and a workload under the same conditions, the sessions in the order of their journals.
Comparisons = Mapping[tuple[str, str, str], Sequence[Measured]]


def section(cases: Sequence[Measured]) -> Section | Lacking:
    """For each framework, a picture of how the times of its steps changed and a table of all its comparisons."""
    paired = [case for case in compared(cases) if is_of_versions(case)]
    if not paired:
        because = "no two versions ran in pairs"
        return Lacking(title=TITLE, because=because, command="dlbench releases jax --last 5")
    of_frameworks: dict[str, list[Measured]] = {}
    for case in paired:
        of_frameworks.setdefault(_what_changed(case.case.framework), []).append(case)
    by_framework = {name: by_comparison(some) for name, some in of_frameworks.items()}
    every = (item for some in by_framework.values() for item in some.items())
    found = dict(sorted(every, key=lambda item: item[1][0].session))
    blocks: list[Block] = [Paragraph(text=_lead(), items=tuple(_counts(found)))]
    for name, some in of_frameworks.items():
        blocks += [*_picture(name, some), table(f"Comparisons of {name}", by_framework[name])]
    baselines = [case for case in cases if case.is_baseline]
    return Section(title=TITLE, blocks=(*blocks, *memory_growth.blocks(found, baselines)))


def _lead() -> str:
    shares = (f"{100 * _tolerance(name):g} %" for name in SUMMARISED)
    return LEAD.format(*shares, figures.figure(MEMORY, METRICS[MEMORY].least_change))


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
    others = "others that changed or are undecided"
    headings = ("from", "to", "network", "verdict", "time of a step, now / before", others, "pairs")
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
    """The cases by what they compare, in the order of their sessions; a condition is named if it is not that of all."""
    found: dict[tuple[str, str, str], list[Measured]] = {}
    named = _differing(cases)
    for case in sorted(cases, key=lambda one: one.session):
        found.setdefault(_compared(case, named), []).append(case)
    return found


def _compared(case: Measured, named: frozenset[str] = frozenset()) -> tuple[str, str, str]:
    """Both sides, with the settings in which they differ, and what they trained under which of the ``named``."""
    old, new = _sides(case)
    parts = (case.case.model, case.case.dataset, many(case.case.threads, "thread"), *_named_conditions(case, named))
    return _side(old, new), _side(new, old), " · ".join(parts)


def _conditions(case: Measured) -> Mapping[str, str]:
    """Whatever else two sessions must share for the second one to repeat the first."""
    old, new = _sides(case)
    return {
        "label": label_of(new),
        "device": new.device,
        **{name: f"{name} {show(value)}" for name, value in new.settings.items() if old.settings.get(name) == value},
        "workers": many(new.workers, "worker") if new.workers > 1 else "",
        "scale": f"scale {new.scale}" if new.scale else "",
        "machine": case.context.machine.name,
    }


def _differing(cases: Sequence[Measured]) -> frozenset[str]:
    """The names of the conditions that are not the same in all cases."""
    conditions = [_conditions(case) for case in cases]
    names = {name for found in conditions for name in found}
    return frozenset(name for name in names if len({found.get(name, "") for found in conditions}) > 1)


def _named_conditions(case: Measured, named: frozenset[str]) -> Iterator[str]:
    return (text for name, text in _conditions(case).items() if name in named and text)


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
    for (old, new), found in _of_versions(by_comparison(paired)).items():
        firsts = [sessions[0] for sessions in found]
        if any(_changes(found)):
            spans = (words.format(span) for metric, words in IN_WORDS if (span := _span(metric, firsts)))
            name, one, other = _releases(old, new)
            yield f"From {name}{one} to {other}, {' and '.join(spans)} ({'; '.join(_happened(found))})"
        else:
            _add(alike, *_releases(old, new), cases=firsts)
    if alike:
        yield f"No change beyond the tolerance was found: {', '.join(one.words for one in alike)}"


@dataclass(slots=True, kw_only=True)
class Unchanged:
    """Releases of ``name``, each next to the one it was compared with, of whose cases none got better or worse."""

    name: str
    releases: list[str]
    cases: list[Measured]

    @property
    def words(self) -> str:
        """The releases in their order, how many cases of all comparisons passed, and what else there is to say."""
        passed = sum(case.result.outcome is CaseOutcome.PASSED for case in self.cases)
        said = (f"{passed:,} of {many(len(self.cases), 'case')} passed", *_open(self.cases), *self._added_up())
        return f"{self.name}{' → '.join(self.releases)} ({'; '.join(said)})"

    def _added_up(self) -> Iterator[str]:
        """The case whose step changed the most over all releases, if the product is beyond the tolerance."""
        named = _differing(self.cases)
        steps: dict[str, list[float]] = {}
        for case in self.cases:
            steps.setdefault(_compared(case, named)[-1], []).extend(_ratios(MAIN_METRIC, [case]))
        links = len(self.releases) - 1
        whole = [(prod(ratios), name) for name, ratios in steps.items() if len(ratios) == links > 1]
        ratio, name = max(whole, key=lambda found: abs(log(found[0])), default=(1.0, ""))
        if abs(log(ratio)) > log1p(_tolerance(MAIN_METRIC)):
            model, *_ = name.split(" · ")
            taken = f"a step of {model} takes {ratio:.2f} times as long from the first to the last"
            yield f"but {taken}, by the product of the ratios"


def _add(alike: list[Unchanged], name: str, old: str, new: str, *, cases: Sequence[Measured]) -> None:
    """Append a comparison to the releases that end with its older one, if there are such."""
    for found in alike:
        if (found.name, found.releases[-1]) == (name, old):
            found.releases.append(new)
            found.cases.extend(cases)
            return
    alike.append(Unchanged(name=name, releases=[old, new], cases=[*cases]))


def _counts(found: Comparisons) -> Iterator[str]:
    """A line for each two versions: what changed in how many of their cases, and by what time and memory did."""
    for (old, new), cases in _of_versions(found).items():
        name, one, other = _releases(old, new)
        ranges = _ranges([sessions[0] for sessions in cases])
        yield f"{name}{one} → {other}: {'; '.join((*_happened(cases), *ranges))}"


def _happened(cases: Sequence[Sequence[Measured]]) -> Iterator[str]:
    """What changed in how many cases, and what else happened to them."""
    changed = tuple(_changes(cases))
    compared = sum(any(case.result.verdicts for case in sessions) for sessions in cases)
    yield from changed or ([f"no change found in {many(compared, 'case')}"] if compared else [])
    yield from _open([sessions[0] for sessions in cases])


def _changes(cases: Sequence[Sequence[Measured]]) -> Iterator[str]:
    """What sessions found to have changed: ``more memory in 3 of 4 cases, confirmed in a second session``."""
    # How many sessions of each case found it, and how many there were.
    found: dict[tuple[str, VerdictOutcome], list[tuple[int, int]]] = {}
    for sessions in cases:
        seen = ((one.metric, one.outcome) for case in sessions for one in _judged(case) if _is_change(one))
        for change, count in Counter(seen).items():
            found.setdefault(change, []).append((count, len(sessions)))
    for place, (change, counts) in enumerate(found.items()):
        of_all = f"{len(cases):,}" if place else many(len(cases), "case")
        yield f"{_named(*change)} in {len(counts):,} of {of_all}{_confirmed(counts)}"


def _named(metric: str, outcome: VerdictOutcome) -> str:
    """A change in words: ``steps faster``, ``accuracy regressed``."""
    return CHANGES.get((metric, outcome), f"{_subject(metric)} {outcome}")


def _subject(metric: str) -> str:
    return figures.subject(METRICS[metric]) if metric in METRICS else metric


def _confirmed(counts: Sequence[tuple[int, int]]) -> str:
    """Of how many cases several sessions found a change; empty if each had one session."""
    repeated = [found for found, sessions in counts if sessions > 1]
    confirmed = sum(found > 1 for found in repeated)
    if not repeated:
        return ""
    if len(repeated) == len(counts) and confirmed in (0, len(counts)):
        return f", {'' if confirmed else 'not '}confirmed in a second session"
    return f", {confirmed:,} of {len(repeated):,} that were repeated confirmed"


def _open(cases: Sequence[Measured]) -> Iterator[str]:
    """How many cases could not be compared, and which metrics are undecided in how many."""
    failed = Counter(case.result.outcome for case in cases if case.result.outcome not in JUDGED)
    yield from (f"{count:,} {outcome.value.replace('_', ' ')}" for outcome, count in failed.items())
    counts = Counter(one.metric for case in cases for one in _judged(case) if one.outcome in UNDECIDED)
    if counts:
        first, *others = ((_subject(metric), count) for metric, count in counts.items())
        yield ", ".join((f"{first[0]} undecided in {first[1]:,}", *(f"{name} in {count:,}" for name, count in others)))


def _judged(case: Measured) -> Sequence[Verdict]:
    """The verdicts on metrics that have a tolerance, even where the outcome of the case does not depend on them.

    It does not if a metric varies too much for its tolerance: then it is undecided, and not merely reported.
    """
    return [one for one in case.result.verdicts if one.decides or _tolerance(one.metric)]


def _tolerance(metric: str) -> float:
    """0 for a metric that is only reported, or is of a hook."""
    return (METRICS[metric].tolerance or 0.0) if metric in METRICS else 0.0


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
    ratios = sorted(_ratios(metric, cases))
    ends = dict.fromkeys(f"{ratio:.2f}" for ratio in (ratios[0], ratios[-1])) if ratios else ()
    return f"{' to '.join(ends)} times" if ends else ""


def _ratios(metric: str, cases: Sequence[Measured]) -> Sequence[float]:
    verdicts = (verdict for case in cases for verdict in case.result.verdicts if verdict.metric == metric)
    return [verdict.change for verdict in verdicts if verdict.change is not None]


def _outcome(sessions: Sequence[Measured]) -> str:
    """That of the first session; for a regression, whether later ones found it in the same metrics."""
    first, *later = sessions
    if first.result.outcome is not CaseOutcome.REGRESSED or not later:
        return first.result.outcome.value
    regressed, again = _regressed([first]), _regressed(later)
    confirmed = [name for name in regressed if name in again]
    if not confirmed:
        return "regressed, not confirmed"
    only = "" if len(confirmed) == len(regressed) else f"only {' and '.join(map(_subject, confirmed))} "
    return f"regressed, {only}confirmed"


def _regressed(sessions: Sequence[Measured]) -> Sequence[str]:
    """The metrics that regressed in any of these."""
    verdicts = (one for case in sessions for one in _judged(case))
    return [*dict.fromkeys(one.metric for one in verdicts if one.outcome is VerdictOutcome.REGRESSED)]


def _row(old: str, new: str, workload: str, sessions: Sequence[Measured]) -> tuple[str, ...]:
    first = sessions[0]
    verdicts = {verdict.metric: verdict for verdict in first.result.verdicts}
    undecided = [verdict for verdict in _judged(first) if verdict.outcome in UNDECIDED]
    stated = [verdict for verdict in first.result.verdicts if _is_change(verdict) or verdict in undecided]
    others = [verdict for verdict in stated if verdict.metric != MAIN_METRIC]
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
        alt = f"Changes of the time of a step in {name}, {_drawn([*by_comparison(cases).values()])}"
        drawn = pictures.drawn(chart, shown, name=f"versions-{name.replace('@', '-')}", alt=alt)
        yield replace(drawn, caption=OF_PICTURE)


def _drawn(found: Sequence[Sequence[Measured]]) -> str:
    """Which verdicts on the time of a step comparisons had in their first sessions, and how many had a second."""
    firsts = [sessions[0] for sessions in found]
    outcomes = Counter(one.outcome for case in firsts for one in case.result.verdicts if one.metric == MAIN_METRIC)
    words = ", ".join(f"{outcomes[outcome]:,} {outcome}" for outcome in changes.ORDER if outcomes[outcome])
    repeated = sum(len(sessions) > 1 for sessions in found)
    again = f"; {repeated:,} repeated in a second session" if repeated else ""
    return f"{many(outcomes.total(), 'comparison')}: {words}{again}"


def _labelled(cases: Sequence[Measured]) -> Sequence[Measured]:
    """The same with the versions and the network as labels, and what else is needed to distinguish them."""
    found, seen, named = [], Counter[str](), _differing(cases)
    within = Counter((case.session, _label(case, named)) for case in cases)
    for case in sorted(cases, key=lambda one: one.session):
        label = _label(case, named)
        label = label if within[case.session, label] == 1 else f"{label} · {case.cell}"
        seen[label] += 1
        found.append(replace(case, label=label if seen[label] == 1 else f"{label}, again ({seen[label]})"))
    return found


def _label(case: Measured, named: frozenset[str]) -> str:
    old, new, _ = _compared(case)
    # The picture is of one framework, whose name two versions or two requirements files have in common.
    (*name, version), (*other, later) = (re.split("(==|@)", side, maxsplit=1) for side in (old, new))
    versions = f"{version} → {later}" if name and name == other else f"{old} → {new}"
    return " · ".join((versions, case.case.model, *_named_conditions(case, named)))
