from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.facade_worker import RELAXED
from tests.support.opened import refused

BEFORE = {"a.txt": b"one\r\ntwo\r\n"}
SETTINGS = {**RELAXED, "max_write_bytes": 3_000_000}


def version_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


async def chunks_of(
    files: FileToolsFacade, way: str, path: str, offset: int = 0, count: int | None = None
) -> AsyncIterator[bytes]:
    if way == "stream":
        async for chunk in files.stream_file(path, offset=offset, count=count):
            yield chunk
    else:
        async with files.open_file(path) as file:
            async for chunk in file.chunks(offset, count):
                yield chunk


both_ways = pytest.mark.parametrize("way", ["stream", "open file"])


@both_ways
async def test_what_cannot_be_streamed_is_refused_before_the_first_chunk(
    files: FileToolsFacade, tmp_path: Path, way: str
) -> None:
    (tmp_path / "folder").mkdir()
    await refused("FILE_NOT_FOUND", anext(chunks_of(files, way, "missing")))
    await refused("IS_A_DIRECTORY", anext(chunks_of(files, way, "folder")))
    await refused("INVALID_ARGUMENT", anext(chunks_of(files, way, "a.txt", -1)))


@both_ways
async def test_a_range_is_streamed_in_chunks_byte_for_byte(files: FileToolsFacade, tmp_path: Path, way: str) -> None:
    content = bytes(range(256)) * 5000
    (tmp_path / "b").write_bytes(content)
    chunks = [chunk async for chunk in chunks_of(files, way, "b", 3, 1_000_000)]
    assert b"".join(chunks) == content[3:1_000_003]
    assert max(map(len, chunks)) <= 256 * 1024
    assert [chunk async for chunk in chunks_of(files, way, "b", len(content))] == []


@both_ways
async def test_a_replacement_meanwhile_does_not_affect_a_stream(files: FileToolsFacade, way: str) -> None:
    await files.replace_file("b", b"1" * 1_000_000)
    stream = chunks_of(files, way, "b")
    first = await anext(stream)
    await files.replace_file("b", b"2" * 1_000_000)
    assert first + b"".join([chunk async for chunk in stream]) == b"1" * 1_000_000


@both_ways
async def test_a_write_into_the_file_in_place_is_reported(files: FileToolsFacade, tmp_path: Path, way: str) -> None:
    (tmp_path / "b").write_bytes(b"1" * 1_000_000)
    stream = chunks_of(files, way, "b")
    await anext(stream)
    with (tmp_path / "b").open("r+b") as strange:
        strange.write(b"2")
    with pytest.raises(filetools.FileToolsError) as caught:
        [chunk async for chunk in stream]
    assert caught.value.code == "CHANGED_MEANWHILE"


async def test_an_open_file_has_the_size_and_version_of_one_moment(files: FileToolsFacade) -> None:
    await files.replace_file("b", b"content")
    async with files.open_file("b") as file:
        await files.replace_file("b", b"other")
        assert (file.size, file.version) == (7, version_of(b"content"))


async def test_a_body_over_the_limit_is_refused_while_it_comes(files: FileToolsFacade) -> None:
    async with files.upload() as upload:
        await upload.write(b"1" * 2_000_000)
        await refused("FILE_TOO_LARGE", upload.write(b"1" * 1_000_001))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # its file is closed as garbage
async def test_a_body_that_outlives_its_workspace_says_so(tmp_path: Path) -> None:
    async with filetools.open(tmp_path) as files:
        upload = await files.upload().__aenter__()
        await upload.write(bytes(2_000_000))
    await refused("WORKSPACE_GONE", upload.content())
    del upload
    gc.collect()


@pytest.mark.parametrize("size", [0, 10, 2_500_000])
async def test_a_body_is_returned_unchanged(files: FileToolsFacade, size: int) -> None:
    content = os.urandom(size)
    async with files.upload() as upload:
        for start in range(0, size, 70_000):
            await upload.write(content[start : start + 70_000])
        assert upload.size == size
        assert await upload.content() == content


async def test_a_body_at_another_version_is_refused(files: FileToolsFacade) -> None:
    other = version_of(b"other")
    for content in (b"one\r\ntwo\r\n", b"new"):
        error = await refused("VERSION_MISMATCH", files.replace_file("a.txt", content, expected_version=other))
    assert (await files.replace_file("a.txt", b"one\r\ntwo\r\n")).unchanged
    assert error.details["current_version"] == version_of(b"one\r\ntwo\r\n")


async def test_bytes_replace_what_others_wrote_and_name_the_replaced_version(files: FileToolsFacade) -> None:
    await files.read_file("a.txt")
    other = files.for_actor(filetools.Actor(kind="agent", id="other"))
    theirs = await other.write_file("a.txt", "theirs\n")
    result = await files.replace_file("a.txt", b"\xff\x00 mine")
    assert (result.version, result.replaced_version, result.merged, result.created) == (
        version_of(b"\xff\x00 mine"),
        theirs.version,
        False,
        False,
    )
    assert (await files.read_file("a.txt", version=theirs.version)).content == "theirs\r\n"


async def test_bytes_are_merged_with_unsaved_text(files: FileToolsFacade, tmp_path: Path) -> None:
    editor = files.for_actor(filetools.Actor(kind="editor", id="person"))
    document = await editor.buffers.open("a.txt")
    edits = [filetools.TextEdit(0, 0, "typed\n")]
    await editor.buffers.change(document.handle, buffer_version=document.buffer_version, edits=edits)
    result = await files.replace_file("a.txt", b"one\r\ntwo\r\nthree\r\n")
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    assert (await editor.buffers.read(document.handle)).text == "typed\none\ntwo\nthree\n"
    assert result.disk_version == version_of(b"one\r\ntwo\r\nthree\r\n")
    await refused("EDIT_CONFLICT", files.replace_file("a.txt", b"\x00\x01\xff"))


@pytest.mark.parametrize(
    "diff",
    [
        "no diff",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-one\n+1\n",
        "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n",
        "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n",
        "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n",
    ],
)
async def test_a_diff_that_is_not_of_one_text_is_refused(files: FileToolsFacade, diff: str) -> None:
    await refused("INVALID_ARGUMENT", files.patch_file("a.txt", diff))


async def test_a_diff_at_another_version_is_refused(files: FileToolsFacade) -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
    await refused("VERSION_MISMATCH", files.patch_file("a.txt", diff, expected_version=version_of(b"other")))
    await refused("EDIT_NOT_FOUND", files.patch_file("a.txt", diff.replace("one", "three")))


async def test_a_diff_changes_its_lines_alone(files: FileToolsFacade, tmp_path: Path) -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
    dry = await files.patch_file("a.txt", diff, dry_run=True)
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    result = await files.patch_file("a.txt", diff, expected_version=version_of(b"one\r\ntwo\r\n"))
    assert (tmp_path / "a.txt").read_bytes() == b"1\r\ntwo\r\n"
    assert dry.version == result.version == version_of(b"1\r\ntwo\r\n")
