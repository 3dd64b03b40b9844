"""Downloads: from a real server, whole or not at all, going on where a cut connection stopped."""

import gzip
from dataclasses import replace

import pytest

from pytest_dlbench.data import SOURCES, File, Source
from pytest_dlbench.data.cache import folder_of, is_here
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


def test_what_is_fetched_is_what_is_served(source):
    fetch(source)
    assert content_of(source) == CONTENT


def test_before_it_is_fetched_it_is_missing_and_the_error_says_what_brings_it(source):
    with pytest.raises(DataMissingError) as caught:
        folder_of(source)
    assert str(caught.value) == (
        "the files of plain are not here\n  to get it: dlbench data fetch plain\n  or: dlbench data import plain PATH"
    )


def test_nothing_but_the_files_their_manifest_and_the_lock_stays(source, users_cache):
    fetch(source)
    assert sorted(path.name for path in (users_cache / "files").iterdir()) == ["plain", "plain.json", "plain.lock"]


def test_a_cut_connection_is_taken_up_where_it_ended(source, server):
    server.cuts = [HALF]
    fetch(source)
    assert content_of(source) == CONTENT
    assert len(server.asked) == 2
    assert 0 < int(server.asked[1].removeprefix("bytes=").rstrip("-")) <= HALF


def test_a_file_that_no_checksum_is_known_of_is_taken_up_too_where_the_server_vouches_for_it(unchecked, server):
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


def test_a_server_without_ranges_is_asked_for_all_of_it_again(source, server):
    server.cuts, server.has_ranges = [HALF], False
    fetch(source)
    assert content_of(source) == CONTENT


def test_a_server_that_sends_another_range_than_asked_for_is_not_believed(source, server):
    server.cuts, server.shift = [HALF], 7
    fetch(source)
    assert content_of(source) == CONTENT


def test_a_connection_that_brings_nothing_three_times_in_a_row_ends_with_what_to_do(source, server):
    server.cuts = [HALF, 0, 0, 0]
    with pytest.raises(DataError, match=r"bytes are here; the same command goes on from there"):
        fetch(source)
    assert not is_here(source)


def test_the_next_call_goes_on_from_there(source, server):
    server.cuts = [HALF, 0, 0, 0]
    with pytest.raises(DataError):
        fetch(source)
    fetch(source)
    assert content_of(source) == CONTENT
    assert server.asked[-1]


def test_a_whole_file_that_was_not_yet_put_in_its_place_is_not_fetched_again(source, server, users_cache):
    downloads = users_cache / "files" / "plain.downloads"
    official.write(downloads, {"data.bin.part": CONTENT})
    fetch(source)
    assert content_of(source) == CONTENT
    assert server.asked == ["bytes=300000-"]


def test_a_part_that_is_longer_than_the_file_is_thrown_away(source, users_cache):
    downloads = users_cache / "files" / "plain.downloads"
    official.write(downloads, {"data.bin.part": CONTENT + b"more"})
    fetch(source)
    assert content_of(source) == CONTENT


def test_a_file_of_another_checksum_is_refused_and_not_kept(source, server):
    server.files["data.bin"] = b"another"
    with pytest.raises(DataError, match=r"gave another file than the official data\.bin: its sha256 is not"):
        fetch(source)
    assert not is_here(source)


def test_a_refused_file_is_fetched_from_the_start_the_next_time(source, server):
    server.files["data.bin"] = b"another"
    with pytest.raises(DataError):
        fetch(source)
    server.files["data.bin"] = CONTENT
    fetch(source)
    assert content_of(source) == CONTENT


def test_a_file_that_the_host_no_longer_has_is_told_with_the_way_out(source, server):
    server.files.clear()
    with pytest.raises(DataError, match=r"404(.|\n)*dlbench data import"):
        fetch(source)


def test_a_host_that_does_not_answer_is_told_with_the_way_out(source):
    dead = replace(source, files=(replace(source.files[0], url="http://127.0.0.1:9/data.bin"),))
    with pytest.raises(DataError, match="dlbench data import"):
        fetch(dead)


def test_a_packed_file_stays_packed_where_the_server_calls_that_an_encoding(server):
    server.files["data.gz"], server.encoding = gzip.compress(CONTENT, mtime=0), "gzip"
    plain = Source(name="plain", about="", page="", contents=("data",))
    fetch(official.source_of(plain, server.files, server.url("")))
    assert (folder_of(plain) / "data").read_bytes() == CONTENT


def test_a_checksum_that_nobody_publishes_is_recorded_and_not_called_more(unchecked):
    (line,) = fetch(unchecked).known_by
    assert line.startswith("data.bin: nobody publishes a checksum; size and content hash recorded (sha256 ")


def test_a_published_checksum_is_told(source):
    (line,) = fetch(source).known_by
    assert line.endswith(", as published")


def test_what_came_must_be_the_whole_of_it(server):
    server.files["data.bin"] = CONTENT
    lacking = Source(name="plain", about="", page="", contents=("data.bin", "more.bin"))
    with pytest.raises(DataError, match=r"what came is not the whole of plain: there is no more\.bin"):
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


def test_every_official_address_is_one_of_a_file_of_its_name():
    files = [file for source in SOURCES.values() for file in source.files]
    assert all(isinstance(file, File) and file.url.endswith(f"/{file.name}") for file in files)
