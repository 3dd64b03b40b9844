"""One benchmark session: a spec becomes runs, a record, verdicts, a result, and a baseline if that was asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_dlbench import judging
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import equivalence, leaks, multiple_testing
from pytest_dlbench.judging.accuracy import COUNTED_RUNS, Divergences
from pytest_dlbench.judging.pairs import REFERENCE_RUNS
from pytest_dlbench.judging.reasons import invalid, unfinished
from pytest_dlbench.judging.sanity import suspicion
from pytest_dlbench.model import infer
from pytest_dlbench.planning.plan import REPEATS, RunSettings
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
    VerdictOutcome,
)
from pytest_dlbench.records.reasons import Diverged, Leaking, ToleranceTooTightError
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec, recipe_json
from pytest_dlbench.running.series import train_series
from pytest_dlbench.sampling.sampler import MakeSampler
from pytest_dlbench.storing import BaselineStore, Entry, Journal
from pytest_dlbench.storing.calibrations import CalibrationStore
from pytest_dlbench.storing.certificates import CertificateStore
from pytest_dlbench.storing.consecutive import consecutive
from pytest_dlbench.workflows import reasons
from pytest_dlbench.workflows.baseline_gate import Comparer, result
from pytest_dlbench.workflows.settings import GatePolicy, Storage
from pytest_dlbench.workflows.time_budget import TimeBudget
from pytest_dlbench.workflows.validity import Examiner

# What says whether a training diverges.
COUNTED = (RunOutcome.FINISHED, RunOutcome.DIVERGED)


@dataclass(slots=True, kw_only=True)
class Session:
    """What all cases of a pytest session share."""

    settings: RunSettings
    policy: GatePolicy
    storage: Storage
    journal: Journal
    comparer: Comparer
    certificates: CertificateStore
    progress: Progress
    repeat_flags: tuple[str, ...] = ()
    samplers: tuple[MakeSampler, ...] = ()
    examiner: Examiner = field(default_factory=Examiner)
    workers: int = 1
    """Processes of pytest-xdist that run tests: they know nothing of each other and share the false alarms equally."""
    time: TimeBudget = field(default_factory=TimeBudget)
    _candidates: int = 0
    _claims: dict[str, tuple[str, RunSpec]] = field(default_factory=dict)

    def run(self, spec: RunSpec, runs: int, repeats: int = 0, first: int = 0) -> tuple[Run, ...]:
        """Fresh runs of a case, each in the journal before the next starts; invalid ones are done again."""
        return train_series(
            spec,
            runs,
            hooks=self.hooks_of(spec),
            keep=lambda run: self.keep(spec, run),
            progress=self.progress,
            examine=lambda run: self.examiner.examine(spec, run),
            repeats=repeats,
            first=first,
        )

    def hooks_of(self, spec: RunSpec) -> RunHooks:
        """The session's samplers; steps are taken again to see whether they are what they seem."""

        def is_suspicious(check: StepCheck) -> bool:
            return bool(suspicion(check, spec.case.device))

        # A run that is evaluated twice is held against golden losses, which show more.
        is_checked = spec.is_timed and spec.evaluations == 1
        return RunHooks(samplers=self.samplers, is_suspicious=is_suspicious if is_checked else None)

    def keep(self, spec: RunSpec, run: Run) -> None:
        """A run as it ended, on the disk when this returns."""
        self.journal.append(Entry(run=run, context=self.settings.context(spec)))

    def level(self) -> float | None:
        """At which level the next candidate of this session is confirmed; None where the budget is spent."""
        budget = self.policy.false_alarms / self.workers
        if self._candidates >= multiple_testing.places_in_turn(budget):
            return None
        self._candidates += 1
        return multiple_testing.share_in_turn(self._candidates, budget)

    def reference(self, spec: RunSpec) -> tuple[Run, ...]:
        """Ten runs of a case, or more, that an earlier session made here in a row; none where there are none."""
        context = self.settings.context(spec)

        def is_alike(other: Context) -> bool:
            return not judging.obstacles(other, context)

        folder, besides = self.storage.journals, self.journal.path
        return consecutive(folder, spec.case.id, is_alike, least=REFERENCE_RUNS, besides=besides)

    def calibrated(self, *specs: RunSpec) -> Mapping[str, float]:
        """How far pairs of a case differ by what ``dlbench calibrate`` found here; of the first spec that it knows.

        Raises FileFormatError for a damaged file.
        """
        store = CalibrationStore(folder=self.storage.baselines)
        for spec in specs:
            context = self.settings.context(spec)
            found = store.nearest(spec.case, context.machine)
            if found and not judging.obstacles(found.context, context):
                return found.spreads
        return {}

    def conclude(self, record: Record, result: CaseResult) -> None:
        """A case as it was judged, on the disk when this returns."""
        self.journal.append(Entry(result=result, recipe=record.recipe))

    def train(self, spec: RunSpec, node: str, tolerance: Mapping[str, float]) -> tuple[Record, CaseResult]:
        """Run a case and judge it. ``node`` is the test's id, for the suggested commands."""
        self.claim(spec, node)
        context = self.settings.context(spec)
        narrow = self._narrow(spec, context, tolerance)
        runs = self._counted(spec, context, self.run(spec, self.settings.runs, self.settings.repeats))
        record = Record(
            case=spec.case,
            context=context,
            recipe=recipe_json(spec.recipe),
            runs=runs,
            certificate=self.certificate_of(spec, runs[0]),
        )
        judged = self._judge(record, spec, node, tolerance)
        if narrow:
            caution = reasons.too_tight_for_sessions(tolerance, narrow)
            judged = replace(judged, cautions=(*judged.cautions, caution))
        self.conclude(record, judged)
        return record, judged

    def _counted(self, spec: RunSpec, context: Context, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """The runs; where one diverged of a case whose stored runs did not, with more, until so many can be told."""
        if runs[-1].outcome is RunOutcome.DIVERGED and self.comparer.stored_runs(spec.case, context):
            while len(runs) < COUNTED_RUNS and runs[-1].outcome in COUNTED:
                runs += self.run(spec, 1, first=len(runs))
        return runs

    def _divergences(self, record: Record) -> tuple[Diverged, ...]:
        """How many runs diverged, and how often chance alone would have it so; nothing without stored runs."""
        seen = [run for run in record.runs if run.outcome in COUNTED]
        new = Divergences(runs=len(seen), diverged=sum(run.outcome is RunOutcome.DIVERGED for run in seen))
        old = Divergences(runs=self.comparer.stored_runs(record.case, record.context), diverged=0)
        if not old.runs or not new.diverged:
            return ()
        return (reasons.diverged(old, new),)

    def _narrow(self, spec: RunSpec, context: Context, tolerance: Mapping[str, float]) -> Mapping[str, float]:
        """Tolerances below what the baseline can tell; raises ToleranceTooTightError for those that were asked for.

        Saving and the shadow fail nothing, and are told as well.
        """
        narrow = self.comparer.narrow(spec.case, context, tolerance, self.calibrated(spec), self.settings.runs)
        refused = {name: least for name, least in narrow.items() if name in judging.asked_for(tolerance)}
        if refused and not self.policy.saves and not self.policy.is_report_only:
            raise ToleranceTooTightError(spec.case.id, reasons.too_tight_for_sessions(tolerance, refused))
        return narrow

    def certify(self, spec: RunSpec, golden: Golden, bound: float) -> tuple[Run, Certificate | None]:
        """One run held against the golden losses; its certificate is kept if it is equal, and revoked if not.

        None for a run that did not finish. Raises DlbenchError for golden losses of another network or data set.
        """
        given = (spec.network.digest, spec.data.digest, spec.steps)
        expected = (golden.network_digest, golden.dataset_digest, len(golden.losses))
        # Data that are not here have no digest; the run will say so.
        if spec.data.digest and given != expected:
            raise DlbenchError(
                f"{spec.case.id}: network, data set and steps are {given}, the golden losses are of {expected};\n"
                "  make new golden losses"
            )
        (run,) = self.run(replace(spec, evaluations=2, is_timed=False), 1)
        if run.outcome is not RunOutcome.FINISHED:
            return run, None
        found = equivalence.certificate(spec.case, self.settings.context(spec), run, golden, bound)
        keep = self.certificates.write if equivalence.is_equal(found) else self.certificates.revoke
        keep(found)
        return run, found

    def certificate_of(self, spec: RunSpec, run: Run) -> Certificate | None:
        """The certificate that holds for the versions of a run, if there is one."""
        if spec.purpose == "inference":
            return None
        # Dropout draws masks that frameworks cannot share: equivalence is of the network without it.
        digest = infer(spec.network.model.without_dropout()).digest
        found = self.certificates.find(spec.case, digest)
        return found if found and found.versions == equivalence.of_framework(run.versions) else None

    def claim(self, spec: RunSpec, node: str) -> None:
        """Refuse a case that another test of this session trains differently; raises DlbenchError."""
        other, known = self._claims.setdefault(spec.case.id, (node, spec))
        if (known.recipe, known.network.digest) != (spec.recipe, spec.network.digest):
            raise DlbenchError(
                f"{node} and {other} train the case {spec.case.id!r} differently and would share its baseline;\n"
                "  tell them apart: dlbench.train(..., label='big-batch')"
            )

    def _judge(self, record: Record, spec: RunSpec, node: str, tolerance: Mapping[str, float]) -> CaseResult:
        if outcome := judging.of_runs(record.runs):
            ended = next(run for run in record.runs if run.outcome is not RunOutcome.FINISHED)
            return result(record, outcome, unfinished(ended), *self._divergences(record))
        if not self.settings.keeps_invalid and any(run.invalid for run in record.runs):
            return result(record, CaseOutcome.INVALID, invalid({"": record.runs}, REPEATS))
        compared = _with_leak(record, self.comparer.compare(record, spec.framework, node, tolerance), tolerance)
        return self.comparer.save(record, compared) if self.policy.saves else compared


def open_session(
    settings: RunSettings,
    policy: GatePolicy,
    storage: Storage,
    progress: Progress,
    *,
    repeat_flags: Sequence[str] = (),
    samplers: Sequence[MakeSampler] = (),
    worker: str = "",
    workers: int = 1,
    tests: int = 1,
) -> Session:
    """A session on this machine; ``worker`` is the name of a worker of pytest-xdist, else empty.

    ``tests`` is how many tests of it run in pairs; ``repeat_flags`` are what a command that repeats a case needs.
    """
    return Session(
        settings=settings,
        policy=policy,
        storage=storage,
        repeat_flags=tuple(repeat_flags),
        journal=Journal(storage.journals, worker),
        comparer=Comparer(
            reason=policy.reason,
            repeat_flags=tuple(repeat_flags),
            history=storage.history,
            baselines=BaselineStore(folder=storage.baselines),
        ),
        certificates=CertificateStore(folder=storage.journals / "certificates"),
        progress=progress,
        samplers=tuple(samplers),
        workers=workers,
        time=TimeBudget(seconds=policy.budget_seconds, tests=tests, workers=workers),
    )


def _with_leak(record: Record, compared: CaseResult, tolerances: Mapping[str, float]) -> CaseResult:
    """A leak needs no baseline, and is one whatever that says."""
    tolerance = tolerances.get("leak") if record.runs[0].training else None
    found = leaks.verdict(record.runs, tolerance) if tolerance else None
    if found is None:
        return compared
    outcome = judging.with_absolute(compared.outcome, found)
    leaking = () if found.outcome is VerdictOutcome.EQUIVALENT else (Leaking(),)
    verdicts = (*compared.verdicts, found)
    return replace(compared, outcome=outcome, verdicts=verdicts, reasons=(*leaking, *compared.reasons))
