"""Downloads: from a real server, complete or not at all, resumed after a broken connection."""

import gzip
from dataclasses import replace

import pytest

from pytest_dlbench.data import SOURCES, File, Source
from pytest_dlbench.data.cache import folder_of, is_available
from pytest_dlbench.data.fetching import fetch
from pytest_dlbench.data.keeping import verify
from pytest_dlbench.errors import DataError, DataMissingError
from tests.doubles import official_files as official

pytestmark = pytest.mark.usefixtures("users_cache")
CONTENT = official.pixels(300_000).tobytes()
HALF = 150_000


@pytest.fixture
def source(server):
    """One plain file of 300,000 bytes, with a checksum."""
    server.files["data.bin"] = CONTENT
    plain = Source(name="plain", about="", page="", contents=("data.bin",))
    return official.source_of(plain, server.files, server.url(""))


@pytest.fixture
def unchecked(source):
    return replace(source, files=(replace(source.files[0], checksum=""),))


def content_of(source):
    return (folder_of(source) / "data.bin").read_bytes()


def test_fetched_files_are_those_served(source):
    fetch(source)
    assert content_of(source) == CONTENT


def test_the_error_for_missing_files_says_how_to_get_them(source):
    with pytest.raises(DataMissingError) as caught:
        folder_of(source)
    assert str(caught.value) == (
        "the files of plain are not available\n  to get it: dlbench data fetch plain"
        "\n  or: dlbench data import plain PATH"
    )


def test_only_the_files_their_manifest_and_the_lock_remain(source, users_cache):
    fetch(source)
    assert sorted(path.name for path in (users_cache / "files").iterdir()) == ["plain", "plain.json", "plain.lock"]


def test_a_broken_download_is_resumed_where_it_ended(source, server):
    server.cuts = [HALF]
    fetch(source)
    assert content_of(source) == CONTENT
    assert len(server.asked) == 2
    assert 0 < int(server.asked[1].removeprefix("bytes=").rstrip("-")) <= HALF


def test_a_file_without_a_checksum_is_resumed_if_the_server_confirms_that_it_is_unchanged(unchecked, server):
    server.cuts = [HALF]
    fetch(unchecked)
    assert content_of(unchecked) == CONTENT
    assert server.asked[1]


def test_a_file_that_changed_in_between_is_fetched_from_the_start(unchecked, server):
    server.cuts = [HALF, 0, 0, 0]
    with pytest.raises(DataError):
        fetch(unchecked)
    server.files["data.bin"], server.etag = CONTENT[::-1], '"second"'
    fetch(unchecked)
    assert content_of(unchecked) == CONTENT[::-1]


def test_without_range_support_the_whole_file_is_requested_again(source, server):
    server.cuts, server.has_ranges = [HALF], False
    fetch(source)
    assert content_of(source) == CONTENT


def test_a_range_other_than_the_requested_one_is_rejected(source, server):
    server.cuts, server.shift = [HALF], 7
    fetch(source)
    assert content_of(source) == CONTENT


def test_three_attempts_without_progress_end_with_advice(source, server):
    server.cuts = [HALF, 0, 0, 0]
    with pytest.raises(DataError, match=r"bytes were received; the same command resumes from there"):
        fetch(source)
    assert not is_available(source)


def test_the_next_call_resumes_the_download(source, server):
    server.cuts = [HALF, 0, 0, 0]
    with pytest.raises(DataError):
        fetch(source)
    fetch(source)
    assert content_of(source) == CONTENT
    assert server.asked[-1]


def test_a_complete_partial_file_is_not_fetched_again(source, server, users_cache):
    downloads = users_cache / "files" / "plain.downloads"
    official.write(downloads, {"data.bin.part": CONTENT})
    fetch(source)
    assert content_of(source) == CONTENT
    assert server.asked == ["bytes=300000-"]


def test_a_partial_file_longer_than_the_file_is_deleted(source, users_cache):
    downloads = users_cache / "files" / "plain.downloads"
    official.write(downloads, {"data.bin.part": CONTENT + b"more"})
    fetch(source)
    assert content_of(source) == CONTENT


def test_a_file_with_a_wrong_checksum_is_refused_and_deleted(source, server):
    server.files["data.bin"] = b"another"
    with pytest.raises(DataError, match=r"returned a file other than the official data\.bin: its sha256 is not"):
        fetch(source)
    assert not is_available(source)


def test_a_refused_file_is_fetched_from_the_start_the_next_time(source, server):
    server.files["data.bin"] = b"another"
    with pytest.raises(DataError):
        fetch(source)
    server.files["data.bin"] = CONTENT
    fetch(source)
    assert content_of(source) == CONTENT


def test_the_error_for_a_file_gone_from_the_host_suggests_an_import(source, server):
    server.files.clear()
    with pytest.raises(DataError, match=r"404(.|\n)*dlbench data import"):
        fetch(source)


def test_the_error_for_a_silent_host_suggests_an_import(source):
    dead = replace(source, files=(replace(source.files[0], url="http://127.0.0.1:9/data.bin"),))
    with pytest.raises(DataError, match="dlbench data import"):
        fetch(dead)


def test_a_compressed_file_stays_compressed_if_the_server_declares_an_encoding(server):
    server.files["data.gz"], server.encoding = gzip.compress(CONTENT, mtime=0), "gzip"
    plain = Source(name="plain", about="", page="", contents=("data",))
    fetch(official.source_of(plain, server.files, server.url("")))
    assert (folder_of(plain) / "data").read_bytes() == CONTENT


def test_an_unpublished_checksum_is_recorded_as_such(unchecked):
    (line,) = fetch(unchecked).known_by
    assert line.startswith("data.bin: no published checksum; size and content hash recorded (sha256 ")


def test_a_published_checksum_is_reported(source):
    (line,) = fetch(source).known_by
    assert line.endswith(", as published")


def test_an_incomplete_source_is_refused(server):
    server.files["data.bin"] = CONTENT
    lacking = Source(name="plain", about="", page="", contents=("data.bin", "more.bin"))
    with pytest.raises(DataError, match=r"plain is incomplete: there is no more\.bin"):
        fetch(official.source_of(lacking, server.files, server.url("")))


def test_files_that_need_a_login_cannot_be_fetched():
    with pytest.raises(DataError, match=r"cannot be fetched, only imported(.|\n)*dlbench data import imagenet PATH"):
        fetch(SOURCES["imagenet"])


@pytest.mark.parametrize("name", ["mnist", "cifar10", "cifar100", "imdb", "ptb", "manythings"])
def test_official_archives_are_fetched_unpacked_and_verified(server, name):
    contents = {path.replace("*", "1"): f"content of {path}".encode() for path in SOURCES[name].contents}
    server.files |= archives_of(name, contents)
    source = official.source_of(SOURCES[name], server.files, server.url(""))
    fetch(source)
    assert {path: (folder_of(source) / path).read_bytes() for path in contents} == contents
    assert verify(source)[1] == []


def archives_of(name, contents):
    if name == "mnist":
        return official.packed(contents)
    (file, *others) = SOURCES[name].files
    if others:
        return contents
    return {file.name: official.zipped(contents) if file.name.endswith(".zip") else official.tar(contents)}


def test_every_official_address_ends_in_the_name_of_its_file():
    files = [file for source in SOURCES.values() for file in source.files]
    assert all(isinstance(file, File) and file.url.endswith(f"/{file.name}") for file in files)
