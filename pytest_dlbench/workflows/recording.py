"""Makes the record of a case from its runs, and finds what earlier sessions measured of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from pytest_dlbench import judging
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.pairs import REFERENCE_RUNS, STEP_TIMES, StepSpread
from pytest_dlbench.records import Calibration, CaseOutcome, CaseResult, Certificate, Context, Record, Run
from pytest_dlbench.records.reasons import BodyFailed, Caution, Interrupted
from pytest_dlbench.running import alternating
from pytest_dlbench.running.interrupts import undisturbed
from pytest_dlbench.running.run_spec import NetworkSpec, ProgramSpec, RunSpec, recipe_json
from pytest_dlbench.storing import Entry
from pytest_dlbench.storing.calibrations import CalibrationStore
from pytest_dlbench.storing.consecutive import consecutive
from pytest_dlbench.storing.journal import name_of
from pytest_dlbench.workflows.certify import certificate_of
from pytest_dlbench.workflows.session import Session


def record_of(session: Session, spec: RunSpec, runs: Sequence[Run]) -> Record:
    """The record of a case with one or more runs."""
    return Record(
        case=spec.case,
        context=session.settings.context(spec),
        recipe=recipe_json(spec.recipe) if isinstance(spec, NetworkSpec) else {},
        runs=tuple(runs),
        certificate=certificate_of(session, spec, runs[0]),
        metrics=judging.facts(session.settings.metrics),
        program=spec.program if isinstance(spec, ProgramSpec) else None,
    )


def conclude(session: Session, record: Record, result: CaseResult, old: Sequence[Run] = ()) -> None:
    """Append the result of a case to the journal; it is on disk when this returns. ``old`` are the baseline's runs."""
    with undisturbed():
        entry = Entry(
            result=result,
            # The runs have it, too, unless only the other side of a pair has run.
            context=record.context,
            recipe=record.recipe,
            metrics=record.metrics,
            program=record.program,
            runs=tuple(map(name_of, record.runs)),
            old_runs=tuple(map(name_of, old)),
        )
        session.journal.append(entry)


def body_failed(session: Session, result: CaseResult, problem: str) -> CaseResult:
    """The result of a case whose test failed later, by itself; in the journal it replaces the one that was judged."""
    failed = replace(result, outcome=CaseOutcome.FAILED, reasons=(BodyFailed(problem=problem), *result.reasons))
    _amend(session, failed)
    return failed


def noted(session: Session, result: CaseResult, caution: Caution) -> CaseResult:
    """The result of a case with one more caution, which its test gave it; it replaces the other in the journal."""
    cautioned = replace(result, cautions=(*result.cautions, caution))
    _amend(session, cautioned)
    return cautioned


def certified(session: Session, result: CaseResult, certificate: Certificate) -> CaseResult:
    """The result of a case whose framework was certified afterwards; it replaces the other in the journal."""
    known = replace(result, certificate=certificate)
    _amend(session, known)
    return known


def _amend(session: Session, result: CaseResult) -> None:
    """Append a result that replaces the last one of its case; one that waits to be saved is appended then."""
    waiting = (record.case for unsaved in session.unsaved.values() for record, _ in unsaved)
    if result.case not in waiting:
        with undisturbed():
            session.journal.append(Entry(result=result))


@contextmanager
def kept_if_interrupted(
    session: Session, spec: RunSpec, made: Callable[[], Sequence[Run]], planned: int = 0
) -> Iterator[None]:
    """If the session is interrupted in this block, its case has a result nevertheless, with the runs made so far."""
    try:
        yield
    except KeyboardInterrupt:
        if runs := made():
            result = CaseResult(
                case=spec.case,
                outcome=CaseOutcome.INCONCLUSIVE,
                reasons=(Interrupted(runs=len(runs), planned=planned),),
                runs=len(runs),
                # As of any case, those of invalid runs are not shown.
                figures=judging.summarise([run for run in runs if not run.invalid]),
            )
            # What prevents this must not prevent the interrupt.
            with suppress(OSError, DlbenchError):
                conclude(session, record_of(session, spec, runs), result)
        raise


def reference_runs(session: Session, spec: RunSpec) -> tuple[Run, ...]:
    """At least ten consecutive runs of a case from an earlier session on this machine, or none."""
    context = session.settings.context(spec)

    def is_alike(other: Context) -> bool:
        return not judging.obstacles(other, context)

    folder, besides = session.storage.journals, session.journal.path
    return consecutive(folder, spec.case.id, is_alike, minimum=REFERENCE_RUNS, exclude=besides)


def calibrated_spreads(session: Session, *specs: RunSpec) -> Mapping[str, float]:
    """How much runs vary by ``dlbench calibrate`` on this machine, for the first of the specs that it has been run for.

    Without step times, if the steps of its pairs alternated. Raises FileFormatError for a damaged file.
    """
    found = _calibration(session, specs)
    if found is None:
        return {}
    skipped = STEP_TIMES if found.design == "alternating" else ()
    return {name: spread for name, spread in found.spreads.items() if name not in skipped}


def step_spread(session: Session, baseline: RunSpec, candidate: RunSpec) -> StepSpread | None:
    """How much pairs whose steps alternate differ in step time; None if those of these sides cannot alternate.

    A calibration may be from a quieter day: it can widen the assumed spread, but never narrow it. Raises
    FileFormatError for a damaged file.
    """
    if alternating.obstacle(baseline, candidate):
        return None
    found, assumed = _calibration(session, (baseline, candidate)), StepSpread()
    if found is None or found.design != "alternating" or "step_time" not in found.spreads:
        return assumed
    return StepSpread(spread=max(found.spreads["step_time"], assumed.spread), pairs=found.pairs)


def _calibration(session: Session, specs: Sequence[RunSpec]) -> Calibration | None:
    store = CalibrationStore(folder=session.storage.baselines)
    for spec in specs:
        context = session.settings.context(spec)
        found = store.nearest(spec.case, context.machine)
        if found and not judging.obstacles(found.context, context):
            return found
    return None
