"""Deleting files: refusals, and reading deleted files by their version."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from filetools.facade.facade import FileToolsFacade
from filetools.models.files import DeleteResult
from tests.support.crashing import grow, leftovers
from tests.support.opened import names_of, recorded, refused, told, version


@pytest.fixture
def root(tmp_path: Path) -> Path:
    grow(tmp_path, {"a.txt": b"text\n", "d": None})
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a.txt")
    return tmp_path


REFUSED: dict[str, list[str | None]] = {
    "FILE_NOT_FOUND": ["no.txt", "d/no.txt", "a.txt/no.txt"],
    "IS_A_DIRECTORY": ["d"],
    "NOT_A_REGULAR_FILE": ["pipe"],
    "SYMLINK_NOT_ALLOWED": ["link", "link/x"],
    "INVALID_PATH": [""],
    "PATH_TRAVERSAL": [".."],
    "PERMISSION_DENIED": [".filetools"],
    "INVALID_ARGUMENT": [None],
}


async def test_an_entry_that_is_not_a_file_is_not_deleted(files: FileToolsFacade, root: Path) -> None:
    heard = told(files)
    for code, paths in REFUSED.items():
        for path in paths:
            await refused(code, files.delete_file(path))  # type: ignore[arg-type]
    assert (heard, await recorded(files)) == ([], [])
    assert sorted(os.listdir(root)) == [".filetools", "a.txt", "d", "link", "pipe"]


async def test_another_version_is_not_deleted(files: FileToolsFacade, root: Path) -> None:
    error = await refused("VERSION_MISMATCH", files.delete_file("a.txt", expected_version="0" * 64))
    assert error.details == {"expected_version": "0" * 64, "current_version": version("text\n")}
    await refused("INVALID_ARGUMENT", files.delete_file("a.txt", expected_version="x"))
    assert (root / "a.txt").read_bytes() == b"text\n"


async def test_a_deleted_file_is_readable_by_its_version(files: FileToolsFacade, root: Path) -> None:
    heard = told(files)
    result = await files.delete_file("a.txt", expected_version=version("text\n"))
    assert result == DeleteResult(path="a.txt", deleted_version=version("text\n"), number=result.number)
    assert names_of(heard) == [("file:deleted", "a.txt")]
    assert heard[0].to_dict()["version"] == version("text\n")
    assert await recorded(files) == [("delete", "a.txt", "agent")]
    assert not (root / "a.txt").exists()
    assert leftovers(root) == []
    await refused("FILE_NOT_FOUND", files.read_file("a.txt"))
    assert (await files.read_file("a.txt", version=version("text\n"))).content == "text\n"
    await refused("FILE_NOT_FOUND", files.delete_file("a.txt"))


async def test_a_deleted_file_can_be_created_again(files: FileToolsFacade, root: Path) -> None:
    await files.delete_file("a.txt")
    assert (await files.create_file("a.txt", "next\n")).created
    assert [entry.operation for entry in (await files.versions("a.txt")).versions] == ["create", "found"]
    assert (root / "a.txt").read_bytes() == b"next\n"
