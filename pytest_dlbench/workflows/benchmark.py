"""One benchmark session: a plan becomes runs, a record, verdicts, a result, and a baseline if that was asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from pytest_dlbench import judging
from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.environments.placing import Places
from pytest_dlbench.errors import DlbenchError, OptionError
from pytest_dlbench.judging import equivalence, leaks, multiple_testing
from pytest_dlbench.judging.accuracy import COUNTED_RUNS, Divergences, more_divergences
from pytest_dlbench.judging.pairs import REFERENCE_RUNS
from pytest_dlbench.judging.sanity import suspicion
from pytest_dlbench.model import infer
from pytest_dlbench.options import Options
from pytest_dlbench.planning.plan import Settings
from pytest_dlbench.records import (
    CaseOutcome,
    CaseResult,
    Certificate,
    Context,
    Golden,
    Record,
    Run,
    RunOutcome,
    StepCheck,
)
from pytest_dlbench.reporting import explain
from pytest_dlbench.running.plan import Plan, recipe_json
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.series import train_series
from pytest_dlbench.sampling.machine import this_machine
from pytest_dlbench.sampling.sampler import MakeSampler
from pytest_dlbench.storing import BaselineStore, Entry, Journal
from pytest_dlbench.storing.calibrations import CalibrationStore
from pytest_dlbench.storing.certificates import CertificateStore
from pytest_dlbench.storing.consecutive import consecutive
from pytest_dlbench.workflows.baseline_gate import Comparer, result
from pytest_dlbench.workflows.turns import Turns
from pytest_dlbench.workflows.validity import Examiner

# An invalid run is done again, but not for ever: a machine that is always busy does not become quiet by waiting.
REPEATS = 2
STORED = "the stored sessions"
# What says whether a training diverges.
COUNTED = (RunOutcome.FINISHED, RunOutcome.DIVERGED)


@dataclass(slots=True, kw_only=True)
class Session:
    """What all cases of a pytest session share."""

    options: Options
    settings: Settings
    journal: Journal
    comparer: Comparer
    certificates: CertificateStore
    progress: Progress
    samplers: tuple[MakeSampler, ...] = ()
    examiner: Examiner = field(default_factory=Examiner)
    workers: int = 1
    """Processes of pytest-xdist that run tests: they know nothing of each other and share the budget equally."""
    turns: Turns = field(init=False)
    _candidates: int = 0
    _began: float = field(default_factory=monotonic)
    _claims: dict[str, tuple[str, Plan]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.turns = Turns(has_time=lambda: self.has_time)

    def run(self, plan: Plan, runs: int, repeats: int = 0, first: int = 0) -> tuple[Run, ...]:
        """Fresh runs of a case, each in the journal before the next starts; invalid ones are done again."""
        return train_series(
            self.watched(plan),
            runs,
            keep=lambda run: self.keep(plan, run),
            progress=self.progress,
            examine=lambda run: self.examiner.examine(plan, run),
            repeats=repeats,
            first=first,
        )

    def watched(self, plan: Plan) -> Plan:
        """A plan with this session's samplers, whose steps are taken again to see whether they are what they seem."""

        def is_suspicious(check: StepCheck) -> bool:
            return bool(suspicion(check, plan.case.device))

        # A run that is evaluated twice is held against golden losses, which show more.
        is_checked = plan.is_timed and plan.evaluations == 1
        return replace(plan, samplers=self.samplers, is_suspicious=is_suspicious if is_checked else None)

    def keep(self, plan: Plan, run: Run) -> None:
        """A run as it ended, on the disk when this returns."""
        self.journal.append(Entry(run=run, context=self.settings.context(plan)))

    @property
    def has_time(self) -> bool:
        """Whether --dlbench-budget allows for another pair."""
        return monotonic() - self._began < self.options.budget

    def level(self) -> float | None:
        """At which level the next candidate of this session is confirmed; None where the budget is spent."""
        budget = self.options.false_alarms / self.workers
        if self._candidates >= multiple_testing.places_in_turn(budget):
            return None
        self._candidates += 1
        return multiple_testing.share_in_turn(self._candidates, budget)

    def reference(self, plan: Plan) -> tuple[Run, ...]:
        """Ten runs of a case, or more, that an earlier session made here in a row; none where there are none."""
        context = self.settings.context(plan)

        def is_alike(other: Context) -> bool:
            return not judging.obstacles(other, context)

        folder, exclude = self.options.journals, self.journal.path
        return consecutive(folder, plan.case.id, is_alike, minimum=REFERENCE_RUNS, exclude=exclude)

    def calibrated(self, *plans: Plan) -> Mapping[str, float]:
        """How far pairs of a case differ by what ``dlbench calibrate`` found here; of the first plan that it knows.

        Raises FileFormatError for a damaged file.
        """
        store = CalibrationStore(folder=self.options.baselines)
        for plan in plans:
            context = self.settings.context(plan)
            found = store.nearest(plan.case, context.machine)
            if found and not judging.obstacles(found.context, context):
                return found.spreads
        return {}

    def conclude(self, record: Record, result: CaseResult) -> None:
        """A case as it was judged, on the disk when this returns."""
        self.journal.append(Entry(result=result, recipe=record.recipe))

    def train(self, plan: Plan, node: str, tolerance: Mapping[str, float]) -> tuple[Record, CaseResult]:
        """Run a case and judge it. ``node`` is the test's id, for the commands in explain."""
        self.claim(plan, node)
        context = self.settings.context(plan)
        narrow = self._narrow(plan, context, tolerance)
        runs = self._counted(plan, context, self.run(plan, self.options.runs, self.repeats))
        record = Record(
            case=plan.case,
            context=context,
            recipe=recipe_json(plan.recipe),
            runs=runs,
            certificate=self.certificate_of(plan, runs[0]),
        )
        judged = self._judge(record, plan, node, tolerance)
        judged = replace(judged, warnings=(*judged.warnings, *explain.narrow(narrow, STORED)))
        self.conclude(record, judged)
        return record, judged

    def _counted(self, plan: Plan, context: Context, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """The runs; where one diverged of a case whose stored runs did not, with more, until so many can be told."""
        if runs[-1].outcome is RunOutcome.DIVERGED and self.comparer.stored_runs(plan.case, context):
            while len(runs) < COUNTED_RUNS and runs[-1].outcome in COUNTED:
                runs += self.run(plan, 1, first=len(runs))
        return runs

    def _divergences(self, record: Record) -> str:
        """How many runs diverged, and how often chance alone would have it so; nothing without stored runs."""
        seen = [run for run in record.runs if run.outcome in COUNTED]
        new = Divergences(runs=len(seen), diverged=sum(run.outcome is RunOutcome.DIVERGED for run in seen))
        old = Divergences(runs=self.comparer.stored_runs(record.case, record.context), diverged=0)
        if not old.runs or not new.diverged:
            return ""
        sides = ("the baseline", "this session")
        return "\n" + explain.divergences(old, new, more_divergences(old, new), sides)

    def _narrow(self, plan: Plan, context: Context, tolerance: Mapping[str, float]) -> Mapping[str, float]:
        """Tolerances below what the baseline can tell; raises OptionError for those that somebody asked for.

        Saving and the shadow fail nothing, and are told as well.
        """
        narrow = self.comparer.narrow(plan.case, context, tolerance, self.calibrated(plan))
        refused = {name: least for name, least in narrow.items() if name in judging.asked_for(tolerance)}
        if refused and not self.options.save and not self.options.shadow:
            seen = "as sessions and runs differ here; --dlbench-ab or more runs may find less"
            raise OptionError(explain.too_narrow(plan.case.id, tolerance, refused, STORED, seen))
        return narrow

    def certify(self, plan: Plan, golden: Golden, bound: float) -> tuple[Run, Certificate | None]:
        """One run held against the golden losses; its certificate is kept if it is equal, and revoked if not.

        None for a run that did not finish. Raises DlbenchError for golden losses of another network or data set.
        """
        given = (plan.network.digest, plan.data.digest, plan.steps)
        expected = (golden.network_digest, golden.dataset_digest, len(golden.losses))
        # Data that are not here have no digest; the run will say so.
        if plan.data.digest and given != expected:
            raise DlbenchError(
                f"{plan.case.id}: network, data set and steps are {given}, the golden losses are of {expected};\n"
                "  make new golden losses"
            )
        (run,) = self.run(replace(plan, evaluations=2, is_timed=False), 1)
        if run.outcome is not RunOutcome.FINISHED:
            return run, None
        found = equivalence.certificate(plan.case, self.settings.context(plan), run, golden, bound)
        keep = self.certificates.write if equivalence.is_equal(found) else self.certificates.revoke
        keep(found)
        return run, found

    @property
    def keeps_invalid(self) -> bool:
        """Whether runs that measured the machine's troubles are used, marked."""
        return CaseOutcome.INVALID in self.options.allow

    @property
    def repeats(self) -> int:
        """How many invalid runs of a case are done again."""
        return 0 if self.keeps_invalid else REPEATS

    def certificate_of(self, plan: Plan, run: Run) -> Certificate | None:
        """The certificate that holds for the versions of a run, if there is one."""
        if plan.purpose == "inference":
            return None
        # Dropout draws masks that frameworks cannot share: equivalence is of the network without it.
        digest = infer(plan.network.model.without_dropout()).digest
        found = self.certificates.find(plan.case, digest)
        return found if found and found.versions == equivalence.of_framework(run.versions) else None

    def claim(self, plan: Plan, node: str) -> None:
        """Refuse a case that another test of this session trains differently; raises DlbenchError."""
        other, known = self._claims.setdefault(plan.case.id, (node, plan))
        if (known.recipe, known.network.digest) != (plan.recipe, plan.network.digest):
            raise DlbenchError(
                f"{node} and {other} train the case {plan.case.id!r} differently and would share its baseline;\n"
                "  tell them apart: dlbench.train(..., label='big-batch')"
            )

    def _judge(self, record: Record, plan: Plan, node: str, tolerance: Mapping[str, float]) -> CaseResult:
        if outcome := judging.of_runs(record.runs):
            unfinished = next(run for run in record.runs if run.outcome is not RunOutcome.FINISHED)
            return result(record, outcome, f"{explain.unfinished(unfinished)}{self._divergences(record)}")
        if not self.keeps_invalid and any(run.invalid for run in record.runs):
            return result(record, CaseOutcome.INVALID, explain.invalid(record.runs, REPEATS))
        compared = _with_leak(record, self.comparer.compare(record, plan.framework, node, tolerance), tolerance)
        return self.comparer.save(record, compared) if self.options.save else compared


def open_session(
    options: Options, worker: str, progress: Progress, *, samplers: Sequence[MakeSampler] = (), workers: int = 1
) -> Session:
    """A session on this machine; ``worker`` is the name of a worker of pytest-xdist, else empty."""
    settings = Settings(
        machine=this_machine(),
        scale=options.scale,
        threads=options.threads[0],
        seed=options.seed,
        timeout_seconds=options.timeout,
        target_accuracy=options.target_accuracy,
        allocator=options.allocator,
        places=Places(store=EnvironmentStore(pythons=options.pythons), progress=progress if options.build else None),
    )
    return Session(
        options=options,
        settings=settings,
        journal=Journal(options.journals, worker),
        comparer=Comparer(options=options, baselines=BaselineStore(folder=options.baselines)),
        certificates=CertificateStore(folder=options.journals / "certificates"),
        progress=progress,
        samplers=tuple(samplers),
        workers=workers,
    )


def _with_leak(record: Record, compared: CaseResult, tolerances: Mapping[str, float]) -> CaseResult:
    """A leak needs no baseline, and is one whatever that says."""
    tolerance = tolerances.get("leak") if record.runs[0].training else None
    found = leaks.verdict(record.runs, tolerance) if tolerance else None
    if found is None:
        return compared
    outcome = judging.with_absolute(compared.outcome, found)
    message = explain.with_leak(found, compared.message)
    return replace(compared, outcome=outcome, verdicts=(*compared.verdicts, found), message=message)
