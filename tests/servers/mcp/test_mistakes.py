"""Mistakes that models make: the call, what the error must tell, and the call mended with nothing but that."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_clients import failure, opened_door, text

Arguments = dict[str, Any]
Mend = Callable[[str], Arguments]
APP = "def main():\n\tprint('one')\n\tprint('two')\n\n\ndef other():\n\tprint('one')\n"


def just(**arguments: Any) -> Mend:
    """Mended as the text of the error says, without anything to copy from it."""
    return lambda _: arguments


def with_version(**arguments: Any) -> Mend:
    """Mended with the version that the error names."""
    return lambda told: {**arguments, "expected_version": re.findall(r"sha256:[0-9a-f]{64}", told)[-1]}


MISTAKES: list[tuple[str, Arguments, list[str], Mend]] = [
    ("read_file", {"path": "src/ap.py"}, ["FILE_NOT_FOUND", "list_files"], just(path="src/app.py")),
    ("read_file", {"path": "src"}, ["IS_A_DIRECTORY", "list_files"], just(path="src/app.py")),
    ("read_file", {"pth": "src/app.py"}, ["Unknown parameter 'pth'", "did you mean 'path'"], just(path="src/app.py")),
    ("read_file", {"path": "src/app.py", "offset": "2"}, ["'offset'", "an integer", "'2'"],
     just(path="src/app.py", offset=2)),
    ("read_file", {"path": "src/app.py", "limit": 0}, ["'limit'", "greater than or equal to 1"],
     just(path="src/app.py", limit=1)),
    ("read_file", {}, ["Missing parameter 'path'"], just(path="src/app.py")),
    ("read_file", {"path": "../secret"}, ["PATH_TRAVERSAL", "relative to the workspace root"],
     just(path="src/app.py")),
    ("read_file", {"path": "C:\\app.py"}, ["ABSOLUTE_PATH", "relative"], just(path="src/app.py")),
    ("read_file", {"path": ""}, ["INVALID_PATH"], just(path="src/app.py")),
    ("read_file", {"path": "a", "file_path": "b"}, ["given twice", "'path'", "'file_path'"], just(path="src/app.py")),
    ("read_file", {"path": "src/app.py", "version": "abc"}, ["version"], just(path="src/app.py")),
    ("write_file", {"path": "src/app.py", "content": "x\n"},
     ["VERSION_MISMATCH", "expected_version", "current_version"],
     with_version(path="src/app.py", content="x\n")),
    ("write_file", {"path": "src/app.py", "content": "x\n", "expected_version": "0" * 64},
     ["VERSION_MISMATCH", "current_version"],
     with_version(path="src/app.py", content="x\n")),
    ("write_file", {"path": "new.txt", "text": "x"}, ["Unknown parameter 'text'"], just(path="new.txt", content="x")),
    ("write_file", {"path": "new.txt", "content": {"a": 1}}, ["'content'", "a string", "an object"],
     just(path="new.txt", content="{}")),
    ("write_file", {"path": "src", "content": ""}, ["IS_A_DIRECTORY"], just(path="src/new.py", content="")),
    ("edit_file", {"path": "src/app.py", "old_string": "    print('two')", "new_string": "\tprint(2)"},
     ["EDIT_NOT_FOUND", "print('two')"], just(path="src/app.py", old_string="\tprint('two')", new_string="\tprint(2)")),
    ("edit_file", {"path": "src/app.py", "old_string": "print('one')", "new_string": "print(1)"},
     ["EDIT_AMBIGUOUS", "2", "7"], just(path="src/app.py", old_string="print('one')", new_string="print(1)", replace_all=True)),
    ("edit_file", {"path": "src/app.py", "old_string": "print('two')"}, ["old_string and new_string"],
     just(path="src/app.py", old_string="print('two')", new_string="pass")),
    ("edit_file", {"path": "src/app.py", "old_string": "a", "new_string": "b", "edits": []}, ["not both"],
     just(path="src/app.py", edits=[{"old_string": "print('two')", "new_string": "pass"}])),
    ("edit_file", {"path": "src/app.py", "edits": [{"old": "print('two')", "new_string": "pass"}]},
     ["'edits[0].old'", "old_string"],
     just(path="src/app.py", edits=[{"old_string": "print('two')", "new_string": "pass"}])),
    ("edit_file", {"path": "none.py", "old_string": "a", "new_string": "b"}, ["FILE_NOT_FOUND"],
     just(path="src/app.py", old_string="print('two')", new_string="pass")),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: src/app.py\n@@\n-print(3)\n+print(4)\n*** End Patch\n"},
     ["EDIT_NOT_FOUND", "src/app.py"],
     just(patch="*** Begin Patch\n*** Update File: src/app.py\n@@\n-\tprint('two')\n+\tprint(2)\n*** End Patch\n")),
    ("apply_patch", {"patch": "print(2)"}, ["INVALID_ARGUMENT", "Begin Patch"],
     just(patch="*** Begin Patch\n*** Add File: b.txt\n+b\n*** End Patch\n")),
    ("move_file", {"source": "src/app.py", "destination": "notes.md"}, ["FILE_EXISTS", "overwrite"],
     just(source="src/app.py", destination="src/main.py")),
    ("move_file", {"path": "src/app.py", "destination": "b.py"}, ["Unknown parameter 'path'", "source"],
     just(source="src/app.py", destination="b.py")),
    ("delete_file", {"path": "src"}, ["IS_A_DIRECTORY", "recursive=true"], just(path="src", recursive=True)),
    ("list_files", {"path": "nope"}, ["DIR_NOT_FOUND"], just(path="src")),
    ("list_files", {"path": "notes.md"}, ["NOT_A_DIRECTORY"], just(path="")),
    ("list_files", {"cursor": "2"}, ["INVALID_ARGUMENT", "leave it out"], just()),
    ("list_files", {"limit": 5000}, ["'limit'", "less than or equal to 1000"], just(limit=1000)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wrong", "told", "mend"), MISTAKES, ids=[f"{number}-{each[0]}" for number, each in enumerate(MISTAKES)]
)
async def test_a_mistake_is_mended_with_what_the_error_says(
    root: Path, name: str, wrong: Arguments, told: list[str], mend: Mend
) -> None:
    (root / "src" / "app.py").write_text(APP)
    async with opened_door(root) as (client, _):
        error = await failure(client, name, **wrong)
        assert [part for part in told if part not in error] == [], error
        assert str(root) not in error
        assert (root / "src" / "app.py").read_text() == APP
        await text(client, name, **mend(error))


def test_there_are_enough_of_them() -> None:
    assert len(MISTAKES) >= 20
