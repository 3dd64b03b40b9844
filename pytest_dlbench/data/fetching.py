"""Getting official files, checked by checksum: from a package of the system, or downloaded.

A download is resumed after a broken connection.
"""

import logging
import re
import shutil
from pathlib import Path
from typing import IO, Any

import pooch
import requests
import urllib3

from pytest_dlbench.data import extracting, importing, keeping
from pytest_dlbench.data.cache import files_root
from pytest_dlbench.data.source import File, Source
from pytest_dlbench.data.watching import UNWATCHED, Watcher
from pytest_dlbench.errors import DataError

# Consecutive attempts without a byte received.
MOST_FAILURES = 3
MOST_ATTEMPTS = 100
PIECE_BYTES = 2**16
TIMEOUT_SECONDS = 60


def fetch(source: Source, watcher: Watcher = UNWATCHED) -> keeping.Manifest:
    """Download the files of a source, check them, unpack them into the cache, and return their manifest.

    Where the source's package is installed, its files are taken instead.

    If the connection breaks, what was received is kept and the next call resumes. Raises DataError for a source that
    needs a login, a server that does not answer, and a file with the wrong checksum.
    """
    if not source.files:
        raise DataError(f"{source.name} cannot be fetched, only imported\n{source.advice}")
    if source.package and source.package.is_installed:
        return importing.take(source, Path(source.package.folder), watcher=watcher)
    downloads = files_root() / f"{source.name}.downloads"
    with keeping.locked(source):
        downloads.mkdir(exist_ok=True)
        archives = {file: _download(file, downloads, watcher) for file in source.files}
        known_by = tuple(keeping.check(file, path) for file, path in archives.items())

        def fill(folder: Path) -> None:
            for path in archives.values():
                extracting.unpack(path, folder, source, watcher)

        manifest = keeping.keep(source, fill, known_by, watcher)
        shutil.rmtree(downloads)
    return manifest


def _download(file: File, folder: Path, watcher: Watcher) -> Path:
    # Pooch logs each download, and the hashes of files without a published one.
    pooch.get_logger().setLevel(logging.ERROR)
    downloader = _Resuming(folder / f"{file.name}.part", is_checked=bool(file.checksum), watcher=watcher)
    try:
        return Path(
            pooch.retrieve(
                file.url, known_hash=file.checksum or None, fname=file.name, path=folder, downloader=downloader
            )
        )
    except ValueError as error:
        # Pooch has already deleted it.
        raise DataError(
            f"{file.url} returned a file other than the official {file.name}: its {file.checksum.partition(':')[0]}"
            f" is not {file.checksum.partition(':')[2]}\n  try again; if this persists, the host has other data now"
        ) from error


class _CutError(Exception):
    """The connection ended before the file was complete."""


class _Resuming:
    """Pooch's downloader for one file, which requests only what the ``partial`` file of an earlier attempt lacks.

    A partial file is resumed only if the server can confirm that its file is the same (``If-Range``), or if a checksum
    will detect a different one (``is_checked``).
    """

    def __init__(self, partial: Path, *, is_checked: bool, watcher: Watcher) -> None:
        self._partial, self._is_checked, self._watcher = partial, is_checked, watcher
        self._validator = partial.with_name(f"{partial.name}.validator")

    def __call__(self, url: str, output_file: str | IO[bytes], _pooch: Any) -> None:
        """Receive the whole file, retrying as long as attempts make progress; raises DataError."""
        failures = 0
        for _ in range(MOST_ATTEMPTS):
            before = self._received()
            try:
                self._attempt(url)
            except _CutError as error:
                failures = 0 if self._received() > before else failures + 1
                if failures == MOST_FAILURES:
                    raise DataError(self._gave_up(url, error)) from error
            else:
                self._partial.replace(str(output_file))
                self._validator.unlink(missing_ok=True)
                return
        raise DataError(self._gave_up(url, f"{MOST_ATTEMPTS} attempts"))

    def _gave_up(self, url: str, reason: object) -> str:
        return (
            f"{url}: {reason}\n  {self._received():,} bytes were received; the same command resumes from there"
            "\n  or import your own copy: dlbench data import NAME PATH"
        )

    def _received(self) -> int:
        return self._partial.stat().st_size if self._partial.exists() else 0

    def _attempt(self, url: str) -> None:
        """Append the missing bytes to the partial file; raises _CutError if some are still missing."""
        have = self._received()
        try:
            with requests.get(url, headers=self._headers(have), stream=True, timeout=TIMEOUT_SECONDS) as answer:
                if answer.status_code == requests.codes.requested_range_not_satisfiable:
                    self._settle_whole(answer, have)
                else:
                    answer.raise_for_status()
                    self._receive(answer, have)
        except requests.HTTPError as error:
            raise DataError(f"{error}\n  or import your own copy: dlbench data import NAME PATH") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise _CutError(str(error)) from error

    def _headers(self, have: int) -> dict[str, str]:
        # If the server compressed the response, ranges would refer to compressed bytes.
        headers = {"Accept-Encoding": "identity"}
        validator = self._validator.read_text("utf-8") if self._validator.exists() else ""
        if have and validator:
            headers |= {"Range": f"bytes={have}-", "If-Range": validator}
        elif have and self._is_checked:
            headers |= {"Range": f"bytes={have}-"}
        return headers

    def _settle_whole(self, answer: requests.Response, have: int) -> None:
        """The server has nothing more to send: the partial file is complete, or belongs to a different file."""
        if answer.headers.get("Content-Range") != f"bytes */{have}":
            self._partial.unlink()
            raise _CutError("the partial file was longer than the file; it was deleted")

    def _receive(self, answer: requests.Response, have: int) -> None:
        have, total = self._agreed(answer, have)
        self._remember(answer)
        self._watcher.begin(f"fetching {self._partial.name.removesuffix('.part')}", total)
        self._watcher.advance(have)
        with self._partial.open("ab" if have else "wb") as file:
            # Undecoded: the official file may itself be compressed, which some servers declare as an encoding.
            for piece in answer.raw.stream(PIECE_BYTES, decode_content=False):
                file.write(piece)
                self._watcher.advance(len(piece))
        if total is not None and self._received() != total:
            raise _CutError(f"{self._received():,} of {total:,} bytes received")

    def _agreed(self, answer: requests.Response, have: int) -> tuple[int, int | None]:
        """The first byte of the response's range, and the size of the whole file."""
        if answer.status_code != requests.codes.partial_content:
            length = answer.headers.get("Content-Length", "")
            return 0, int(length) if length.isdigit() else None
        range_sent = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", answer.headers.get("Content-Range", ""))
        if not range_sent or int(range_sent[1]) != have:
            self._partial.unlink(missing_ok=True)
            raise _CutError(f"asked for bytes from {have}, got {answer.headers.get('Content-Range')!r}")
        return have, int(range_sent[2])

    def _remember(self, answer: requests.Response) -> None:
        etag = answer.headers.get("ETag", "")
        # A weak tag does not guarantee identical bytes.
        validator = answer.headers.get("Last-Modified", "") if etag.startswith("W/") or not etag else etag
        self._validator.write_text(validator, "utf-8")
