"""Listing through the facade: pages show each entry once while files come and go, at a cost proportional to the page."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import Entry, ListResult
from tests.support.crashing import QUIET, grow
from tests.support.dose import dose
from tests.support.opened import ScriptedOpening, refused

SECONDS = 1_700_000_000
MODIFIED = datetime.fromtimestamp(SECONDS, UTC)
FILES = dose(2_000)
"""100,000 with FILETOOLS_DOSE=50."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    grow(tmp_path, {"B.txt": b"bb", "a.txt": b"a", "d/e.txt": b"e", "d/.git/x": b"x", ".hidden": b"", "z": None})
    (tmp_path / "link").symlink_to("/etc")
    for place in tmp_path.rglob("*"):
        os.utime(place, (SECONDS, SECONDS), follow_symlinks=False)
    return tmp_path


UNLISTABLE: dict[str, list[Any]] = {
    "DIR_NOT_FOUND": [("no", {})],
    "NOT_A_DIRECTORY": [("a.txt", {}), ("a.txt/x", {})],
    "SYMLINK_NOT_ALLOWED": [("link", {}), ("link/x", {})],
    "PATH_TRAVERSAL": [("..", {})],
    "PERMISSION_DENIED": [(".filetools", {})],
    "INVALID_ARGUMENT": [
        (None, {}), ("", {"limit": 0}), ("", {"limit": 1001}), ("", {"max_depth": 0}), ("", {"cursor": "nonsense"}),
        ("", {"cursor": ""}), ("", {"exclude": ["<"]}), ("", {"exclude": [""]}),
    ],
    "ABORTED": [("", {"abort": lambda: True})],
}  # fmt: skip


async def test_what_cannot_be_listed_is_refused(files: FileToolsFacade) -> None:
    for code, given in UNLISTABLE.items():
        for path, options in given:
            await refused(code, files.list_files(path, **options))


async def test_a_folder_is_listed_folders_first_then_by_name(files: FileToolsFacade) -> None:
    assert await files.list_files() == ListResult(
        path="",
        entries=[
            Entry(name="d", path="d", type="directory", modified=MODIFIED),
            Entry(name="z", path="z", type="directory", modified=MODIFIED),
            Entry(name=".hidden", path=".hidden", type="file", size=0, modified=MODIFIED),
            Entry(name="a.txt", path="a.txt", type="file", size=1, modified=MODIFIED),
            Entry(name="B.txt", path="B.txt", type="file", size=2, modified=MODIFIED),
            Entry(name="link", path="link", type="symlink", modified=MODIFIED),
        ],
        total=6,
    )


async def test_a_tree_is_listed_without_what_is_excluded(files: FileToolsFacade) -> None:
    page = await files.list_files(recursive=True, include_hidden=False, exclude=["z"], details=False)
    assert page == ListResult(
        path="",
        entries=[
            Entry(name="d", path="d", type="directory"),
            Entry(name="e.txt", path="d/e.txt", type="file"),
            Entry(name="a.txt", path="a.txt", type="file"),
            Entry(name="B.txt", path="B.txt", type="file"),
            Entry(name="link", path="link", type="symlink"),
        ],
    )
    assert [entry.path for entry in (await files.list_files("d", recursive=True)).entries] == ["d/e.txt"]


async def test_own_writes_are_in_the_next_listing(files: FileToolsFacade) -> None:
    for number in range(30):
        await files.write_file(f"n/{number}.txt", "x")
        assert (await files.list_files("n")).total == number + 1
    for number in range(30):
        await files.delete_file(f"n/{number}.txt")
        assert (await files.list_files("n")).total == 29 - number


async def test_the_first_page_touches_only_what_it_shows(tmp_path: Path) -> None:
    for number in range(FILES // 20):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}" / "x.txt").touch()
    touched: list[str] = []
    async with ScriptedOpening(tmp_path, before=lambda method, path: touched.append(method)) as files:
        touched.clear()
        page = await files.list_files(recursive=True, limit=10)
        assert len(page.entries) == 10
        # The root, five folders shown with their file, and facts of the ten entries.
        assert touched.count("scan") <= 7
        assert touched.count("stat") <= 20


async def test_a_tree_includes_default_exclusions_with_all(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        usual = [each.path for each in (await files.list_files(recursive=True, details=False)).entries]
        everything = [each.path for each in (await files.list_files(recursive=True, details=False, all=True)).entries]
    assert set(everything) - set(usual) == {"d/.git", "d/.git/x"}
    assert not any(".filetools" in path for path in everything)
