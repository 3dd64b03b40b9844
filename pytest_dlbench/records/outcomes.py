"""The outcomes of runs, comparisons and cases."""

from enum import StrEnum


class RunOutcome(StrEnum):
    """How one run in a fresh process ended."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    BROKEN_PROTOCOL = "broken_protocol"
    WRONG_VERSION = "wrong_version"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    MISSING_FRAMEWORK = "missing_framework"
    MISSING_DATA = "missing_data"
    MACHINE_LOST = "machine_lost"


class VerdictOutcome(StrEnum):
    """The outcome of a comparison of one metric.

    ``suspect`` is the worst verdict of a stored baseline with little history: it looks worse, and pairs would decide. A
    gain that is too good to be true is suspect as well.
    """

    REGRESSED = "regressed"
    SUSPECT = "suspect"
    IMPROVED = "improved"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


class CaseOutcome(StrEnum):
    """The outcome of a case; distinct in the terminal, in JUnit and in JSON."""

    PASSED = "passed"
    REGRESSED = "regressed"
    SUSPECT = "suspect"
    IMPROVED = "improved"
    INCONCLUSIVE = "inconclusive"
    NO_BASELINE = "no_baseline"
    DAMAGED_BASELINE = "damaged_baseline"
    INCOMPARABLE = "incomparable"
    DIVERGED = "diverged"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    BROKEN_PROTOCOL = "broken_protocol"
    WRONG_VERSION = "wrong_version"
    FAILED = "failed"
    MACHINE_LOST = "machine_lost"
    UNSUPPORTED = "unsupported"
    INVALID = "invalid"
    SKIPPED = "skipped"


class ClaimOutcome(StrEnum):
    """What records say about a claim."""

    HOLDS = "holds"
    DOES_NOT_HOLD = "does_not_hold"
    UNDECIDED = "undecided"
