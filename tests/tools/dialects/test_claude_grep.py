"""Claude Code's Grep: three modes, lines around, pages, filters; what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import CLAUDE_CODE
from tests.support.dialects import Session

DIALECT = CLAUDE_CODE
BEFORE: dict[str, bytes | None] = {
    "src/app.py": b"import os\ndef one():\n    pass\n\n\n\ndef two():\n    return def_2, def_3\n",
    "src/app.test.ts": b"const def = 1\r\n",
    "src/app.ts": b"const DEF = 2\n",
    "docs/guide.md": b"no such word\n",
    ".github/ci.yml": b"def: 1\n",
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ({"pattern": "zz("}, "INVALID_ARGUMENT", "Correct the pattern."),
        ({"pattern": "a", "output_mode": "names"}, "INVALID_ARGUMENT", "files_with_matches"),
        ({"pattern": "a", "-X": 1}, "INVALID_ARGUMENT", "Unknown parameter '-X'"),
        ({"pattern": "a", "path": "no"}, "FILE_NOT_FOUND", "Glob"),
        ({"pattern": "a", "path": "/etc"}, "ABSOLUTE_PATH", "/etc"),
    ],
)
async def test_a_search_refuses(session: Session, arguments: dict[str, Any], code: str, said: str) -> None:
    assert said in await session.refuses(code, "Grep", **arguments)


CONTENT: list[tuple[dict[str, Any], str]] = [
    ({"pattern": "^def"}, "src/app.py:2:def one():\nsrc/app.py:7:def two():"),
    ({"pattern": "def", "-i": True, "type": "ts"}, "src/app.test.ts:1:const def = 1\nsrc/app.ts:1:const DEF = 2"),
    ({"pattern": "def_\\d", "-o": True}, "src/app.py:8:def_2\nsrc/app.py:8:def_3"),
    (
        {"pattern": "^def", "-A": 1},
        "src/app.py:2:def one():\nsrc/app.py-3-    pass\n--\nsrc/app.py:7:def two():\nsrc/app.py-8-    return def_2, def_3",
    ),
    ({"pattern": "one|pass", "-C": 1}, "src/app.py-1-import os\nsrc/app.py:2:def one():\nsrc/app.py:3:    pass\nsrc/app.py-4-"),
    ({"pattern": "os.def", "multiline": True}, "src/app.py:1:import os\nsrc/app.py:2:def one():"),
    ({"pattern": "def", "glob": ".github/**"}, ".github/ci.yml:1:def: 1"),
    ({"pattern": "nothing"}, "No matches found\nhint: matching is case-sensitive; -i=true ignores case"),
    ({"pattern": "nothing", "-i": True}, "No matches found"),
    (
        {"pattern": "def_|^def", "head_limit": 1, "offset": 1},
        "src/app.py:7:def two():\n\n[Showing results with pagination = limit: 1, offset: 1]",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "shown"), CONTENT, ids=lambda value: str(value)[:60])
async def test_lines_are_shown_as_grep_does(session: Session, arguments: dict[str, Any], shown: str) -> None:
    assert await session.says("Grep", output_mode="content", **arguments) == shown


async def test_files_and_counts_come_with_their_totals(session: Session) -> None:
    assert await session.says("Grep", pattern="def") == "Found 2 files\nsrc/app.py\nsrc/app.test.ts"
    assert await session.says("Grep", pattern="def", head_limit=1) == "Found 1 file limit: 1\nsrc/app.py"
    assert await session.says("Grep", pattern="nothing", type="rust") == (
        "No files found\nhint: there was no file to search; type is 'rust'"
    )
    assert await session.says("Grep", pattern="def", output_mode="count") == (
        "src/app.py:3\nsrc/app.test.ts:1\n\nFound 4 total occurrences across 2 files."
    )
    assert await session.data("Grep", pattern="def", output_mode="count") == {
        "mode": "count", "numFiles": 2, "filenames": [], "content": "src/app.py:3\nsrc/app.test.ts:1", "numMatches": 4,
    }  # fmt: skip
    assert await session.data("Grep", pattern="def", output_mode="content", head_limit=1) == {
        "mode": "content", "numFiles": 0, "filenames": [], "content": "src/app.py:2:def one():", "numLines": 1,
        "appliedLimit": 1,
    }  # fmt: skip


async def test_all_rows_of_a_large_file_come_without_a_limit(session: Session, tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("".join(f"hit {number}\n" for number in range(2500)))
    found = await session.data("Grep", pattern="hit", output_mode="content", head_limit=0)
    assert found["numLines"] == 2500
    found = await session.data("Grep", pattern="hit", output_mode="content")
    assert (found["numLines"], found["appliedLimit"]) == (250, 250)
    found = await session.data("Grep", pattern="hit", output_mode="content", offset=2400)
    assert (found["numLines"], found["appliedOffset"]) == (100, 2400)


async def test_text_that_a_person_has_not_saved_is_found_and_said_to_be_that(
    files: FileToolsFacade, session: Session
) -> None:
    person = files.for_actor(filetools.Actor(kind="editor", id="ann"))
    opened = await person.buffers.open("docs/guide.md")
    await person.buffers.change(opened.handle, buffer_version=opened.buffer_version, text="typed\n")
    assert await session.says("Grep", pattern="typed", output_mode="content") == (
        "docs/guide.md:1:typed  (unsaved text of an editor)"
    )
