"""``dlbench data``: list, fetch, find, verify and import the files of data sets."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from pytest_dlbench.cli.output import Commands, answer, command, complain
from pytest_dlbench.data import DATASETS, SOURCES, Source
from pytest_dlbench.data.cache import folder_of, is_available, is_prepared
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.reporting import listings

if TYPE_CHECKING:
    from pytest_dlbench.data.keeping import Manifest

MORE = """
examples:
  {example}

exit status: 0 done, {failed}2 usage error, no such data set, or files that are not the official ones
"""


def declare(commands: Commands) -> None:
    """Add ``data`` and its actions."""
    text = "List, fetch, find, verify and import the files of data sets."
    parser = commands.add_parser("data", help=text, description=text)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for name, run, help_text, example in (
        ("list", _list, "List all data sets, and whether their files are available.", "dlbench data list"),
        ("fetch", _fetch, "Download, check and unpack the files of a data set.", "dlbench data fetch mnist"),
        ("path", _path, "Print the folder with the files of a data set.", "dlbench data path mnist"),
        (
            "verify",
            _verify,
            "Hash the files of a data set and compare them with the recorded hashes.",
            "dlbench data verify mnist",
        ),
        (
            "import",
            _import,
            "Import local files: official archives, or their unpacked content.",
            "dlbench data import mnist ~/mnist",
        ),
    ):
        failed = "1 a file differs from its record (named), " if name == "verify" else ""
        action = command(actions, name, help_text=help_text, more=MORE.format(example=example, failed=failed))
        action.set_defaults(run=run)
        if name != "list":
            action.add_argument("name", metavar="NAME", help="A data set, or the source that data sets are made from.")
        if name == "fetch":
            action.add_argument("--again", action="store_true", help="Download even if the files are already there.")
        if name == "import":
            action.add_argument("path", metavar="PATH", type=Path)
            action.add_argument("--link", action="store_true", help="Leave unpacked files where they are.")
            action.add_argument("--unofficial", action="store_true", help="Accept files with another checksum.")


def _list(asked: argparse.Namespace) -> int:
    rows = [(dataset, _state(dataset.source, is_prepared(dataset))) for dataset in DATASETS.values()]
    listed = [
        {
            "name": dataset.name,
            "state": state,
            "task": dataset.task,
            "shape": list(dataset.shape),
            "classes": dataset.classes,
            "vocabulary": dataset.vocabulary,
            "train_examples": dataset.train_examples,
            "test_examples": dataset.test_examples,
        }
        for dataset, state in rows
    ]
    answer(asked, {"datasets": listed}, listings.datasets(rows))
    return 0


def _state(source: Source | None, is_prepared: bool) -> str:
    if source is None:
        return "needs no files"
    shown = ["available"] if is_available(source) else []
    shown += ["prepared"] if is_prepared else []
    return ", ".join(shown) or source.get_command


def _named(name: str, action: str) -> Source:
    if name in SOURCES:
        return SOURCES[name]
    if name not in DATASETS:
        raise OptionError(unknown_name("data set", name, f"dlbench data {action}", {*SOURCES, *DATASETS}))
    source = DATASETS[name].source
    if source is None:
        raise OptionError(f"dlbench data {action}: {name!r} needs no files; it can be trained on as it is")
    # By its name in SOURCES, as for all other sources.
    return SOURCES[source.name]


def _fetch(asked: argparse.Namespace) -> int:
    # Late: pooch and requests are slow to load, and needed for this alone.
    from pytest_dlbench.data.fetching import fetch  # noqa: PLC0415

    source = _named(asked.name, "fetch")
    if is_available(source) and not asked.again:
        line = (
            f"{source.name} is already there; dlbench data verify {source.name} checks it, --again downloads it again"
        )
        answer(asked, {"name": source.name, "folder": str(folder_of(source)), "fetched": False}, [line])
        return 0
    with _bars() as bars:
        manifest = fetch(source, bars)
    _answer_taken(asked, source, manifest, {"fetched": True})
    return 0


def _answer_taken(asked: argparse.Namespace, source: Source, manifest: "Manifest", more: dict[str, Any]) -> None:
    folder, count = str(folder_of(source)), len(manifest.contents)
    taken = {"name": source.name, "folder": folder, "files": count, "known_by": list(manifest.known_by), **more}
    answer(asked, taken, [*manifest.known_by, f"{source.name}: {count} files in {folder}"])


def _path(asked: argparse.Namespace) -> int:
    folder = str(folder_of(_named(asked.name, "path")))
    answer(asked, {"folder": folder}, [folder])
    return 0


def _verify(asked: argparse.Namespace) -> int:
    """0 if all files match their records, else 1."""
    from pytest_dlbench.data.keeping import verify  # noqa: PLC0415 - hashes nothing until it is asked to

    source = _named(asked.name, "verify")
    with _bars() as bars:
        manifest, problems = verify(source, bars)
    sound = [*manifest.known_by, f"{source.name}: {len(manifest.contents)} files are unchanged"]
    answer(asked, {"name": source.name, "problems": list(problems)}, [] if problems else sound)
    return complain([*problems, f"to get the files again: {source.replace_command}"] if problems else [])


def _import(asked: argparse.Namespace) -> int:
    from pytest_dlbench.data.importing import take  # noqa: PLC0415 - as above

    source = _named(asked.name, "import")
    with _bars() as bars:
        manifest = take(source, asked.path, link=asked.link, unofficial=asked.unofficial, watcher=bars)
    _answer_taken(asked, source, manifest, {})
    return 0


class _Bars:
    """A progress bar for each task; on a terminal only, because it would fill logs."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def begin(self, doing: str, total_bytes: int | None = None) -> None:
        """Replace the current bar with a new one."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(doing, total=total_bytes)

    def advance(self, done_bytes: int) -> None:
        """Advance the bar."""
        if self._task is not None:
            self._progress.advance(self._task, done_bytes)


@contextmanager
def _bars() -> Iterator[_Bars]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield _Bars(progress)
