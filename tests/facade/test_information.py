"""Facts about a path and about the workspace, without changing it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import InfoResult, VersionEntry, VersionsResult
from tests.support import inside
from tests.support.crashing import QUIET, grow
from tests.support.opened import refused, version
from tests.support.people import ALICE

ACTOR = ALICE
SECONDS = 1_700_000_000
MODIFIED = datetime.fromtimestamp(SECONDS, UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    grow(tmp_path, {"a.txt": b"one\r\ntwo\r\n", "b.bin": b"\x89PNG\r\n\x1a\n\x00", "d": None})
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "a.txt").chmod(0o640)
    for name in ("a.txt", "b.bin", "d", "pipe"):
        os.utime(tmp_path / name, (SECONDS, SECONDS))
    os.utime(tmp_path / "link", (SECONDS, SECONDS), follow_symlinks=False)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("no.txt", "FILE_NOT_FOUND"),
        ("a.txt/x", "FILE_NOT_FOUND"),
        ("link/x", "SYMLINK_NOT_ALLOWED"),
        ("..", "PATH_TRAVERSAL"),
        (".filetools", "PERMISSION_DENIED"),
    ],
)
async def test_a_missing_path_is_not_described(files: FileToolsFacade, path: str, code: str) -> None:
    await refused(code, files.file_info(path))
    if code != "FILE_NOT_FOUND":
        await refused(code, files.exists(path))
    else:
        assert await files.exists(path) is False


async def test_a_file_is_described_with_what_is_known_of_its_content(files: FileToolsFacade) -> None:
    assert await files.file_info("a.txt") == InfoResult(
        path="a.txt", name="a.txt", type="file", size=10, modified=MODIFIED, mode="640",
        version=version("one\r\ntwo\r\n"), encoding="utf-8", newline="crlf", bom=False, total_lines=2, is_binary=False,
        mime_type="text/plain",
    )  # fmt: skip
    assert await files.file_info("b.bin") == InfoResult(
        path="b.bin", name="b.bin", type="file", size=9, modified=MODIFIED, mode="644",
        version=version(b"\x89PNG\r\n\x1a\n\x00"), is_binary=True, mime_type="image/png",
    )  # fmt: skip


async def test_folders_links_and_pipes_are_described_and_not_followed(files: FileToolsFacade) -> None:
    folder = await files.file_info("d")
    assert folder == InfoResult(path="d", name="d", type="directory", modified=MODIFIED, mode="755", links=2)
    assert (await files.file_info("link")).type == "symlink"
    assert "passwd" not in str(await files.file_info("link"))
    assert (await files.file_info("pipe")).type == "other"
    assert (await files.file_info("")).type == "directory"
    for path in ("a.txt", "d", "link", "pipe", "", "."):
        assert await files.exists(path) is True


async def test_the_last_change_and_the_lock_are_returned(files: FileToolsFacade) -> None:
    result = await files.write_file("a.txt", "new")
    async with inside.at_work(files, "a.txt"):
        info = await files.file_info("a.txt")
        held = await files.lock_info("a.txt")
        assert (await files.is_locked("./a.txt"), await files.is_locked("b.bin")) == (True, False)
    assert held is not None
    assert (held.path, held.owner) == ("a.txt", "somebody")
    assert info.locked
    assert info.last_change is not None
    assert info.last_change.pop("time") > SECONDS
    assert info.last_change == {
        "number": result.number,
        "actor": {"kind": "agent", "id": "alice", "session": "s1", "call": None},
        "operation": "modify",
    }
    assert await files.lock_info("a.txt") is None


async def test_versions_are_returned_newest_first_with_their_actors(files: FileToolsFacade, root: Path) -> None:
    await refused("INVALID_ARGUMENT", files.versions("a.txt", limit=0))
    assert await files.versions("a.txt") == VersionsResult(path="a.txt", versions=[])
    assert await files.versions("never.txt") == VersionsResult(path="never.txt", versions=[])
    await files.write_file("a.txt", "2")
    await files.delete_file("a.txt")
    await files.write_file("a.txt", "3")
    found = await files.versions("a.txt")
    told = [(entry.version, entry.operation, entry.actor["kind"], entry.size, entry.kept) for entry in found.versions]
    assert told == [
        (version("3"), "create", "agent", 1, True),
        (version("2"), "modify", "agent", 1, True),
        (version("one\r\ntwo\r\n"), "found", "external", 10, True),
    ]
    assert isinstance(found.versions[0], VersionEntry)
    assert found.versions[0].number > found.versions[1].number > found.versions[2].number
    assert len((await files.versions("a.txt", limit=1)).versions) == 1


async def test_the_status_describes_the_workspace(files: FileToolsFacade, root: Path) -> None:
    await files.write_file("a.txt", "2")
    status = await files.status()
    assert status == {
        "root": root.name,
        "epoch": status["epoch"],
        "position": 2,
        "pending": status["pending"],
        "unrestored": [],
        "documents": [],
        "mirrors": {},
        "durability": "relaxed",
        "permissions": "allow",
        "problem": None,
        "polling": None,
        "retention": {
            "bytes": 1 + len(b"one\r\ntwo\r\n"),
            "bytes_limit": 1024**3,
            "records": status["position"],
            "records_limit": 1_000_000,
            "checkpoint": None,
            "held_records": 0,
            "held_over_limit": False,
        },
        "read_only": None,
    }


async def test_times_are_returned_on_request(root: Path, files: FileToolsFacade) -> None:
    began = datetime.fromtimestamp(int(root.stat().st_mtime) - 60, UTC)
    info = await files.file_info("a.txt", times=True)
    assert info.accessed == MODIFIED
    # Not every file system has the time of creation; it is not a time that was set by hand.
    assert info.created is None or info.created > began
    assert (await files.file_info("link", times=True)).accessed == MODIFIED
    plain = await files.file_info("a.txt")
    assert (plain.created, plain.accessed) == (None, None)


async def test_the_target_of_a_path_is_returned(root: Path) -> None:
    (root / "d" / "in").symlink_to("../a.txt")
    async with filetools.open(root, settings={**QUIET, "follow_symlinks": True}) as files:
        await refused("SYMLINK_ESCAPE", files.real_path("link"))
        await refused("PATH_TRAVERSAL", files.real_path("../x"))
        assert await files.real_path("d/in") == "a.txt"
        assert await files.real_path("d/new.txt") == "d/new.txt"
        assert await files.real_path("") == ""


async def test_versions_and_diffs_include_a_save_of_a_moment_ago(files: FileToolsFacade, root: Path) -> None:
    await files.write_file("saved", "one\n")
    (root / "saved").write_text("two\n")
    kept = (await files.versions("saved")).versions
    assert [one.version for one in kept] == [version("two\n"), version("one\n")]
    (root / "saved").write_text("three\n")
    found = await files.diff("saved")
    assert (found.old_version, found.new_version) == (version("two\n"), version("three\n"))
