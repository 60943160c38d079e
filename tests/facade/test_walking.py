"""Walking a whole tree: refusals, the rows, and one look per folder."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.words import Row
from filetools.search import listing
from tests.support.crashing import QUIET, grow
from tests.support.opened import refused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    grow(
        tmp_path,
        {
            "B.txt": b"b", "a.txt": b"a", "d/e.txt": b"e", "d/.git/x": b"x", "d/i/j/k": b"k", ".hidden": b"", "z": None,
            "built/o": b"", ".gitignore": b"built/\n*.log\n", "d/x.log": b"",
        },
    )  # fmt: skip
    (tmp_path / "link").symlink_to("/etc")
    os.close(os.open(os.fsencode(tmp_path) + b"/z/\xff", os.O_CREAT | os.O_WRONLY))
    (tmp_path / "z" / "back\\slash").mkdir()
    (tmp_path / "z" / "back\\slash" / "in").touch()
    return tmp_path


async def walked(files: FileToolsFacade, path: str = "", **options: Any) -> list[Row]:
    return [row async for rows in files.walk_files(path, **options) for row in rows]


async def listed(files: FileToolsFacade, path: str = "", **options: Any) -> list[Row]:
    page = await files.list_files(path, recursive=True, details=False, **options)
    return [(entry.path, entry.type, entry.addressable is not False) for entry in page.entries]


@pytest.mark.parametrize(
    ("path", "options", "code"),
    [
        ("no", {}, "DIR_NOT_FOUND"),
        ("a.txt", {}, "NOT_A_DIRECTORY"),
        ("link", {}, "SYMLINK_NOT_ALLOWED"),
        ("..", {}, "PATH_TRAVERSAL"),
        (".filetools", {}, "PERMISSION_DENIED"),
        ("", {"max_depth": 0}, "INVALID_ARGUMENT"),
        ("", {"exclude": ["<"]}, "INVALID_ARGUMENT"),
    ],
)
async def test_what_cannot_be_walked_is_refused(
    files: FileToolsFacade, path: str, options: dict[str, Any], code: str
) -> None:
    await refused(code, walked(files, path, **options))


@pytest.mark.parametrize(
    "options",
    [
        {}, {"path": "d"}, {"path": "z/"}, {"include_hidden": False}, {"exclude": ["d/i", "*.txt"]}, {"all": True},
        {"use_gitignore": True}, {"use_gitignore": True, "path": "d"}, {"max_depth": 1}, {"max_depth": 2},
    ],
)  # fmt: skip
async def test_rows_are_those_of_a_listing(files: FileToolsFacade, options: dict[str, Any]) -> None:
    rows = await walked(files, **options)
    assert rows == await listed(files, **options)
    assert rows


async def test_names_that_cannot_be_addressed_are_shown_and_say_so(files: FileToolsFacade) -> None:
    assert await walked(files, "z") == [
        ("z/back\\\\slash", "directory", False),
        ("z/back\\\\slash/in", "file", False),
        ("z/\\xff", "file", False),
    ]


async def test_a_transaction_walks_over_what_it_has_made(files: FileToolsFacade) -> None:
    async with files.transaction() as tx:
        await tx.create_file("d/new", "")
        await tx.delete_file("d/e.txt")
        rows = [row async for rows in tx.walk_files("d", max_depth=1) for row in rows]
    assert [path for path, _, _ in rows] == ["d/i", "d/new", "d/x.log"]


@pytest.fixture
async def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FileToolsFacade]:
    """A tree of nested folders, walked in batches of at most 8 rows."""
    monkeypatch.setattr(listing, "FIRST_PORTION", 2)
    monkeypatch.setattr(listing, "LARGEST_PORTION", 8)
    grow(tmp_path, {f"{outer}/{inner}/{name}": b"" for outer in range(4) for inner in range(4) for name in range(4)})
    async with filetools.open(tmp_path, settings=QUIET) as opened:
        yield opened


async def test_no_directory_is_open_between_two_batches_of_a_walk(wide: FileToolsFacade, tmp_path: Path) -> None:
    walk = wide.walk_files()
    await anext(walk)
    assert not open_folders(tmp_path)
    await anext(walk)
    assert not open_folders(tmp_path)


def open_folders(root: Path) -> list[str]:
    links = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
    return [link for link in links if link.startswith(f"{root}/") and os.path.isdir(link) and ".filetools" not in link]


async def test_a_walk_ends_with_its_workspace(tmp_path: Path) -> None:
    grow(tmp_path, {f"{number}/x": b"" for number in range(300)})
    async with filetools.open(tmp_path, settings=QUIET) as files:
        walk = files.walk_files()
        assert len(await anext(walk)) == listing.FIRST_PORTION
    await refused("WORKSPACE_GONE", anext(walk))
