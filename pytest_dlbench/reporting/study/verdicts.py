"""The register of claims with its verdicts, and the flaws of the sources."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_dlbench.records.outcomes import ClaimOutcome
from pytest_dlbench.reporting.published import verdicts
from pytest_dlbench.reporting.published.register import Verdict
from pytest_dlbench.reporting.published.studies import flaws_by_source
from pytest_dlbench.reporting.study.document import Block, Paragraph, Section, Table


def claims(found: Sequence[Verdict]) -> Section:
    """Every claim, the decided ones with their evidence first."""
    rule = (
        "A claim holds if every interval is inside its limits, and does not hold if one is outside. If two cases also"
        " ran in pairs on the same machine and these decide, their intervals without pairs that contain a limit do not"
        " count. Batches have the sizes that the evidence names, often smaller than the source's, above all for large"
        " networks."
    )
    blocks: list[Block] = [Paragraph(text=f"The verdicts {verdicts.summary(found)}. {rule}"), *_obstacles(found)]
    decided = [one for one in found if one.decision.outcome is not ClaimOutcome.UNDECIDED]
    for caption, part in (("Decided", decided), ("Undecided", [one for one in found if one not in decided])):
        if part:
            headings = ("claim", "where", "verdict", "evidence", "flaws of the source")
            rows = tuple(verdicts.cells(one) for one in part)
            blocks.append(Table(caption=caption, headings=headings, rows=rows, texts=len(headings)))
    return Section(title="What the five studies claimed", blocks=tuple(blocks))


def _obstacles(found: Sequence[Verdict]) -> Iterator[Table]:
    """How many claims each obstacle keeps from being decided, the most frequent first."""
    counts = Counter(one.decision.obstacle for one in found if one.decision.obstacle)
    if counts:
        rows = tuple((verdicts.WHY[obstacle], f"{count:,}") for obstacle, count in counts.most_common())
        yield Table(caption="Why claims cannot be decided", headings=("because", "claims"), rows=rows)


def flaws() -> Section:
    """What is known to be wrong with published figures."""
    rows = tuple((source, text) for source, texts in flaws_by_source().items() for text in texts)
    text = (
        "Found in the repositories, logs and texts of the studies. A figure with a flaw is compared, and the flaw is"
        " named with it."
    )
    table = Table(caption="Known flaws", headings=("study", "flaw"), rows=rows, texts=2)
    return Section(title="Flaws of the sources", blocks=(Paragraph(text=text), table))
