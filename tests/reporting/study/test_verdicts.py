"""The register of claims in the study."""

from collections import Counter

from pytest_dlbench.records.outcomes import ClaimOutcome
from pytest_dlbench.reporting.published import register
from pytest_dlbench.reporting.published.verdicts import WHY
from pytest_dlbench.reporting.study import verdicts
from pytest_dlbench.reporting.study.document import Table


def test_undecided_claims_are_counted_by_what_keeps_them_open():
    found = register.verdicts(register.register(), ())
    _, reasons, *tables = verdicts.claims(found).blocks
    assert isinstance(reasons, Table)
    assert {one.decision.outcome for one in found} == {ClaimOutcome.UNDECIDED}
    expected = Counter(WHY[one.decision.obstacle] for one in found)
    assert {because: int(count) for because, count in reasons.rows} == expected
    counts = [int(count) for _, count in reasons.rows]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == len(found) == sum(len(table.rows) for table in tables)
