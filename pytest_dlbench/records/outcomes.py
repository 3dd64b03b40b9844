"""What becomes of a run, of a comparison and of a case."""

from enum import StrEnum


class RunOutcome(StrEnum):
    """How one run in a fresh process ended."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    BROKEN_PROTOCOL = "broken_protocol"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    MISSING_FRAMEWORK = "missing_framework"
    MISSING_DATA = "missing_data"


class VerdictOutcome(StrEnum):
    """What a comparison says about one metric.

    ``suspect`` is what a stored baseline with little history may say at most: it looks worse, and pairs would tell.
    """

    REGRESSED = "regressed"
    SUSPECT = "suspect"
    IMPROVED = "improved"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


class CaseOutcome(StrEnum):
    """What becomes of a case; distinct in the terminal, in JUnit and in JSON."""

    PASSED = "passed"
    REGRESSED = "regressed"
    SUSPECT = "suspect"
    IMPROVED = "improved"
    INCONCLUSIVE = "inconclusive"
    NO_BASELINE = "no_baseline"
    INCOMPARABLE = "incomparable"
    DIVERGED = "diverged"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    BROKEN_PROTOCOL = "broken_protocol"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    INVALID = "invalid"
    SKIPPED = "skipped"
