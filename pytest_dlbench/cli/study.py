"""``dlbench study``: pages and pictures about committed journals."""

import argparse
from pathlib import Path

from pytest_dlbench.cli.output import Commands, answer, command, complain
from pytest_dlbench.reporting.extras import require_report
from pytest_dlbench.storing.packing import pack

FOLDER = Path("docs/study")
MORE = """
From the journals in FOLDER/journals (.jsonl, or compressed: .jsonl.gz, .jsonl.xz) it makes FOLDER/index.md,
FOLDER/study.html and FOLDER/pictures: what was run, ranks, tables, curves, costs, claims with their verdicts, and
threats to validity. All figures and sentences come from the journals, so that the same journals give the same bytes. A
section without data is not written, and the page says which command would record it.

Journals that are added are compressed with xz. Step times of earlier versions are rounded to the nanosecond that their
clock has, and losses of float32 are written as the shortest decimal that is the same number: as this version records
them, in about half the bytes. A journal that the study has already is replaced.

examples:
  dlbench study
  dlbench study --check              in CI: fails if page and journals disagree
  dlbench study results/2026
  dlbench study --add .dlbench/*.jsonl

exit status: 0 written, or nothing differs; 1 a file differs (named), or a journal is damaged; 2 usage error
"""


def declare(commands: Commands) -> None:
    """Add ``study``."""
    text = "Make the pages of a study from its journals, or check them."
    parser = command(commands, "study", help_text=text, more=MORE)
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", type=Path, default=FOLDER, help=f"Where the study is [{FOLDER}]."
    )
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--check", action="store_true", help="Write nothing; fail if a file is not the same byte for byte."
    )
    either.add_argument(
        "--add", metavar="JOURNAL", nargs="+", type=Path, default=[], help="First compress these into FOLDER/journals."
    )
    parser.set_defaults(run=_study)


def _study(asked: argparse.Namespace) -> int:
    require_report("dlbench study")
    # Late: Altair and SciPy are slow to load, and only needed here.
    from pytest_dlbench.reporting.study import study  # noqa: PLC0415

    for path in asked.add:
        pack(path, asked.folder / study.JOURNALS)
    made = study.make(asked.folder)
    differing = study.differing(asked.folder, made)
    if not asked.check:
        study.write(asked.folder, made)
    found = {"files": sorted(made.files), "differing": list(differing), "lacking": [one.title for one in made.lacking]}
    answer(asked, found, _lines(asked, made.cases, len(made.files), differing))
    damaged = complain(made.damages)
    return 1 if damaged or (asked.check and differing) else 0


def _lines(asked: argparse.Namespace, cases: int, files: int, differing: tuple[str, ...]) -> list[str]:
    if not asked.check:
        return [f"{asked.folder / 'index.md'}: {cases} cases, {files} files, {len(differing)} of them changed"]
    if not differing:
        return [f"{asked.folder}: {files} files are as the journals give them"]
    return [
        *(f"{asked.folder / name}: differs from what the journals give" for name in differing),
        f"dlbench study {asked.folder} writes them again",
    ]
