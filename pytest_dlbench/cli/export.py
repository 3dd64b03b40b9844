"""``dlbench export``: write recorded sessions in the formats of other programs."""

import argparse
import sys
from pathlib import Path

from pytest_dlbench.cli.output import Commands, complain, plain_command
from pytest_dlbench.errors import OptionError
from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.exports import FORMATS, Format
from pytest_dlbench.reporting.exports.document import published_schema
from pytest_dlbench.storing.files import write_whole
from pytest_dlbench.storing.recorded import read

EPILOG = """
formats:
{formats}

examples:
  dlbench export csv .dlbench -o runs.csv
  dlbench export bencher .dlbench/20261121T*.jsonl | bencher run --adapter json
  dlbench export pytest-benchmark nightly.json -o .benchmarks/0001_nightly.json

exit status: 0 all exported, 1 a file is damaged (the rest is exported), 2 usage error
"""


def declare(commands: Commands) -> None:
    """Add ``export``."""
    listed = "\n".join(f"  {row.name:<24} {row.help}" for row in FORMATS.values())
    listed += f"\n  {'schema':<24} The JSON schema of --dlbench-json; takes no records."
    text = "Write recorded sessions in the format of another program."
    parser = plain_command(commands, "export", help_text=text, more=EPILOG.format(formats=listed))
    parser.add_argument("format", metavar="FORMAT", choices=[*FORMATS, "schema"], help="A format from the list below.")
    parser.add_argument(
        "paths", metavar="RECORDS", nargs="*", type=Path, help="Journals, files of --dlbench-json, or folders of them."
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="The file to write [standard output].")
    parser.set_defaults(run=_export)


def _export(asked: argparse.Namespace) -> int:
    if asked.format == "schema":
        _write(published_schema(), asked.output)
        return 0
    if not asked.paths:
        raise OptionError("dlbench export: name journals, files of --dlbench-json, or a folder such as .dlbench")
    chosen: Format = FORMATS[asked.format]
    if not chosen.is_text and asked.output is None and sys.stdout.isatty():
        raise OptionError(f"dlbench export: {chosen.name} is binary: use -o FILE or a pipe")
    found = read(asked.paths)
    _write(chosen.write(found.cases), asked.output)
    return complain(found.damages)


def _write(content: bytes, path: Path | None) -> None:
    if path is None:
        # Binary content goes only to files and pipes; what is piped stays as it is, for checksums.
        shown = foreign.in_json(content.decode()).encode() if sys.stdout.isatty() else content
        sys.stdout.buffer.write(shown)
        sys.stdout.flush()
    else:
        write_whole(path, content)
        print(path)
