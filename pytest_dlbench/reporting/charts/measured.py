"""What charts are drawn from: judged cases with their runs, named so that no two look the same."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_dlbench.planning.matrix import AXES
from pytest_dlbench.planning.sweep import show
from pytest_dlbench.records import Case, CaseResult, Context, Run, RunOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A case of one session as its journal has it. ``session`` is the journal's name."""

    session: str
    result: CaseResult
    runs: tuple[Run, ...]
    context: Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A judged case, with the names that it has in a report.

    ``cell`` is what frameworks are compared on: model, data set, and whatever else differs between the report's cases.
    ``workload`` is the same without threads, ``subject`` without settings, ``job`` without the device. ``label`` is of
    this case alone.
    """

    label: str
    cell: str
    workload: str
    subject: str
    job: str
    judged: Judged

    @property
    def case(self) -> Case:
        """What was trained."""
        return self.judged.result.case

    @property
    def result(self) -> CaseResult:
        """What became of it."""
        return self.judged.result

    @property
    def session(self) -> str:
        """The journal that it stands in."""
        return self.judged.session

    @property
    def context(self) -> Context:
        """What it was measured in."""
        return self.judged.context

    @property
    def finished(self) -> tuple[Run, ...]:
        """The runs that have figures, of training or of inference, and no impossible ones."""
        runs = [run for run in self.judged.runs if run.outcome is RunOutcome.FINISHED]
        return tuple(run for run in runs if run.inference or (run.training and run.evaluation))

    @property
    def trained(self) -> tuple[Run, ...]:
        """Of these, the runs that trained and evaluated."""
        return tuple(run for run in self.finished if run.training)

    @property
    def sound(self) -> tuple[Run, ...]:
        """The finished runs whose times are the framework's and not the machine's troubles: what may be compared."""
        return tuple(run for run in self.finished if not run.invalid)


def named(cases: Iterable[Judged]) -> tuple[Measured, ...]:
    """The cases with their names, those of one cell together; what is the same in all of them is not said in each."""
    found = [_printable(judged) for judged in cases]
    sessions = _sessions(judged.session for judged in found)
    parts = [_parts(judged, sessions) for judged in found]
    telling = {name for name in _names(parts) if len({of_case.get(name) for of_case in parts}) > 1} | {"model"}
    seen: Counter[str] = Counter()
    measured = [_measured(judged, of_case, telling, seen) for judged, of_case in zip(found, parts, strict=True)]
    cells = list(dict.fromkeys(case.cell for case in measured))
    return tuple(sorted(measured, key=lambda case: cells.index(case.cell)))


def _printable(judged: Judged) -> Judged:
    """The same, with names that fit a line: pictures compute with them, and Vega refuses what ends a line in a text."""
    names: dict[str, Any] = {axis: printable(getattr(judged.result.case, axis)) for axis in AXES}
    case = replace(judged.result.case, **names)
    return replace(judged, session=printable(judged.session), result=replace(judged.result, case=case))


def printable(text: str) -> str:
    """Every sign that has no shape, such as the end of a line, as the one that stands for what cannot be shown."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def shared(cases: Sequence[Measured]) -> tuple[str, ...]:
    """What is the same in all cases, and so in none of their names."""
    parts = [_parts(case.judged, {}) for case in cases]
    names = [name for name in _names(parts) if name not in ("model", "session", "label")]
    same = [{of_case.get(name, "") for of_case in parts} for name in names]
    return tuple(text for texts in same if len(texts) == 1 for text in texts if text)


def _measured(judged: Judged, parts: Mapping[str, str], telling: set[str], seen: Counter[str]) -> Measured:
    settings = set(judged.result.case.settings)
    cell = _joined(parts, telling)
    label = f"{judged.result.case.framework} · {cell}"
    seen[label] += 1
    return Measured(
        label=label if seen[label] == 1 else f"{label} · {seen[label]}",
        cell=cell,
        workload=_joined(parts, telling - {"threads"}),
        subject=_joined(parts, telling - settings),
        job=_joined(parts, telling - {"device"}),
        judged=judged,
    )


def _parts(judged: Judged, sessions: Mapping[str, str]) -> dict[str, str]:
    case = judged.result.case
    label, *_ = case.id.partition(f"-{case.framework}-")
    settings = {name: printable(f"{name} {show(value)}") for name, value in case.settings.items()}
    return {
        "model": case.model,
        "dataset": case.dataset,
        "label": label if label != case.id else "",
        "device": case.device,
        **settings,
        "threads": f"{case.threads} thread{'s' * (case.threads != 1)}",
        "scale": case.scale,
        "session": sessions.get(judged.session, judged.session),
    }


def _sessions(names: Iterable[str]) -> dict[str, str]:
    """Journals by when they began, as long as that tells them apart."""
    stamps = {name: re.match(r"\d{4}(\d\d)(\d\d)T(\d\d)(\d\d)", name) for name in names}
    short = {name: "{}-{} {}:{}".format(*found.groups()) for name, found in stamps.items() if found}
    return short if len(set(short.values())) == len(stamps) else {}


def _names(parts: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for of_case in parts for name in of_case))


def _joined(parts: Mapping[str, str], telling: set[str]) -> str:
    return " · ".join(text for name, text in parts.items() if name in telling and text)
