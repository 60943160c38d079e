"""Searching names through the facade: refusals, exclusions, and pages with counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, grow
from tests.support.opened import refused


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    grow(
        tmp_path,
        {
            "src/App.py": b"1", "src/lib/app.js": b"2", ".hidden/app.py": b"", "build/app.o": b"",
            "node_modules/app/index.js": b"", ".gitignore": b"build/\n",
        },
    )  # fmt: skip
    (tmp_path / "link").symlink_to("src")
    async with filetools.open(tmp_path, settings=QUIET) as opened:
        yield opened


@pytest.mark.parametrize(
    ("pattern", "options", "code"),
    [
        ("", {}, "INVALID_ARGUMENT"),
        ("app", {"limit": 0}, "INVALID_ARGUMENT"),
        ("app", {"limit": 1001}, "INVALID_ARGUMENT"),
        ("app", {"cursor": "nonsense"}, "INVALID_ARGUMENT"),
        ("app", {"path": "nowhere"}, "DIR_NOT_FOUND"),
        ("app", {"path": "link"}, "SYMLINK_NOT_ALLOWED"),
        ("app", {"path": ".filetools"}, "PERMISSION_DENIED"),
        ("app", {"path": ".."}, "PATH_TRAVERSAL"),
        ("app", {"abort": lambda: True}, "ABORTED"),
    ],
)
async def test_a_search_refuses(files: FileToolsFacade, pattern: str, options: dict[str, Any], code: str) -> None:
    await refused(code, files.search_files(pattern, **options))


async def test_ignored_hidden_and_excluded_names_are_left_out(files: FileToolsFacade) -> None:
    page = await files.search_files("APP")
    assert [entry.path for entry in page.entries] == ["src/lib/app.js", "src/App.py"]
    assert (page.total, page.total_is_complete, page.truncated) == (2, True, False)
    assert await files.glob_files("app") == page


async def test_all_finds_everything_but_what_is_ours(files: FileToolsFacade) -> None:
    page = await files.search_files("*", all=True)
    paths = {entry.path for entry in page.entries}
    assert {".hidden/app.py", "build/app.o", "node_modules/app/index.js", "link"} <= paths
    assert not any(path.startswith((".filetools", "link/")) for path in paths)


async def test_pages_count_what_came_before_while_files_come_and_go(files: FileToolsFacade, tmp_path: Path) -> None:
    first = await files.search_files("app", limit=1)
    assert (first.total, first.total_is_complete, first.truncated) == (1, False, True)
    (tmp_path / "src" / "lib" / "app.js").unlink()
    (tmp_path / "src" / "lib" / "a-new-app").touch()
    second = await files.search_files("app", limit=1, cursor=first.next_cursor)
    assert [entry.path for entry in second.entries] == ["src/App.py"]
    assert (second.total, second.total_is_complete, second.next_cursor) == (2, True, None)
    await refused("INVALID_ARGUMENT", files.search_files("app", all=True, cursor=first.next_cursor))
