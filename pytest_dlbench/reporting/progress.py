"""The progress line: a session's state, run by run and phase by phase. Nothing is written while a worker measures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isinf
from time import monotonic
from typing import Protocol

from pytest_dlbench import judging
from pytest_dlbench.records import Case, CaseOutcome, CaseResult, Run, RunOutcome
from pytest_dlbench.reporting import figures, foreign, problems
from pytest_dlbench.running.waits import REPORT_SECONDS, Wait

# Without a terminal, a phase is printed only after this much silence: CI may take a silent job for dead.
SILENCE_SECONDS = 300.0
# Before a line that takes the place of the one before; alone, it only removes that.
ERASED = "\r\x1b[2K"
# Characters of a case's name that are kept, before the rest of the line is cut.
SHORTEST_NAME = 24


class Screen(Protocol):
    """Where lines go."""

    @property
    def is_rewritable(self) -> bool:
        """Whether a line can be overwritten, as on a terminal."""
        ...

    @property
    def columns(self) -> int:
        """The longest line."""
        ...

    def write(self, text: str) -> None:
        """Write from the start of a line, and flush."""
        ...


class Agenda(Protocol):
    """The cases of a session in their order. Work is in seconds as planned: only ratios matter."""

    @property
    def count(self) -> int:
        """How many cases there are."""
        ...

    def number(self, case: Case) -> int:
        """The place of the case that runs now, from 1."""
        ...

    def of_run(self, number: int) -> float:
        """The work of one run of the case at a place."""
        ...

    def after(self, number: int, runs: int) -> float:
        """The work of all cases after a place; ``runs`` is how many runs the case at this place has."""
        ...


class Counted:
    """Cases of which only the number is known: each id that has not run yet is the next case, as long as the others."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._seen: dict[str, int] = {}

    @property
    def count(self) -> int:
        """As announced, or more if more have run."""
        return max(self._count, len(self._seen))

    def number(self, case: Case) -> int:
        """A case keeps its number."""
        return self._seen.setdefault(case.id, len(self._seen) + 1)

    def of_run(self, number: int) -> float:  # noqa: ARG002 - every run is the same
        """One unit."""
        return 1.0

    def after(self, number: int, runs: int) -> float:
        """As many runs for each case as this one has."""
        return float(runs * (self.count - number))


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The run in progress; ``side`` says which one of a pair it is."""

    case: Case
    index: int
    runs: int
    side: str

    @property
    def place(self) -> str:
        """The number of the run, or of the pair."""
        if self.side:
            return f"pair {self.index // 2 + 1} of {self.runs // 2}"
        return f"run {self.index + 1} of {self.runs}"


class Live:
    """One line that is overwritten on a terminal; elsewhere one plain line per finished run.

    ``budget_seconds`` is the time of all pairs, from now on.
    """

    def __init__(self, screen: Screen, agenda: Agenda, budget_seconds: float = inf) -> None:
        self._screen, self._agenda = screen, agenda
        self._budget_seconds, self._created = budget_seconds, monotonic()
        self._began = self._spoke = 0.0
        self._running: Running | None = None
        self._finished = 0
        # Of all finished runs, without what is between them: waiting for a device, building an environment.
        self._seconds = self._work = 0.0
        self._is_shown = False
        self._outcomes: Counter[CaseOutcome] = Counter()
        self._rate = ""

    def building(self, name: str, doing: str) -> None:
        """Show that an environment is being built, or waited for."""
        self._show(f"environment {name}: {doing}")

    def waiting(self, case: Case, wait: Wait) -> None:
        """Show who uses the device, in lines of their own: however narrow the terminal, nothing of it is cut."""
        waited = f"for {figures.duration(wait.seconds)}" if wait.seconds >= REPORT_SECONDS else "now"
        limit = "" if isinf(wait.limit_seconds) else f", at most {figures.duration(wait.limit_seconds)}"
        self.clear()
        what = f"waiting for {wait.device} {waited}{limit}: {problems.users(wait.holders)}"
        self._screen.write(
            f"{foreign.line(what)}; to end this: Ctrl-C, or --dlbench-wait=TIME; case: {foreign.line(case.id)}\n"
        )
        self._spoke = monotonic()

    def run_started(self, case: Case, index: int, runs: int, side: str = "") -> None:
        """Show what is running."""
        self._began = monotonic()
        self._spoke = self._spoke or self._began
        self._running = Running(case=case, index=index, runs=runs, side=side)
        if self._screen.is_rewritable:
            self._show(self._line(self._running))

    def phase_began(self, phase: str) -> None:
        """Show what the run is doing; without a terminal, only after minutes of silence."""
        if self._running and (self._screen.is_rewritable or monotonic() - self._spoke > SILENCE_SECONDS):
            self._show(self._line(self._running, phase))

    def run_finished(self, case: Case, run: Run, index: int, runs: int, side: str = "") -> None:
        """Show the result of a run."""
        self._seconds += monotonic() - self._began if self._running else 0.0
        self._work += self._agenda.of_run(self._agenda.number(case))
        found = judging.summarise([run]) if run.outcome is RunOutcome.FINISHED else {}
        self._rate = f", last {_rate(found)}{_where(run.host)}" if found else ""
        if not self._screen.is_rewritable:
            running = Running(case=case, index=index, runs=runs, side=side)
            name = f"{case.id} ({side})" if side else case.id
            summary = f"{_summary(run)}{_where(run.host)}"
            self._show(f"{self._position(running)} {name}: {summary}{self._left(running, is_done=True)}")

    def case_judged(self, outcome: CaseOutcome) -> None:
        """Count the outcome of a case, which later lines show."""
        self._outcomes[outcome] += 1

    def case_finished(self, result: CaseResult, hosts: Sequence[str] = ()) -> None:
        """Show a case that another process of this session ran, on leased hosts if there are any."""
        self._finished += 1
        shown = _rate(result.figures) if result.figures else "nothing measured"
        where = _where(", ".join(hosts))
        # pytest-xdist does not end its line of dots.
        line = foreign.line(f"case {self._finished}: {result.case.id}: {result.outcome}, {shown}{where}")
        self._screen.write(f"\n{line}\n")

    def line(self, text: str) -> None:
        """Show a line of another process of this session, which stays."""
        self.clear()
        self._screen.write(f"{foreign.line(text.rstrip())}\n")

    def doing(self, text: str) -> None:
        """Show what other processes of this session are doing, instead of what they were."""
        self._show(text)

    def clear(self) -> None:
        """Erase the line, to make room for pytest's own output."""
        if self._is_shown:
            # First: on a terminal that is gone it would fail again and again.
            self._is_shown = False
            self._screen.write(ERASED)

    def _line(self, running: Running, phase: str = "") -> str:
        """Everything known about the run in progress; the name of its case is shortened if the line is too long."""
        position, name = self._position(running), running.case.id
        side, doing = f" ({running.side})" if running.side else "", f", {phase}" if phase else ""
        known = f"{side}{doing}{self._rate}{self._left(running)}{self._so_far()}"
        if self._screen.is_rewritable:
            name = _shortened(name, self._screen.columns - 2 - len(position) - len(known))
        return f"{position} {name}{known}"

    def _position(self, running: Running) -> str:
        number = self._agenda.number(running.case)
        return f"case {number} of {self._agenda.count}, {running.place}:"

    def _left(self, running: Running, *, is_done: bool = False) -> str:
        """The time left: the work left, at the speed of the finished runs. ``is_done`` says that this run is, too."""
        number = self._agenda.number(running.case)
        # After screening, pairs continue if something is to be confirmed.
        own = self._agenda.of_run(number) * max(0, running.runs - running.index - is_done)
        work = own + self._agenda.after(number, running.runs)
        if not self._seconds or not work:
            return ""
        seconds = work * self._seconds / self._work - (0.0 if is_done else monotonic() - self._began)
        in_budget = self._created + self._budget_seconds - monotonic()
        # Each case has its fewest pairs all the same.
        return (
            f", about {figures.duration(max(0.0, min(seconds, in_budget)))} left" if in_budget > 0 else ", budget spent"
        )

    def _so_far(self) -> str:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self._outcomes.items())
        return f", so far {counts}" if counts else ""

    def _show(self, line: str) -> None:
        self._spoke = monotonic()
        line = foreign.line(line)
        if self._screen.is_rewritable:
            self._screen.write(f"{ERASED}{line[: self._screen.columns - 1]}")
            self._is_shown = True
        else:
            self._screen.write(f"{line}\n")


def orphans(ended: Mapping[int, str]) -> str:
    """The line on processes that were found running without their session, by process id."""
    names = ", ".join(f"{name} ({pid})" for pid, name in sorted(ended.items()))
    return f"dlbench: ended what a killed session had left running: {names}"


def _shortened(name: str, room: int) -> str:
    """A name cut to fit, but never below SHORTEST_NAME."""
    most = max(room, SHORTEST_NAME)
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _rate(values: Mapping[str, float]) -> str:
    """The first figure of a case that lines of progress show: samples per second, or an operator's arithmetic."""
    name = next(metric.name for metric in judging.shown_in("progress", judging.METRICS) if metric.name in values)
    return figures.figure(name, values[name])


def _where(host: str) -> str:
    return f" on {host}" if host else ""


def _summary(run: Run) -> str:
    if run.outcome is not RunOutcome.FINISHED:
        return f"{run.outcome} ({problems.first_line(run)})"
    values = judging.summarise([run])
    shown = [metric.name for metric in judging.shown_in("progress", judging.METRICS)]
    return ", ".join(figures.figure(name, values[name]) for name in shown if name in values)
