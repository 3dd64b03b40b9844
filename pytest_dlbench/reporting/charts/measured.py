"""The input of charts: judged cases with their runs, each with a unique name."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_dlbench.planning.matrix import AXES
from pytest_dlbench.planning.sweep import show
from pytest_dlbench.records import Case, CaseResult, Context, Run, RunOutcome
from pytest_dlbench.records.cases import label_of
from pytest_dlbench.reporting import foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A case of one session, from its journal. ``session`` is the journal's name.

    ``is_baseline``: it is the baseline side of a case that ran in pairs, and was not judged itself.
    """

    session: str
    result: CaseResult
    runs: tuple[Run, ...]
    context: Context
    is_baseline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A judged case with its names in a report.

    ``cell`` is what frameworks are compared on: model, data set, and whatever else differs between the report's cases.
    ``workload`` is the same without threads, ``training`` without workers, ``subject`` without settings, ``job``
    without the device. ``label`` is unique.
    """

    label: str
    cell: str
    workload: str
    training: str
    subject: str
    job: str
    judged: Judged

    @property
    def case(self) -> Case:
        """What was trained."""
        return self.judged.result.case

    @property
    def result(self) -> CaseResult:
        """Its outcome and figures."""
        return self.judged.result

    @property
    def is_baseline(self) -> bool:
        """Whether it is the baseline side of a case that ran in pairs."""
        return self.judged.is_baseline

    @property
    def outcome(self) -> str:
        """Its outcome, or what it is instead of a judged case."""
        return "baseline" if self.is_baseline else self.result.outcome.value

    def is_pair_of(self, other: "Measured") -> bool:
        """Whether the two are the sides of one case."""
        pairing = self.result.pairing
        return pairing is not None and (self.session, pairing) == (other.session, other.result.pairing)

    @property
    def session(self) -> str:
        """The name of its journal."""
        return self.judged.session

    @property
    def context(self) -> Context:
        """The conditions under which it was measured."""
        return self.judged.context

    @property
    def finished(self) -> tuple[Run, ...]:
        """The finished runs, of training or inference, that passed the sanity checks."""
        runs = [run for run in self.judged.runs if run.outcome is RunOutcome.FINISHED]
        # The networks of a search differ from seed to seed, so they are no runs of one training.
        return tuple(run for run in runs if run.has_figures and run.search is None)

    @property
    def searched(self) -> tuple[Run, ...]:
        """The finished runs of the networks that searches found."""
        runs = [run for run in self.judged.runs if run.outcome is RunOutcome.FINISHED]
        return tuple(run for run in runs if run.search)

    @property
    def trained(self) -> tuple[Run, ...]:
        """The finished runs that trained and evaluated."""
        return tuple(run for run in self.finished if run.training)

    @property
    def sound(self) -> tuple[Run, ...]:
        """The finished runs that are valid, so that they may be compared."""
        return tuple(run for run in self.finished if not run.invalid)


def named(cases: Iterable[Judged]) -> tuple[Measured, ...]:
    """The cases with their names, grouped by cell; names omit what all cases have in common."""
    found = [_printable(judged) for judged in cases]
    sessions = _sessions(judged.session for judged in found)
    parts = [_parts(judged, sessions) for judged in found]
    distinguishing = {name for name in _names(parts) if len({of_case.get(name) for of_case in parts}) > 1} | {"model"}
    seen: Counter[str] = Counter()
    measured = [_measured(judged, of_case, distinguishing, seen) for judged, of_case in zip(found, parts, strict=True)]
    cells = list(dict.fromkeys(case.cell for case in measured))
    return tuple(sorted(measured, key=lambda case: cells.index(case.cell)))


def _printable(judged: Judged) -> Judged:
    """The same with printable names: Vega, which computes with them, rejects strings that contain line ends."""
    names: dict[str, Any] = {axis: foreign.line(getattr(judged.result.case, axis)) for axis in AXES}
    case = replace(judged.result.case, **names)
    return replace(judged, session=foreign.line(judged.session), result=replace(judged.result, case=case))


def shared(cases: Sequence[Measured]) -> tuple[str, ...]:
    """What all cases have in common, and their names omit."""
    parts = [_parts(case.judged, {}) for case in cases]
    names = [name for name in _names(parts) if name not in ("model", "session", "label")]
    same = [{of_case.get(name, "") for of_case in parts} for name in names]
    return tuple(text for texts in same if len(texts) == 1 for text in texts if text)


def _measured(judged: Judged, parts: Mapping[str, str], distinguishing: set[str], seen: Counter[str]) -> Measured:
    settings = set(judged.result.case.settings)
    cell = _joined(parts, distinguishing)
    side = " (baseline)" if judged.is_baseline else ""
    label = f"{judged.result.case.framework}{side} · {cell}"
    seen[label] += 1
    return Measured(
        label=label if seen[label] == 1 else f"{label} · {seen[label]}",
        cell=cell,
        workload=_joined(parts, distinguishing - {"threads"}),
        training=_joined(parts, distinguishing - {"workers"}),
        subject=_joined(parts, distinguishing - settings),
        job=_joined(parts, distinguishing - {"device"}),
        judged=judged,
    )


def _parts(judged: Judged, sessions: Mapping[str, str]) -> dict[str, str]:
    case = judged.result.case
    settings = {name: foreign.line(f"{name} {show(value)}") for name, value in case.settings.items()}
    return {
        "model": case.model,
        "dataset": case.dataset,
        "label": label_of(case),
        "device": case.device,
        **settings,
        "threads": f"{case.threads} thread{'s' * (case.threads != 1)}",
        "workers": f"{case.workers} workers" if case.workers > 1 else "",
        "scale": case.scale,
        "session": sessions.get(judged.session, judged.session),
    }


def _sessions(names: Iterable[str]) -> dict[str, str]:
    """Short names of journals by their start times, with seconds where two began in one minute, if these are unique."""
    stamps = {name: re.match(r"\d{4}(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?", name) for name in names}
    short = {name: "{}-{} {}:{}".format(*found.groups()) for name, found in stamps.items() if found}
    starts = Counter(short.values())
    short |= {
        name: f"{short[name]}:{found[5]}"
        for name, found in stamps.items()
        if found and found[5] and starts[short[name]] > 1
    }
    return short if len(set(short.values())) == len(stamps) else {}


def _names(parts: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for of_case in parts for name in of_case))


def _joined(parts: Mapping[str, str], distinguishing: set[str]) -> str:
    return " · ".join(text for name, text in parts.items() if name in distinguishing and text)
