"""Claude Code's Read, Write, Edit and Glob: mistakes that are repaired, stale texts, results in the declared shapes."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade import progress
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import CLAUDE_CODE
from tests.facade.test_loop_stays_free import LARGE, large_things_seen
from tests.support.crashing import QUIET
from tests.support.dialects import Session

DIALECT = CLAUDE_CODE
CODE = "import os\n\n\ndef f():\n\treturn 1\n"
PNG = b"\x89PNG\r\n\x1a\n\0"


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text(CODE)
    (root / "empty").touch()
    (root / "logo.png").write_bytes(PNG)
    (root / "data.bin").write_bytes(b"\0\1\2")
    (tmp_path / "secret").write_text("secret")
    async with filetools.open(root, settings=QUIET) as opened:
        yield opened


@pytest.fixture
def root(files: FileToolsFacade) -> Path:
    return Path(files.root_paths[0])


async def test_a_path_outside_is_told_the_root_and_the_files_that_are_like_it(session: Session, root: Path) -> None:
    told = await session.refuses("ABSOLUTE_PATH", "Read", file_path="/home/ann/shop/src/app.py")
    assert f"root: {root}" in told
    assert "Did you mean 'src/app.py'?" in told
    assert 'similar: ["src/app.py"]' in told
    told = await session.refuses("ABSOLUTE_PATH", "Glob", pattern="/elsewhere/*.py")
    assert f"root: {root}" in told


async def test_an_edit_says_where_a_hard_link_keeps_the_old_text(session: Session, root: Path) -> None:
    os.link(root / "src/app.py", root / "copy.py")
    told = await session.says("Edit", file_path="src/app.py", old_string="return 1", new_string="return 2")
    assert "the old text remains in copy.py" in told
    assert (root / "copy.py").read_text() == CODE


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("Read", {}, "INVALID_ARGUMENT", "Missing parameter 'file_path'"),
    ("Read", {"file_path": "src/app.py", "lines": 3}, "INVALID_ARGUMENT", "Unknown parameter 'lines'"),
    ("Read", {"file_path": "src/no.py"}, "FILE_NOT_FOUND", "Check the path with Glob"),
    ("Read", {"file_path": "src"}, "IS_A_DIRECTORY", "Use Glob"),
    ("Read", {"file_path": "data.bin"}, "INVALID_ARGUMENT", "cannot show binary files"),
    ("Read", {"file_path": "../secret"}, "PATH_TRAVERSAL", "'..'"),
    ("Read", {"file_path": "/etc/passwd"}, "ABSOLUTE_PATH", "not allowed"),
    ("Write", {"file_path": "/etc/new", "content": ""}, "ABSOLUTE_PATH", "not allowed"),
    ("Write", {"file_path": "src/app.py", "content": "x"}, "VERSION_MISMATCH", "Read the whole file"),
    ("Edit", {"file_path": "/etc/hosts", "old_string": "a", "new_string": "b"}, "ABSOLUTE_PATH", "not allowed"),
    ("Edit", {"file_path": "src/app.py", "old_string": "a", "new_string": "a"}, "INVALID_ARGUMENT", "exactly the same"),
    ("Edit", {"file_path": "src/app.py", "old_string": "", "new_string": "a"}, "FILE_EXISTS", "old_string"),
    ("Edit", {"file_path": "src/app.py", "old_string": "o", "new_string": "a"}, "EDIT_AMBIGUOUS", "set replace_all"),
    (
        "Edit", {"file_path": "src/app.py", "old_string": "def f():\n    return 1", "new_string": "a"},
        "EDIT_NOT_FOUND", "without the line numbers",
    ),
    ("Glob", {"pattern": "../*"}, "INVALID_ARGUMENT", "'..'"),
    ("Glob", {"pattern": "*", "path": "/etc"}, "ABSOLUTE_PATH", "not allowed"),
    ("Glob", {"pattern": "/etc/*"}, "ABSOLUTE_PATH", "not allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "code", "said"), REFUSED, ids=lambda value: str(value)[:50])
async def test_a_mistake_is_refused_in_words_that_repair_it(
    session: Session, root: Path, tool: str, arguments: dict[str, Any], code: str, said: str
) -> None:
    assert said in await session.refuses(code, tool, **arguments)
    assert (root / "src" / "app.py").read_text() == CODE


async def test_a_path_beside_the_root_with_the_same_beginning_is_outside(session: Session, root: Path) -> None:
    (root.parent / "root2").mkdir()
    await session.refuses("ABSOLUTE_PATH", "Write", file_path=f"{root}2/a", content="")
    await session.refuses("PATH_TRAVERSAL", "Read", file_path=f"{root}/../secret")


async def test_what_did_not_match_is_repaired_from_the_refusal(session: Session, root: Path) -> None:
    envelope = await session.envelope(
        "Edit",
        {"file_path": "src/app.py", "old_string": "def f():\n    return 1", "new_string": "def f():\n\treturn 2"},
    )
    await session.says(
        "Edit", file_path="src/app.py", old_string=envelope["details"]["closest"]["text"].rstrip("\n"),
        new_string="def f():\n\treturn 2",
    )  # fmt: skip
    assert (root / "src" / "app.py").read_text() == CODE.replace("1", "2")


async def test_reading_shows_numbered_lines_and_gives_the_declared_shape(session: Session, root: Path) -> None:
    path = str(root / "src" / "app.py")
    assert await session.says("Read", file_path=path) == (
        "     1\timport os\n     2\t\n     3\t\n     4\tdef f():\n     5\t\treturn 1"
    )
    assert await session.data("Read", file_path="src/app.py", offset=4, limit=1) == {
        "type": "text",
        "file": {"filePath": path, "content": "def f():\n", "numLines": 1, "startLine": 4, "totalLines": 5},
    }
    assert "contents are empty" in await session.says("Read", file_path="empty")
    assert "shorter than the provided offset (9). The file has 5 lines." in (
        await session.says("Read", file_path="src/app.py", offset=9)
    )


async def test_a_line_too_long_to_be_shown_names_the_tool_that_shows_its_parts(session: Session, root: Path) -> None:
    (root / "pack.js").write_text(",".join(f"{number:08}" for number in range(25_000)))
    shown = await session.says("Read", file_path="pack.js")
    assert shown.endswith("[line 1 is cut here; Grep with -o shows other parts of it]")
    found = await session.says("Grep", pattern="00024999", path="pack.js", output_mode="content", **{"-o": True})
    assert found == "pack.js:1:00024999"
    (root / "pack.js").write_text("x" * 60_000 + "\nbelow\n")
    assert (await session.says("Read", file_path="pack.js")).endswith("; offset 2 continues after it]")


async def test_a_long_file_is_read_on_where_it_was_cut_and_is_not_yet_known(session: Session, root: Path) -> None:
    (root / "long.txt").write_text("".join(f"{number}\n" for number in range(1, 2501)))
    assert (await session.says("Read", file_path="long.txt")).endswith("[lines 1-2000 of 2500; offset 2001 continues]")
    await session.refuses("VERSION_MISMATCH", "Write", file_path="long.txt", content="short")
    assert (await session.says("Read", file_path="long.txt", offset=2001)).startswith("  2001\t2001\n")
    file = (await session.data("Read", file_path="long.txt"))["file"]
    assert (file["numLines"], file["totalLines"], file["truncatedByTokenCap"]) == (2000, 2500, True)


async def test_a_notebook_is_text_that_edit_changes(session: Session, root: Path) -> None:
    (root / "n.ipynb").write_text('{"cells": [{"cell_type": "code", "source": ["1"]}]}\n')
    assert (await session.says("Read", file_path="n.ipynb")).startswith('     1\t{"cells"')
    await session.says("Edit", file_path="n.ipynb", old_string='["1"]', new_string='["2"]')
    assert (root / "n.ipynb").read_text() == '{"cells": [{"cell_type": "code", "source": ["2"]}]}\n'


async def test_pictures_and_pdfs_are_media(session: Session, root: Path) -> None:
    (root / "paper.pdf").write_bytes(b"%PDF-1.7\n\0")
    assert await session.data("Read", file_path="logo.png") == {
        "type": "image",
        "file": {"base64": base64.b64encode(PNG).decode(), "type": "image/png", "originalSize": 9},
    }
    envelope = await session.envelope("Read", {"file_path": "paper.pdf"})
    assert envelope["data"]["type"] == "pdf"
    media = session.tools.show("Read", envelope).media
    assert media is not None
    assert (media.kind, media.mime_type, base64.b64decode(media.data)) == ("bytes", "application/pdf", b"%PDF-1.7\n\0")


async def test_writing_creates_then_replaces_what_was_read(session: Session, root: Path) -> None:
    path = str(root / "new" / "a.txt")
    assert await session.says("Write", file_path=path, content="one\n") == f"File created successfully at: {path}"
    assert await session.data("Write", file_path=path, content="one\ntwo\n") == {
        "type": "update",
        "filePath": path,
        "content": "one\ntwo\n",
        "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": [" one", "+two"]}],
        "originalFile": "one\n",
        "userModified": False,
    }
    await session.says("Read", file_path="src/app.py", offset=1, limit=100)
    assert "updated successfully" in await session.says("Write", file_path="src/app.py", content="pass\n")


async def test_the_texts_of_a_write_are_compared_in_a_worker(session: Session) -> None:
    text = "".join(f"line {number}\n" for number in range(LARGE))
    await session.data("Write", file_path="large.txt", content=text)
    with large_things_seen() as found:
        made = await session.data("Write", file_path="large.txt", content=text.replace("7\n", "seven\n"))
    assert len(made["structuredPatch"]) == LARGE // 10
    assert [
        each
        for each in found
        if each.startswith(("filetools.content.differences.alignment", "filetools.content.differences.myers"))
    ] == []


async def test_an_edit_gives_the_declared_shape(session: Session, root: Path) -> None:
    assert await session.data("Edit", file_path="src/app.py", old_string="return 1", new_string="return 2") == {
        "filePath": str(root / "src" / "app.py"),
        "oldString": "return 1",
        "newString": "return 2",
        "originalFile": CODE,
        "structuredPatch": [
            {
                "oldStart": 2, "oldLines": 4, "newStart": 2, "newLines": 4,
                "lines": [" ", " ", " def f():", "-\treturn 1", "+\treturn 2"],
            }
        ],
        "userModified": False,
        "replaceAll": False,
    }  # fmt: skip
    said = await session.says("Edit", file_path="src/app.py", old_string="r", new_string="R", replace_all=True)
    assert said.endswith("All occurrences were successfully replaced.")
    assert (root / "src" / "app.py").read_text() == CODE.replace("1", "2").replace("r", "R")


async def test_an_empty_old_string_creates_a_file(session: Session, root: Path) -> None:
    made = await session.data("Edit", file_path="new.txt", old_string="", new_string="one\n")
    assert (made["originalFile"], made["structuredPatch"][0]["lines"]) == (None, ["+one"])
    assert (root / "new.txt").read_text() == "one\n"


async def test_only_the_touched_span_of_a_foreign_encoding_changes(session: Session, root: Path) -> None:
    (root / "old.txt").write_bytes("größe\r\nzwei\r\ndrei\n".encode("latin-1"))
    await session.says("Edit", file_path="old.txt", old_string="zwei\ndrei", new_string="2\n3")
    assert (root / "old.txt").read_bytes() == "größe\r\n2\r\n3\n".encode("latin-1")
    (root / "old.txt").write_bytes("größe\r\nzwei\r\n".encode("latin-1"))
    await session.says("Read", file_path="old.txt")
    made = await session.data("Write", file_path="old.txt", content="größe\n2\n")
    assert (root / "old.txt").read_bytes() == "größe\r\n2\r\n".encode("latin-1")
    assert made["structuredPatch"][0]["lines"] == [" größe", "-zwei", "+2"]
    assert not made["userModified"]


async def test_whole_writes_of_two_sessions_are_merged_or_refused_and_nothing_is_lost(
    files: FileToolsFacade, session: Session, root: Path
) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 10))
    (root / "a.txt").write_text(text)
    other = Session(files, CLAUDE_CODE, "s2")
    for each in (session, other):
        await each.says("Read", file_path="a.txt")
    await other.says("Write", file_path="a.txt", content=text.replace("line 9", "line nine"))
    said = await session.says("Write", file_path="a.txt", content=text.replace("line 1\n", "line one\n"))
    assert "were merged with yours" in said
    both = text.replace("line 9", "line nine").replace("line 1\n", "line one\n")
    assert (root / "a.txt").read_text() == both
    await other.says("Write", file_path="b.txt", content="theirs\n")
    await session.says("Read", file_path="b.txt")
    await other.says("Write", file_path="b.txt", content="theirs again\n")
    said = await session.refuses("EDIT_CONFLICT", "Write", file_path="b.txt", content="mine\n")
    assert "theirs again" in said
    assert (root / "b.txt").read_text() == "theirs again\n"


async def test_what_one_session_has_read_does_not_let_another_replace_it(
    files: FileToolsFacade, session: Session
) -> None:
    await session.says("Read", file_path="src/app.py")
    other = Session(files, CLAUDE_CODE, "s2")
    await other.refuses("VERSION_MISMATCH", "Write", file_path="src/app.py", content="x")


@pytest.fixture
def tree(root: Path) -> Path:
    for age, name in enumerate(
        ("src/b.ts", "src/deep/c.tsx", "src/lib.py", "x[1]/lib.py", ".github/ci.yml", "build/o.py")
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    os.utime(root / "src" / "app.py", (2_000_000, 2_000_000))
    (root / ".gitignore").write_text("build/\n")
    return root


GLOBS: list[tuple[dict[str, Any], list[str]]] = [
    ({"pattern": "**/*.py"}, ["src/app.py", "src/lib.py", "x[1]/lib.py"]),
    ({"pattern": "*.py"}, ["src/app.py", "src/lib.py", "x[1]/lib.py"]),
    ({"pattern": "*.{ts,tsx}", "path": "src"}, ["src/b.ts", "src/deep/c.tsx"]),
    ({"pattern": "lib.py"}, ["src/lib.py", "x[1]/lib.py"]),
    ({"pattern": "*.py", "path": "x[1]"}, ["x[1]/lib.py"]),
    ({"pattern": "**/*.yml"}, [".github/ci.yml"]),
    ({"pattern": "build/*"}, ["build/o.py"]),
    ({"pattern": "*.none"}, []),
]


@pytest.mark.parametrize(("arguments", "found"), GLOBS, ids=lambda value: str(value)[:50])
async def test_files_are_found_the_newest_first_and_hidden_ones_where_nothing_else_fits(
    session: Session, tree: Path, arguments: dict[str, Any], found: list[str]
) -> None:
    nothing = ["No files found", "hint: a glob such as src/**/*.py must match the whole path and is case-sensitive"]
    assert (await session.says("Glob", **arguments)).splitlines() == (found or nothing)


async def test_absolute_patterns_and_folders_are_inside_the_root(session: Session, tree: Path) -> None:
    assert await session.says("Glob", pattern=f"{tree}/src/**/*.ts") == "src/b.ts"
    assert await session.says("Glob", pattern="*.ts", path=str(tree / "src")) == "src/b.ts"
    (tree / "top.ts").touch()
    (tree / "sub" / "src").mkdir(parents=True)
    (tree / "sub" / "src" / "app.py").touch()
    assert await session.says("Glob", pattern=f"{tree}/*.ts") == "top.ts"
    assert await session.says("Glob", pattern=f"{tree}/src/app.py") == "src/app.py"
    assert await session.says("Glob", pattern=f"{tree}/x[1]/lib.py") == "x[1]/lib.py"
    assert await session.says("Glob", pattern="./top.ts") == "top.ts"


async def test_of_many_files_the_newest_hundred_are_told_with_their_number(session: Session, root: Path) -> None:
    (root / "many").mkdir()
    for number in range(120):
        path = root / "many" / f"{number:03}.md"
        path.touch()
        os.utime(path, (number, number))
    found = await session.data("Glob", pattern="many/*")
    assert found | {"durationMs": 0} == {
        "durationMs": 0, "numFiles": 100, "filenames": [f"many/{number:03}.md" for number in range(119, 19, -1)],
        "truncated": True, "totalMatches": 120, "countIsComplete": True,
    }  # fmt: skip
    assert (await session.says("Glob", pattern="many/*")).endswith(
        "(Results are truncated. Consider using a more specific path or pattern.)"
    )


@pytest.mark.parametrize(("name", "what"), [("Glob", "names checked"), ("Grep", "files searched")])
async def test_a_search_tells_how_far_it_is(
    files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    monkeypatch.setattr(progress, "PAUSE_SECONDS", 0.0)  # else a search that takes less than that tells nothing
    for number in range(300):
        Path(files.root_paths[0], f"note{number}").touch()
    told: list[str | None] = []
    tools = CLAUDE_CODE.registry(files)
    envelope = await tools.call(
        name,
        {"pattern": "**/nothing*" if name == "Glob" else "nothing"},
        progress=lambda done, total, message: told.append(message),
    )
    assert envelope["success"]
    await asyncio.sleep(0)
    assert any(message is not None and message.endswith(what) for message in told)
