"""Data: what was run, measured and concluded. Frozen, without behaviour.

Times are in seconds of the monotonic clock that worker and sampler share, sizes in bytes, accuracies from 0 to 1.
"""

from pytest_dlbench.records.baselines import Baseline, BaselineSession
from pytest_dlbench.records.breakdowns import Breakdown, LayerSeconds
from pytest_dlbench.records.calibrations import Calibration, Fault
from pytest_dlbench.records.cases import PORTABLE, Case, Context, Machine, Revision, SkippedCell
from pytest_dlbench.records.equivalence import Certificate, Golden
from pytest_dlbench.records.kernels import RecurrentKernel
from pytest_dlbench.records.metrics import MetricFacts
from pytest_dlbench.records.operations import CallCheck, Operation, OperatorPass
from pytest_dlbench.records.outcomes import CaseOutcome, RunOutcome, VerdictOutcome
from pytest_dlbench.records.programs import Program, Reported
from pytest_dlbench.records.results import CaseResult, OperatorTime, Pairing, Verdict
from pytest_dlbench.records.runs import ComputeDevice, Exchange, MachineSpeed, Record, Run, StepWork, WorkerShare
from pytest_dlbench.records.searches import Search, SearchPoint, Trial
from pytest_dlbench.records.trainings import (
    Alternation,
    Checkpoint,
    Contention,
    CurvePoint,
    Evaluation,
    Inference,
    Length,
    Loading,
    StepCheck,
    Training,
    UpdateCheck,
    Validation,
    WarmUp,
)
from pytest_dlbench.records.usages import POWER_LIMIT, GpuUsage, Timeline, Usage
from pytest_dlbench.records.versions import (
    BASELINE_FORMAT,
    CALIBRATION_FORMAT,
    DOCUMENT_FORMAT,
    FORMAT_VERSION,
    JOURNAL_FORMAT,
)

__all__ = [
    "BASELINE_FORMAT",
    "CALIBRATION_FORMAT",
    "DOCUMENT_FORMAT",
    "FORMAT_VERSION",
    "JOURNAL_FORMAT",
    "PORTABLE",
    "POWER_LIMIT",
    "Alternation",
    "Baseline",
    "BaselineSession",
    "Breakdown",
    "Calibration",
    "CallCheck",
    "Case",
    "CaseOutcome",
    "CaseResult",
    "Certificate",
    "Checkpoint",
    "ComputeDevice",
    "Contention",
    "Context",
    "CurvePoint",
    "Evaluation",
    "Exchange",
    "Fault",
    "Golden",
    "GpuUsage",
    "Inference",
    "LayerSeconds",
    "Length",
    "Loading",
    "Machine",
    "MachineSpeed",
    "MetricFacts",
    "Operation",
    "OperatorPass",
    "OperatorTime",
    "Pairing",
    "Program",
    "Record",
    "RecurrentKernel",
    "Reported",
    "Revision",
    "Run",
    "RunOutcome",
    "Search",
    "SearchPoint",
    "SkippedCell",
    "StepCheck",
    "StepWork",
    "Timeline",
    "Training",
    "Trial",
    "UpdateCheck",
    "Usage",
    "Validation",
    "Verdict",
    "VerdictOutcome",
    "WarmUp",
    "WorkerShare",
]
