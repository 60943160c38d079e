"""Limits: sizes, names, encodings, line ends, attributes, hard links, and entries that are not files."""

from __future__ import annotations

import base64
import os
import socket
import stat
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, grow, leftovers, snapshot
from tests.support.opened import assert_at_rest, recorded, refused

Call = Callable[[FileToolsFacade], Awaitable[object]]


async def test_nothing_over_the_limit_is_written(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": b"12345678", "large.txt": b"x" * 20})
    async with filetools.open(tmp_path, settings={**QUIET, "max_write_bytes": 10}) as files:
        error = await refused("FILE_TOO_LARGE", files.write_file("a.txt", "x" * 11))
        assert (error.details, error.path) == ({"size": 11, "limit": 10}, "a.txt")
        await refused("FILE_TOO_LARGE", files.write_file("a.txt", "é" * 6))
        await refused("FILE_TOO_LARGE", files.create_file("n.txt", b"x" * 11))
        await refused("FILE_TOO_LARGE", files.append_file("a.txt", "123"))
        await refused("FILE_TOO_LARGE", files.copy_file("large.txt", "n.txt"))
        error = await refused("BATCH_FAILED", files.write_multiple([{"path": "b.txt", "content": "x" * 11}]))
        assert error.details["cause"] == "FILE_TOO_LARGE"
        assert await recorded(files) == []
        assert (await files.append_file("a.txt", "90")).bytes_written == 2
        assert snapshot(tmp_path) == {"a.txt": b"1234567890", "large.txt": b"x" * 20}


NAMES = [
    "n" * 255, "é" * 127 + "n", "...", "a..b", "~", "%2e", "-rf", " leading", "trailing ", "trailing.", "new\nline",
    "\u202egnp.exe", "e\u0301", "\u00e9", ".gitignore", "CON", "#", "*?[x]", "'quoted\"",
]  # fmt: skip


async def test_any_name_that_a_file_can_have_works_in_every_call(files: FileToolsFacade, tmp_path: Path) -> None:
    for name in NAMES:
        path = f"d/{name}"
        assert (await files.write_file(path, "1")).created
        assert (await files.append_file(path, "2")).path == path
        assert (await files.read_file(path)).content == "12"
        assert os.listdir(tmp_path / "d") == [name]
        assert (await files.list_files("d")).entries[0].name == name
        await files.move_file(path, f"t/{name}")
        await files.copy_file(f"t/{name}", path)
        entries = (await files.list_files(recursive=True)).entries
        assert [entry.path for entry in entries if entry.type == "file"] == [path, f"t/{name}"]
        await files.delete_file(path)
        await files.delete_directory("t", recursive=True)
        assert len((await files.versions(path)).versions) >= 2
    assert leftovers(tmp_path) == []
    await assert_at_rest(files, tmp_path)


@pytest.mark.parametrize("path", ["n" * 256, "é" * 128, "d/" + "n" * 256, "x/" * 2048 + "y", "a/" * 2047 + "yyy"])
async def test_longer_names_are_refused_without_a_trace(files: FileToolsFacade, tmp_path: Path, path: str) -> None:
    for call in (files.write_file, files.append_file, files.create_file):
        await refused("PATH_TOO_LONG", call(path, "x"))
    for other in (files.read_file, files.delete_file, files.create_directory, files.delete_directory):
        await refused("PATH_TOO_LONG", other(path))
    assert (snapshot(tmp_path), await recorded(files)) == ({}, [])


async def test_a_path_of_4096_bytes_that_the_system_cannot_make_is_refused(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    path = "/".join(["n" * 255] * 16)
    assert len(path) == 4095
    written = await files.write_file(path, "deep")
    assert (await files.read_file(path)).version == written.version
    await files.delete_directory("n" * 255, recursive=True)
    assert snapshot(tmp_path) == {}


LINE_ENDS: list[tuple[bytes, str, Literal["exact"] | None, bytes, str | None]] = [
    (b"a\r\nb\r\n", "x\ny\n", None, b"x\r\ny\r\n", "crlf"),
    (b"a\r\nb\r\n", "x\ny\n", "exact", b"x\ny\n", None),
    (b"a\r\nb\r\n", "x\r\ny\n", None, b"x\r\ny\n", None),
    (b"a\r\nb\n", "x\ny\n", None, b"x\ny\n", None),
    (b"a\nb\n", "x\r\ny\r\n", None, b"x\r\ny\r\n", None),
    (b"a\rb\r", "x\ny", None, b"x\ny", None),
    (b"no end", "x\ny\n", None, b"x\ny\n", None),
    (b"a\r\nb", "x\ny", None, b"x\r\ny", "crlf"),
]


async def test_line_ends_stay_as_the_file_has_them(files: FileToolsFacade, tmp_path: Path) -> None:
    for number, (there, sent, newline, stands, said) in enumerate(LINE_ENDS):
        place = tmp_path / f"{number}.txt"
        place.write_bytes(there)
        result = await files.write_file(place.name, sent, newline=newline)
        assert (place.read_bytes(), result.newline, result.bytes_written) == (stands, said, len(stands)), there


async def test_bytes_go_where_text_was_and_back(files: FileToolsFacade, tmp_path: Path) -> None:
    await files.write_file("a.txt", "text\n")
    await files.write_file("a.txt", b"\x00\x01\x02\xff\r\n")
    await files.append_file("a.txt", base64.b64encode(b"\x01\r").decode(), encoding="base64")
    assert (tmp_path / "a.txt").read_bytes() == b"\x00\x01\x02\xff\r\n\x01\r"
    assert (await files.read_file("a.txt")).is_binary
    await files.write_file("a.txt", "text\n")
    assert (await files.read_file("a.txt")).content == "text\n"


async def test_new_files_get_the_mode_of_the_umask(files: FileToolsFacade, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        await files.write_file("d/a.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "d/a.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o750


OPERATIONS: dict[str, Call] = {
    "read": lambda files: files.read_file("odd"),
    "read lines": lambda files: files.read_file("odd", offset=1),
    "read below": lambda files: files.read_file("odd/x"),
    "stream": lambda files: consume(files),
    "write": lambda files: files.write_file("odd", "x"),
    "write below": lambda files: files.write_file("odd/x", "x"),
    "append": lambda files: files.append_file("odd", "x"),
    "create": lambda files: files.create_file("odd", "x"),
    "copy from": lambda files: files.copy_file("odd", "copy"),
    "copy onto": lambda files: files.copy_file("a.txt", "odd", overwrite=True),
    "move": lambda files: files.move_file("odd", "moved"),
    "move onto": lambda files: files.move_file("a.txt", "odd", overwrite=True),
    "move below": lambda files: files.move_file("a.txt", "odd/x"),
    "delete": lambda files: files.delete_file("odd"),
    "delete below": lambda files: files.delete_file("odd/x"),
    "list": lambda files: files.list_files("odd"),
    "make folder": lambda files: files.create_directory("odd"),
    "make folder below": lambda files: files.create_directory("odd/x"),
    "delete folder": lambda files: files.delete_directory("odd", recursive=True),
    "write several": lambda files: files.write_multiple([{"path": "odd", "content": "x"}]),
    "delete several": lambda files: files.delete_multiple(["odd"]),
    "info below": lambda files: files.file_info("odd/x"),
}
KINDS = ("fifo", "socket", "device", "link to file", "link to folder", "link outside", "dangling", "loop")


async def consume(files: FileToolsFacade) -> None:
    async for _ in files.stream_file("odd"):
        pass


def make_odd(root: Path, kind: str) -> None:
    place, outside = root / "odd", root.with_name("outside")
    outside.mkdir(exist_ok=True)
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "socket":
        server = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(root)  # the name of a socket is short
        try:
            server.bind("odd")
        finally:
            os.chdir(here)
            server.close()
    elif kind == "device":
        try:
            os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
        except PermissionError:
            pytest.skip("only the superuser makes devices")
    else:
        targets = {"link to file": "a.txt", "link to folder": "d", "link outside": str(outside), "loop": "odd"}
        place.symlink_to(targets.get(kind, str(outside / "nothing")))


@pytest.mark.parametrize("kind", KINDS)
async def test_an_entry_that_is_neither_file_nor_folder_is_refused_by_every_call(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    grow(root, {"a.txt": b"a", "d/e.txt": b"e"})
    make_odd(root, kind)
    before = os.lstat(root / "odd")
    allowed = {
        "SYMLINK_NOT_ALLOWED",
        "NOT_A_REGULAR_FILE",
        "NOT_A_DIRECTORY",
        "FILE_EXISTS",
        "FILE_NOT_FOUND",
        "BATCH_FAILED",
    }
    async with filetools.open(root, settings=QUIET) as files:
        for name, call in OPERATIONS.items():
            with pytest.raises(filetools.FileToolsError) as caught:
                await call(files)
            error = caught.value
            assert error.code in allowed, (name, error)
            if kind.startswith(("link", "dangling", "loop")) and error.code != "BATCH_FAILED":
                assert error.code == "SYMLINK_NOT_ALLOWED", (name, error)
            assert str(tmp_path) not in error.message + str(error.details)
        assert (await files.file_info("odd")).type == (
            "symlink" if kind.startswith(("link", "d", "l")) and kind != "device" else "other"
        )
        assert await recorded(files) == []
    after = os.lstat(root / "odd")
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert os.listdir(tmp_path / "outside") == []
    (root / "odd").unlink()
    assert snapshot(root) == {"a.txt": b"a", "d": None, "d/e.txt": b"e"}


async def test_a_folder_with_unusual_entries_is_moved_and_deleted_as_a_whole(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    outside = tmp_path.with_name("kept")
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    grow(tmp_path, {"d/e.txt": b"e"})
    os.mkfifo(tmp_path / "d/pipe")
    (tmp_path / "d/link").symlink_to(outside)
    await files.move_file("d", "t")
    assert (await files.delete_directory("t", recursive=True)).entries == 4
    assert not (tmp_path / "t").exists()
    assert (outside / "kept.txt").read_text() == "kept"


async def test_a_tree_of_1100_folders_in_each_other_is_made_moved_and_deleted(tmp_path: Path) -> None:
    path = "/".join(["d"] * 1100)  # deeper than functions can call each other
    try:
        async with filetools.open(tmp_path, settings=QUIET) as files:
            await files.create_directory(path)
            await files.write_file(f"{path}/f", "deep")
            page = await files.list_files(recursive=True, max_depth=2000, details=False)
            rest = await files.list_files(recursive=True, max_depth=2000, details=False, cursor=page.next_cursor)
            assert (len(page.entries), len(rest.entries), rest.entries[-1].path) == (1000, 101, f"{path}/f")
            await files.move_file("d/d", "moved")
            assert (await files.delete_directory("moved", recursive=True)).entries == 1100
    finally:
        subprocess.run(
            ["rm", "-rf", tmp_path / ".filetools", tmp_path / "d"], check=True
        )  # too deep for others to remove
