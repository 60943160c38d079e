"""A mistake, what its refusal says, and the call that follows from that, which succeeds; `test_mistakes.py` has more."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.tools.dialects import dialect_named
from filetools.tools.registry import FILE_TOOLS
from tests.support.crashing import QUIET
from tests.support.dialects import Session

CODE = "def one():\n\treturn 1\n\n\ndef two():\n\treturn 1\n"
EDITOR = "str_replace_based_edit_tool"
Repair = Callable[[dict[str, Any], dict[str, Any], str], dict[str, Any]]
"""Gets the arguments, the envelope, and the text that the model reads; returns the arguments of the next call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One mistake and its repair."""

    dialect: str
    tool: str
    arguments: dict[str, Any]
    code: str
    repair: Repair


def nearest(arguments: dict[str, Any], envelope: dict[str, Any], text: str) -> dict[str, Any]:
    """Take the name that the refusal proposes for the one parameter that is unknown."""
    known = envelope["details"]["parameters"]
    return {(name if name in known else envelope["details"]["nearest"]): value for name, value in arguments.items()}


def with_closest(name: str) -> Repair:
    """Copy the closest text from the refusal."""
    return lambda given, envelope, _: given | {name: envelope["details"]["closest"]["text"]}


def but(**changes: Any) -> Repair:
    """Change what the hint says."""
    return lambda given, _envelope, _text: given | changes


def patched(given: dict[str, Any], envelope: dict[str, Any], _text: str) -> dict[str, Any]:
    """Copy the closest lines from the refusal into the diff."""
    old = "".join(f"-{line}\n" for line in envelope["details"]["closest"]["text"].splitlines())
    return {"operation": given["operation"] | {"diff": f"@@\n{old}+def zero():\n"}}


MISTAKES = [
    Mistake(
        dialect="text-editor",
        tool=EDITOR,
        arguments={"command": "view", "path": "/repo/src/a.txt"},
        code="FILE_NOT_FOUND",
        repair=lambda given, envelope, _: given | {"path": envelope["details"]["similar"][0]},
    ),
    Mistake(dialect="claude-code", tool="Glob", arguments={"patern": "*.py"}, code="INVALID_ARGUMENT", repair=nearest),
    Mistake(
        dialect="text-editor",
        tool=EDITOR,
        code="EDIT_NOT_FOUND",
        repair=with_closest("old_str"),
        arguments={"command": "str_replace", "path": "app.py", "old_str": "def one()\n    return 1", "new_str": "x"},
    ),
    Mistake(
        dialect="memory",
        tool="memory",
        code="INVALID_PATH",
        repair=but(path="/memories/notes.md"),
        arguments={"command": "create", "path": "notes.md", "file_text": "x"},
    ),
    Mistake(
        dialect="apply-patch",
        tool="apply_patch",
        code="EDIT_NOT_FOUND",
        repair=patched,
        arguments={"operation": {"type": "update_file", "path": "app.py", "diff": "@@\n-def one()\n+def zero():\n"}},
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: f"{each.tool}-{each.code}")
async def test_a_mistake_is_repaired_in_one_step(tmp_path: Path, mistake: Mistake) -> None:
    (tmp_path / "app.py").write_text(CODE)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.txt").write_text("a")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        session = Session(files, dialect_named(mistake.dialect))
        envelope = await session.envelope(mistake.tool, mistake.arguments)
        assert envelope.get("error_code") == mistake.code, envelope
        assert (tmp_path / "app.py").read_text() == CODE
        shown = session.tools.show(mistake.tool, envelope).text
        await session.says(mistake.tool, **mistake.repair(mistake.arguments, envelope, shown))


HINTS: list[tuple[str, str, dict[str, Any]]] = [
    ("text-editor", EDITOR, {"command": "view", "path": "no"}),
    ("text-editor", EDITOR, {"command": "str_replace", "path": "logo.png", "old_str": "a"}),
    ("text-editor", EDITOR, {"command": "str_replace", "path": "app.py", "old_str": ""}),
    ("text-editor", EDITOR, {"command": "insert", "path": "logo.png", "insert_line": 1, "insert_text": "x"}),
    ("memory", "memory", {"command": "delete", "path": "/memories/no"}),
    ("apply-patch", "apply_patch", {"operation": {"type": "delete_file", "path": "src"}}),
    ("apply-patch", "apply_patch", {"operation": {"type": "update_file", "path": "logo.png", "diff": "@@\n-a\n+b\n"}}),
]


@pytest.mark.parametrize(("dialect", "tool", "arguments"), HINTS, ids=lambda value: str(value)[:60])
async def test_no_refusal_speaks_of_tools_that_the_model_has_not(
    tmp_path: Path, dialect: str, tool: str, arguments: dict[str, Any]
) -> None:
    (tmp_path / "app.py").write_text(CODE)
    (tmp_path / "src").mkdir()
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        session = Session(files, dialect_named(dialect))
        envelope = await session.envelope(tool, arguments)
        assert not envelope["success"]
        assert envelope["error_code"] != "INTERNAL"
        assert OTHERS.findall(session.tools.show(tool, envelope).text) == []


OTHERS = re.compile(
    rf"\b(?:{'|'.join(tool.name for tool in FILE_TOOLS if tool.name not in ('apply_patch', 'exists'))})\b"
)
