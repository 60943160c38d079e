"""Windows of characters: every character of a line can be read, however long the line is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import filetools
from filetools.content.extracts.ranges import memory_source, read_lines
from filetools.content.formats import TextFormat
from filetools.errors import InvalidArgumentError
from filetools.models.records import Actor
from filetools.tools.registry import ToolRegistry
from tests.support.mcp_clients import RELAXED

NEXT = re.compile(r"next_offset (\d+)(?: · next_column (\d+))?")
FOOTER = re.compile(r"\n?\[long\.txt · [^\n]*\]\Z")
LONG = "".join(f"{number:07}\u00e9\U0001f600" for number in range(12_000))
"""A line of 108,000 characters."""


@pytest.mark.parametrize(
    ("encoding", "end", "most_bytes"),
    [("utf-8", "\n", None), ("utf-8", "\r\n", 100_000), ("utf-16-le", "\n", 100_000), ("utf-16-le", "\r\n", None)],
)
async def test_a_model_reads_all_of_a_long_line(
    tmp_path: Path, encoding: str, end: str, most_bytes: int | None
) -> None:
    text = f"short{end}{LONG}{end}last{end}"
    mark = "\ufeff" if encoding != "utf-8" else ""
    (tmp_path / "long.txt").write_bytes((mark + text).encode(encoding))
    settings = RELAXED | ({} if most_bytes is None else {"max_read_bytes": most_bytes})
    parts: list[str] = []
    async with filetools.open(tmp_path, settings=settings) as files:
        tools = ToolRegistry(files.for_actor(Actor(kind="agent", id="bob")))
        given: dict[str, object] = {"path": "long.txt", "offset": 1}
        while True:
            seen = tools.show("read_file", await tools.call("read_file", given))
            footer = FOOTER.search(seen.text)
            assert footer is not None, seen.text[-300:]
            parts.append(seen.text[: footer.start() + (not footer[0].startswith("\n["))])
            found = NEXT.search(footer[0])
            if found is None:
                break
            given |= {"offset": int(found[1]), "column": int(found[2] or 1)}
    assert "".join(parts).replace("\r", "").replace("\n", "") == text.replace("\r", "").replace("\n", "")
    assert len(parts) > 2


async def test_a_match_in_a_long_line_has_its_columns(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(f"{'x' * 60_000}needle{'y' * 60_000}\n")
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        tools = ToolRegistry(files)
        told = tools.show("grep_files", await tools.call("grep_files", {"pattern": "needle"})).text
        column = re.search(r"\(column (\d+)\)", told)
        assert column is not None
        part = await files.read_file("long.txt", offset=1, column=int(column[1]), limit=1)
    assert part.content.startswith("needleyyy")
    assert (part.column, part.total_lines) == (60_001, 1)


@pytest.mark.parametrize(
    ("text", "encoding", "line", "column", "content"),
    [
        ("ab\ncd\n", "utf-8", 1, 3, "\ncd\n"),
        ("äöü\ncd", "utf-8", 1, 3, "ü\ncd"),
        ("ab\ncd", "utf-8", -1, 2, "d"),
        ("日本語\nab", "shift_jis", 1, 3, "語\nab"),
        ("日本語\nab", "utf-16-le", 1, 2, "本語\nab"),
        ("é" * 100_000 + "z\n", "utf-8", 1, 100_001, "z\n"),
    ],
)
def test_a_window_begins_at_a_column(text: str, encoding: str, line: int, column: int, content: str) -> None:
    source, form = memory_source(text.encode(encoding)), TextFormat(encoding=encoding, bom=b"")
    window = read_lines(source, form, offset=line, limit=None, max_chars=1_000, path="a", column=column)
    assert window.content == content


@pytest.mark.parametrize(
    ("text", "encoding", "line", "column", "length"),
    [
        ("ab\ncd\n", "utf-8", 1, 4, 2), ("ab\ncd", "utf-8", 2, 9, 2), ("é" * 100_000 + "\n", "utf-8", 1, 100_002, 100_000),
        ("日本語\nab", "shift_jis", 1, 5, 3),
    ],
)  # fmt: skip
def test_a_column_behind_its_line_is_refused(text: str, encoding: str, line: int, column: int, length: int) -> None:
    source, form = memory_source(text.encode(encoding)), TextFormat(encoding=encoding, bom=b"")
    with pytest.raises(InvalidArgumentError, match=f"^Line {line} has {length} characters"):
        read_lines(source, form, offset=line, limit=None, max_chars=1_000, path="a", column=column)


async def test_columns_count_from_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        with pytest.raises(InvalidArgumentError, match="no column 0"):
            await files.read_file("a.txt", column=0)
