"""Reading: refusals, then whole files, parts, kept versions, and files being written."""

from __future__ import annotations

import asyncio
import base64
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import ReadBatchResult, ReadItem, ReadResult
from tests.support.crashing import QUIET, grow
from tests.support.opened import ScriptedOpening, refused, steps_until, told, version
from tests.support.unprivileged import as_nobody

LINES = "one\ntwo\nthree\n"
SECONDS = 1_700_000_000
MODIFIED = datetime.fromtimestamp(SECONDS, UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    grow(tmp_path, {"a.txt": LINES.encode(), "b.bin": b"\x00\x01\x02", "d": None, "empty.txt": b""})
    for place in (tmp_path / "a.txt", tmp_path / "b.bin", tmp_path / "empty.txt"):
        os.utime(place, (SECONDS, SECONDS))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "away").symlink_to("/etc/passwd")
    return tmp_path


REFUSED: dict[str, list[Any]] = {
    "FILE_NOT_FOUND": ["missing.txt", "d/missing.txt"], "NOT_A_DIRECTORY": ["a.txt/below"], "IS_A_DIRECTORY": ["d"],
    "NOT_A_REGULAR_FILE": ["pipe"], "SYMLINK_NOT_ALLOWED": ["link", "away", "link/below"],
    "INVALID_PATH": ["", ".", "  ", "a\0b", "\ud800"], "PATH_TRAVERSAL": ["..", "d/../a.txt", "d\\..\\a.txt"],
    "ABSOLUTE_PATH": ["C:\\a.txt", "\\\\server\\a.txt"], "PATH_TOO_LONG": ["x" * 256, "x/" * 2500],
    "PERMISSION_DENIED": [".filetools/state/journal.db", "sub/.FileTools/x"], "INVALID_ARGUMENT": [5, None, b"a.txt"],
}  # fmt: skip


@pytest.mark.parametrize("code", REFUSED)
async def test_an_unreadable_path_is_refused(files: FileToolsFacade, root: Path, code: str) -> None:
    for path in REFUSED[code]:
        error = await refused(code, files.read_file(path))
        assert str(root) not in str(error.message)
        assert "/etc" not in error.message + str(error.details)


def test_what_may_not_be_read_asks_for_no_right_to_write(tmp_path: Path) -> None:
    async def act() -> None:
        root = tmp_path / "own"
        grow(root, {"a.txt": b"a", "d/b.txt": b"b"})
        (root / "a.txt").chmod(0)
        (root / "d").chmod(0)
        async with filetools.open(root, settings=QUIET) as files:
            for call in (files.read_file("a.txt"), files.read_file("d/b.txt"), files.list_files("d")):
                error = await refused("PERMISSION_DENIED", call)
                assert "write" not in f"{error.message} {error.suggested_action}"
                assert error.message.count("ermission denied") == 1

    as_nobody(tmp_path, lambda: asyncio.run(act()))


async def test_a_missing_file_is_named(files: FileToolsFacade) -> None:
    error = await refused("FILE_NOT_FOUND", files.read_file("missing.txt"))
    assert (error.message, error.path, error.retryable) == ("File not found: missing.txt", "missing.txt", False)
    assert isinstance(error, FileNotFoundError)


SENSELESS: list[dict[str, Any]] = [
    *({name: value} for name in ("limit", "byte_count") for value in (0, -1)),
    {"offset": 0}, {"byte_offset": -1}, {"offset": 1, "byte_offset": 0}, {"limit": 1, "byte_count": 1},
    {"on_locked": "perhaps"}, *({"encoding": name} for name in ("no-such-codec", "base64", "rot13")),
    *({"version": name} for name in ("newest", "", "sha256:abc", "stat:1-2-3-4-5", "a" * 3)),
]  # fmt: skip


async def test_options_that_make_no_sense_are_refused(files: FileToolsFacade) -> None:
    for options in SENSELESS:
        await refused("INVALID_ARGUMENT", files.read_file("a.txt", **options))


async def test_lines_of_a_binary_file_are_refused(files: FileToolsFacade) -> None:
    await refused("INVALID_ARGUMENT", files.read_file("b.bin", offset=1))


async def test_text_that_the_encoding_cannot_be_is_refused(files: FileToolsFacade, root: Path) -> None:
    (root / "latin.txt").write_bytes(b"caf\xe9\n")
    error = await refused("ENCODING_ERROR", files.read_file("latin.txt", encoding="utf-8"))
    assert error.details["encoding"] == "utf-8"
    assert (await files.read_file("latin.txt")).content == "café\n"


@pytest.mark.parametrize("limit", [10, 200_000])
async def test_a_file_over_the_limit_is_refused_and_its_parts_are_not(root: Path, limit: int) -> None:
    (root / "big.txt").write_bytes(b"0123456\n" * (limit // 8 + 1))
    size = (limit // 8 + 1) * 8
    async with filetools.open(root, settings={**QUIET, "max_read_bytes": limit}) as files:
        error = await refused("FILE_TOO_LARGE", files.read_file("big.txt"))
        assert error.details == {"size": size, "limit": limit}
        assert error.suggested_action is not None
        part = await files.read_file("big.txt", offset=2, limit=1)
        assert (part.content, part.truncated, part.next_offset) == ("0123456\n", size > 16, 3 if size > 16 else None)
        assert part.version.startswith("stat:")
        assert (await files.read_file("big.txt", byte_offset=size - 3, byte_count=9)).content == "56\n"
        await refused("FILE_TOO_LARGE", files.read_file("big.txt", byte_count=11 * 1024 * 1024))
        # The version of a part is accepted if nothing has changed since, and refused otherwise.
        await files.append_file("big.txt", "end", expected_version=part.version)
        await refused("VERSION_MISMATCH", files.append_file("big.txt", "end", expected_version=part.version))


async def test_a_text_is_returned_with_all_that_is_known_of_it(files: FileToolsFacade) -> None:
    assert await files.read_file("./a.txt") == ReadResult(
        path="a.txt", content=LINES, encoding="utf-8", size=14, version=version(LINES), modified=MODIFIED, total_lines=3,
        newline="lf", bom=False,
    )  # fmt: skip


async def test_a_binary_file_over_the_limit_does_not_suggest_reading_it_as_a_whole(root: Path) -> None:
    (root / "large.bin").write_bytes(bytes(range(256)))
    async with filetools.open(root, settings={"max_read_bytes": 100}) as files:
        error = await refused("INVALID_ARGUMENT", files.read_file("large.bin", offset=1))
    assert error.suggested_action == "Continue without it: as a whole it is too large."


async def test_so_many_characters_are_read_by_whole_lines_and_count_as_a_part(files: FileToolsFacade) -> None:
    part = await files.read_file("a.txt", max_characters=9)
    assert (part.content, part.next_offset, part.next_column) == ("one\ntwo\n", 3, None)
    await refused("VERSION_MISMATCH", files.write_file("a.txt", "x\n", require_read=True))
    cut = await files.read_file("a.txt", offset=3, max_characters=2)
    assert (cut.content, cut.next_offset, cut.next_column) == ("th", 3, 3)
    await refused("INVALID_ARGUMENT", files.read_file("a.txt", max_characters=0))
    assert (await files.read_file("a.txt", max_characters=14)).content == LINES
    await files.write_file("a.txt", "x\n", require_read=True)


async def test_an_empty_file_is_text(files: FileToolsFacade) -> None:
    assert await files.read_file("empty.txt") == ReadResult(
        path="empty.txt", content="", encoding="utf-8", size=0, version=version(""), modified=MODIFIED, total_lines=0,
        newline="none", bom=False,
    )  # fmt: skip


async def test_binary_bytes_come_as_base64(files: FileToolsFacade) -> None:
    assert await files.read_file("b.bin") == ReadResult(
        path="b.bin", content=base64.b64encode(b"\x00\x01\x02").decode(), encoding="base64", size=3,
        version=version(b"\x00\x01\x02"), modified=MODIFIED, is_binary=True, mime_type="application/octet-stream",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "content", "truncated", "next_offset"),
    [
        ({"offset": 2}, "two\nthree\n", False, None),
        ({"limit": 1}, "one\n", True, 2),
        ({"offset": 2, "limit": 1}, "two\n", True, 3),
        ({"offset": -1}, "three\n", False, None),
        ({"offset": -9}, LINES, False, None),
        ({"offset": 4}, "", False, None),
        ({"byte_offset": 4}, "two\nthree\n", False, None),
        ({"byte_count": 5}, "one\nt", True, 5),
        ({"byte_offset": 99}, "", False, None),
    ],
)
async def test_a_part_has_the_offset_of_the_next_one(
    files: FileToolsFacade, options: dict[str, int], content: str, truncated: bool, next_offset: int | None
) -> None:
    assert await files.read_file("a.txt", **options) == ReadResult(  # type: ignore[arg-type]
        path="a.txt", content=content, encoding="utf-8", size=14, version=version(LINES), modified=MODIFIED,
        total_lines=3, newline="lf", bom=False, truncated=truncated, next_offset=next_offset,
    )  # fmt: skip


async def test_a_version_that_is_not_kept_is_gone(files: FileToolsFacade) -> None:
    error = await refused("VERSION_GONE", files.read_file("a.txt", version="sha256:" + "0" * 64))
    assert error.details["version"] == "sha256:" + "0" * 64


async def test_the_current_version_can_be_read_without_a_record(files: FileToolsFacade) -> None:
    known = await files.read_file("a.txt")
    assert (await files.read_file("a.txt", version=known.version)).content == LINES
    assert (await files.read_file("a.txt", version=known.version.removeprefix("sha256:").upper())).content == LINES


async def test_a_replaced_version_is_given_back_whole_and_in_parts(files: FileToolsFacade) -> None:
    await files.write_file("a.txt", "new\n")
    assert await files.read_file("a.txt", version=version(LINES)) == ReadResult(
        path="a.txt", content=LINES, encoding="utf-8", size=14, version=version(LINES), modified=None, total_lines=3,
        newline="lf", bom=False, origin="version",
    )  # fmt: skip
    assert (await files.read_file("a.txt", version=version(LINES), offset=2, limit=1)).content == "two\n"
    await files.delete_file("a.txt")
    assert (await files.read_file("a.txt", version=version("new\n"))).content == "new\n"


async def test_bytes_of_a_version_longer_than_a_page_are_given_back(files: FileToolsFacade) -> None:
    long = "line\n" * files.settings.max_text_lines * 2
    await files.write_file("long.txt", long)
    part = await files.read_file("long.txt", version=version(long), byte_offset=5, byte_count=5, page=True)
    assert (part.content, part.next_offset) == ("line\n", 10)


async def test_every_successful_read_is_published_and_no_other(files: FileToolsFacade) -> None:
    heard = told(files, "file:read")
    await refused("FILE_NOT_FOUND", files.read_file("missing.txt"))
    assert heard == []
    await files.read_file("a.txt", offset=1)
    await files.read_multiple(["b.bin", "missing.txt"])
    plain = [event.to_dict() for event in heard]
    assert [(event["path"], event["version"], event["actor"]["id"]) for event in plain] == [
        ("a.txt", version(LINES), files.actor.id),
        ("b.bin", version(b"\x00\x01\x02"), files.actor.id),
    ]


async def test_a_file_in_the_hands_of_a_writer_is_flagged_waited_for_or_refused(root: Path) -> None:
    reached, free = threading.Event(), threading.Event()

    def hold(method: str, path: str) -> None:
        if method == "Prepared.exchange":
            reached.set()
            assert free.wait(60)

    async with ScriptedOpening(root, before=hold) as files:
        writing = asyncio.ensure_future(files.write_file("a.txt", "new\n"))
        await steps_until(reached.is_set)
        error = await refused("LOCK_TIMEOUT", files.read_file("./a.txt", on_locked="error"))
        assert (error.message, error.retryable) == ("File is being modified by another operation. Please wait.", True)
        flagged = await files.read_file("a.txt")
        assert (flagged.content, flagged.stale) == (LINES, True)
        assert not (await files.read_file("b.bin")).stale
        waiting = asyncio.ensure_future(files.read_file("a.txt", on_locked="wait"))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        free.set()
        assert ((await waiting).content, (await waiting).stale) == ("new\n", False)
        await writing
        assert not (await files.read_file("a.txt")).stale


async def test_several_files_are_read_past_those_that_fail(files: FileToolsFacade) -> None:
    result = await files.read_multiple(["a.txt", "missing.txt", "d"])
    assert result == ReadBatchResult(
        items=[ReadItem(path="a.txt", result=await files.read_file("a.txt")), ReadItem(
        path="missing.txt", error={"error": "File not found: missing.txt", "error_code": "FILE_NOT_FOUND"}),
        ReadItem(path="d", error={"error": "Is a directory: d", "error_code": "IS_A_DIRECTORY"})], failed=2,
    )  # fmt: skip


async def test_reads_see_the_old_or_the_new_file_never_half(tmp_path: Path) -> None:
    old, new = "old\n" * 60_000, "new\n" * 80_000
    grow(tmp_path, {"a.txt": old.encode()})
    async with filetools.open(tmp_path, settings=QUIET) as files:
        writing = asyncio.ensure_future(rewrite(files, old, new))
        seen = set()
        while not writing.done():
            seen.add((await files.read_file("a.txt")).content)
            seen.add((await files.read_file("a.txt", byte_offset=0)).content)
        await writing
    assert seen <= {old, new}


async def rewrite(files: FileToolsFacade, old: str, new: str) -> None:
    for _ in range(10):
        await files.write_file("a.txt", new)
        await files.write_file("a.txt", old)
