"""``dlbench claims``: what studies claimed, and what records say about it."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from pytest_dlbench.cli.output import JOURNALS, Commands, answer, command, complain
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.records.outcomes import ClaimOutcome
from pytest_dlbench.reporting.published import studies

MORE = """
The register of claims that five studies made, each with its source, the rule that decides it, the known flaws of the
source, and the verdict of your records with its evidence. Verdicts are computed from the runs: a claim holds if every
interval is inside its limits, and does not hold if one is outside. What needs a GPU, another data set or a framework
that has no equivalent cannot be decided, and the reason is stated.

examples:
  dlbench claims                               verdicts of the sessions in .dlbench, if there are any
  dlbench claims nightly.json --source hkbu
  dlbench claims .dlbench --verdict does_not_hold
  dlbench claims .dlbench --markdown > claims.md

exit status: 0 shown, 1 a file is damaged (the rest is used), 2 usage error or no such study
"""


def declare(commands: Commands) -> None:
    """Add ``claims``."""
    parser = command(commands, "claims", help_text="Show which claims of studies your records support.", more=MORE)
    parser.add_argument(
        "paths",
        metavar="RECORDS",
        nargs="*",
        type=Path,
        help=f"Journals, files of --dlbench-json, or folders of them [{JOURNALS}].",
    )
    parser.add_argument("--source", metavar="SOURCE", help="Only claims of this study.")
    parser.add_argument("--verdict", choices=[outcome.value for outcome in ClaimOutcome], help="Only these.")
    parser.add_argument("--markdown", action="store_true", help="Print tables in Markdown.")
    parser.set_defaults(run=_claims)


def _claims(asked: argparse.Namespace) -> int:
    known = studies.studies()
    if asked.source and asked.source not in known:
        raise OptionError(unknown_name("study", asked.source, "dlbench claims: --source", known))
    # Late: NumPy and SciPy are slow to load, and only needed here.
    from pytest_dlbench.reporting.published import register, verdicts  # noqa: PLC0415
    from pytest_dlbench.reporting.published.observing import observe  # noqa: PLC0415

    paths: Sequence[Path] = asked.paths or ([JOURNALS] if JOURNALS.is_dir() else [])
    seen = observe(paths)
    claims = [claim for claim in register.register() if asked.source in (None, claim.source)]
    judged = register.verdicts(claims, (*seen.cases, *seen.sides))
    found = [one for one in judged if asked.verdict in (None, one.decision.outcome.value)]
    text = verdicts.markdown(found) if asked.markdown else verdicts.lines(found)
    answer(asked, [verdicts.as_json(one) for one in found], text)
    return complain(seen.damages)
