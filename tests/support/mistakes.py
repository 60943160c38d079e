"""Mistakes that models make with the native tools, and how each is mended with nothing but what its error says.

One table for every door. What a mistake tells is the text that a model reads; the mended call is made from that text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.tools.registry import ToolRegistry
from tests.support import inside

Arguments = dict[str, Any]
Act = Callable[[FileToolsFacade, Path], Awaitable[None]]
Mend = Callable[[str], tuple[str, Arguments]]

APP: Final = "def main():\n\tprint('one')\n\tprint('two')\n\n\ndef other():\n\tprint('one')\n"
CURLY: Final = "She said \u201chello\u201d \u2013 it\u2019s fine.\n"
NO_VERSION: Final = "0" * 64
LARGE: Final = "line\n" * 30_000
SETTINGS: Final[Mapping[str, Any]] = {
    "durability": "relaxed",
    "watch": False,
    "max_read_bytes": 100_000,
    "approval_wait_seconds": 0,
}
_PATCH: Final = "*** Begin Patch\n{}*** End Patch\n"


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One call that is wrong, what its error must say, and how to mend it."""

    name: str
    tool: str
    wrong: Arguments
    code: str
    told: tuple[str, ...]
    """Parts of what the model reads."""
    mend: Mend
    """Makes tool and arguments of the mended call from what the model read."""
    before: Act | None = None
    """What happened before the call."""
    between: Act | None = None
    """What has to happen before the mended call, as the error says."""
    settings: Mapping[str, Any] = field(default_factory=dict)


def plant(root: Path) -> None:
    """Make the tree that the mistakes are about; beside it stands a file with a second name in it."""
    files: dict[str, bytes] = {
        "src/app.py": APP.encode(),
        "notes.md": b"notes\n",
        "docs/curly.md": CURLY.encode(),
        "win.txt": b"a\r\nb\r\nc \r\n",
        "latin.txt": "caf\u00e9\nna\u00efve\n".encode("latin-1"),
        "logo.png": b"\x89PNG\r\n\x1a\n" + bytes(50),
        "large.txt": LARGE.encode(),
        ".git/config": b"[core]\n",
    }
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    (root / "link.py").symlink_to("src/app.py")
    (root / "outer").symlink_to(root.parent)
    (root.parent / "outside.md").write_text("outside\n")
    (root / "shared.md").hardlink_to(root.parent / "outside.md")
    os.mkfifo(root / "pipe")


def again(tool: str, **arguments: Any) -> Mend:
    """Mended as the error says in words, without anything to copy from it."""
    return lambda _: (tool, arguments)


def with_found(tool: str, name: str, pattern: str, /, **arguments: Any) -> Mend:
    """Mended with a part of the error: the last match of a pattern becomes an argument."""

    def mend(told: str) -> tuple[str, Arguments]:
        return tool, {**arguments, name: re.findall(pattern, told)[-1]}

    return mend


def with_version(tool: str, **arguments: Any) -> Mend:
    """Mended with the version that the error names."""
    return with_found(tool, "expected_version", r" at (sha256:[0-9a-f]{64})", **arguments)


def with_similar(tool: str, name: str = "path", **arguments: Any) -> Mend:
    """Mended with the path that the error suggests."""
    return with_found(tool, name, r"Did you mean '([^']+)'\?", **arguments)


def renamed(tool: str, wrong: str, **arguments: Any) -> Mend:
    """Mended by giving what was given under a wrong name under the one that the error suggests."""

    def mend(told: str) -> tuple[str, Arguments]:
        [name] = re.findall(r"did you mean '(\w+)'", told)
        return tool, {**{key: value for key, value in arguments.items() if key != wrong}, name: arguments[wrong]}

    return mend


def with_closest(**arguments: Any) -> Mend:
    """Mended with the text that stands there, as the error shows it."""

    def mend(told: str) -> tuple[str, Arguments]:
        return "edit_file", {**arguments, "old_string": _closest(told)}

    return mend


def patched_with_closest(told: str) -> tuple[str, Arguments]:
    """Mend a patch with the lines that stand there."""
    old = "".join(f"-{line}\n" for line in _closest(told).splitlines())
    return "apply_patch", {"patch": _PATCH.format(f"*** Update File: src/app.py\n@@\n{old}+\tprint(2)\n")}


def with_place(told: str) -> tuple[str, Arguments]:
    """Mend an edit of what is there twice: the second place, with the lines around it."""
    around = json.loads(re.findall(r"^around: (.+)$", told, re.MULTILINE)[-1])
    old = around[1]["text"]
    return "edit_file", {"path": "src/app.py", "old_string": old, "new_string": old.replace("one", "uno")}


def _closest(told: str) -> str:
    found: list[str] = re.findall(r"; closest [^\n]+:\n(.*?)\n(?:hint: |The old )", told, re.DOTALL)
    return f"{found[0]}\n"


async def bob_writes(files: FileToolsFacade, root: Path) -> None:
    """Let another agent make a file."""
    bob = files.for_actor(Actor(kind="agent", id="bob", session="t"))
    await ToolRegistry(bob).call("write_file", {"path": "bobs.txt", "content": "by bob\n"}, tool_call_id="bobs-call")


async def bob_holds_a_lock(files: FileToolsFacade, root: Path) -> None:
    """Let somebody else work on a file and not come to an end."""
    held = inside.at_work(files, "src/app.py", "bob")
    await held.__aenter__()
    _held.append(held)


async def bob_lets_go(files: FileToolsFacade, root: Path) -> None:
    """End the work of `bob_holds_a_lock`."""
    await _held.pop().__aexit__(None, None, None)


_held: list[Any] = []


async def a_person_allows(files: FileToolsFacade, root: Path) -> None:
    """Let a person allow whatever is asked."""
    person = files.for_actor(Actor(kind="editor", id="ann"))
    for request in await person.approvals():
        await person.answer_approval(request.id, "allow")


def _edit(old: str, new: str = "pass", path: str = "src/app.py") -> Arguments:
    return {"path": path, "old_string": old, "new_string": new}


def _of(name: str, tool: str, wrong: Arguments, code: str, told: str, mend: Mend, **more: Any) -> Mistake:
    return Mistake(name=name, tool=tool, wrong=wrong, code=code, told=tuple(told.split(" | ")), mend=mend, **more)


READ: Final = again("read_file", path="src/app.py")
ARGUMENT: Final = "INVALID_ARGUMENT"

NAMES_AND_TYPES: Final = [
    _of("misspelled parameter", "read_file", {"pth": "notes.md"}, ARGUMENT, "'pth' | did you mean 'path'",
        renamed("read_file", "pth", pth="notes.md")),
    _of("two names, two values", "read_file", {"path": "a", "file_path": "b"}, ARGUMENT,
        "given twice | 'path' | 'file_path'", READ),
    _of("limit too high", "list_files", {"limit": 5000}, ARGUMENT, "'limit' | at most 1000",
        lambda told: ("list_files", {"limit": int(re.findall(r"at most (\d+)", told)[-1])})),
    _of("unknown tool", "raed_file", {"path": "src/app.py"}, "UNKNOWN_TOOL", "Did you mean read_file",
        lambda told: (re.findall(r"Did you mean (\w+)\?", told)[-1], {"path": "src/app.py"})),
]  # fmt: skip

PATHS: Final = [
    _of("wrong case", "read_file", {"path": "src/App.py"}, "FILE_NOT_FOUND", "Did you mean 'src/app.py'",
        with_similar("read_file")),
    _of("nearly the name", "edit_file", _edit("print('two')", path="src/ap.py"), "FILE_NOT_FOUND", "'src/app.py'",
        with_similar("edit_file", **_edit("print('two')"))),
    _of("in backticks", "read_file", {"path": "`src/app.py`"}, "FILE_NOT_FOUND", "'src/app.py'", with_similar("read_file")),
    _of("escapes of an address", "read_file", {"path": "docs%2Fcurly.md"}, "FILE_NOT_FOUND", "'docs/curly.md'",
        with_similar("read_file")),
    _of("pattern for a path", "list_files", {"path": "src/*.py"}, "DIR_NOT_FOUND", "search_files",
        again("search_files", pattern="src/*.py")),
    _of("nearly the folder", "list_files", {"path": "scr"}, "DIR_NOT_FOUND", "Did you mean 'src'", with_similar("list_files")),
    _of("folder for a file", "read_file", {"path": "src"}, "IS_A_DIRECTORY", "list_files", again("list_files", path="src")),
    _of("file for a folder", "list_files", {"path": "notes.md"}, "NOT_A_DIRECTORY", "Use the file as the path",
        again("read_file", path="notes.md")),
    _of("up and out", "read_file", {"path": "../outside.md"}, "PATH_TRAVERSAL", "relative to the workspace root", READ),
    _of("drive letter", "read_file", {"path": "C:\\src\\app.py"}, "ABSOLUTE_PATH", "relative to the workspace root", READ),
    _of("absolute path of nowhere", "read_file", {"path": "/home/user/project/src/app.py"}, "ABSOLUTE_PATH",
        "Did you mean 'src/app.py'", with_found("read_file", "path", "Did you mean '(.+)'")),
    _of("symbolic link", "read_file", {"path": "link.py"}, "SYMLINK_NOT_ALLOWED", "Use the path of the real file",
        with_found("read_file", "path", r"points to '([^']+)'")),
    _of("pipe", "read_file", {"path": "pipe"}, "NOT_A_REGULAR_FILE", "is a pipe", READ),
    _of("out of reach", "write_file", {"path": ".filetools/x", "content": ""}, "PERMISSION_DENIED", "out of reach",
        again("write_file", path="x", content="")),
    _of("protected", "edit_file", _edit("core", path=".git/config"), "APPROVAL_REQUIRED",
        "Ask the user to approve this call, then repeat it unchanged", again("edit_file", **_edit("core", path=".git/config")),
        between=a_person_allows),
    _of("a root that may only be read", "write_file", {"path": "n.md", "content": ""}, "TOOL_BLOCKED", "write_file | blocked",
        again("read_file", path="notes.md"), settings={"permissions": "read_only"}),
]  # fmt: skip

READING: Final = [
    _of("too large", "read_file", {"path": "large.txt"}, "FILE_TOO_LARGE", "offset=1 and limit=2000",
        with_found("read_file", "path", r"too large: (\S+)", offset=1, limit=2000)),
    _of("line 0", "read_file", {"path": "src/app.py", "offset": 0}, ARGUMENT, "counts lines from 1",
        again("read_file", path="src/app.py", offset=1)),
    _of("lines of a picture", "read_file", {"path": "logo.png", "offset": 2}, ARGUMENT, "is binary | Leave out the lines",
        again("read_file", path="logo.png")),
    _of("a bracket too many", "grep_files", {"pattern": "nowhere("}, ARGUMENT, "character 9 | literal=true",
        again("grep_files", pattern="nowhere(", literal=True)),
    _of("more than a line", "grep_files", {"pattern": "one'\\)\\n"}, ARGUMENT, "multiline=true",
        again("grep_files", pattern="one'\\)\\n", multiline=True)),
]  # fmt: skip

WRITING: Final = [
    _of("replacing without a version", "write_file", {"path": "src/app.py", "content": "x\n"}, "VERSION_MISMATCH",
        "expected_version | it is at sha256:", with_version("write_file", path="src/app.py", content="x\n")),
    _of("version of a new file", "write_file", {"path": "n.md", "content": "x\n", "expected_version": NO_VERSION},
        "VERSION_MISMATCH", "does not exist | Leave expected_version out", again("write_file", path="n.md", content="x\n")),
    _of("character that the encoding lacks", "edit_file", _edit("na\u00efve", "5 \u20ac", "latin.txt"), "ENCODING_ERROR",
        "U+20AC | line 2 | Leave the character out", again("edit_file", **_edit("na\u00efve", "5 EUR", "latin.txt"))),
    _of("appending by write_file", "write_file", {"path": "notes.md", "content": "x\n", "append": True}, ARGUMENT,
        "'append' | append_file", again("append_file", path="notes.md", content="x\n")),
    _of("an edit that is made already", "edit_file", _edit("print('zwei')", "print('two')"), "EDIT_NOT_FOUND",
        "The new text is in the file already", READ),
    _of("spaces for tabs", "edit_file", _edit("    print('two')"), "EDIT_NOT_FOUND", "indentation | closest",
        with_closest(**_edit(""))),
    _of("line numbers", "edit_file", _edit("     3\t\tprint('two')"), "EDIT_NOT_FOUND", "line numbers | closest",
        with_closest(**_edit(""))),
    _of("several hunks and files that do not fit", "apply_patch", {"patch": _PATCH.format(
        "*** Update File: src/app.py\n@@\n-print('two!')\n+x\n@@\n-\tprint('one')\n+y\n"
        "*** Update File: note.md\n@@\n-x\n+y\n")}, "EDIT_NOT_FOUND",
        "hunk 1 | hunk 2 match 2 times | src/app.py | File not found: note.md", patched_with_closest),
    _of("text that is there twice: one of them", "edit_file", _edit("print('one')"), "EDIT_AMBIGUOUS", "lines 2, 7",
        with_place),
    _of("nothing for a text", "edit_file", _edit("", "# first\n"), ARGUMENT, "Give a line next to the place",
        again("edit_file", **_edit("def main():", "# first\ndef main():"))),
    _of("patch line without a mark", "apply_patch", {"patch": _PATCH.format("*** Update File: src/app.py\n@@\nprint('two')\n")},
        ARGUMENT, "line 4 | begins with a blank, '-' or '+'", again("apply_patch", patch=_PATCH.format(
            "*** Update File: src/app.py\n@@\n \tprint('two')\n+\tpass\n"))),
    _of("patch that adds what is there", "apply_patch", {"patch": _PATCH.format("*** Add File: notes.md\n+x\n")}, "FILE_EXISTS",
        "*** Update File:", again("apply_patch", patch=_PATCH.format("*** Update File: notes.md\n@@\n-notes\n+x\n"))),
    _of("move onto a file", "move_file", {"source": "win.txt", "destination": "notes.md"}, "FILE_EXISTS", "overwrite=true",
        again("move_file", source="win.txt", destination="notes.md", overwrite=True)),
    _of("folder that is not empty", "delete_file", {"path": "src"}, "IS_A_DIRECTORY", "recursive=true",
        again("delete_file", path="src", recursive=True)),
    _of("undoing what others did", "undo_changes", {"call_id": "bobs-call"}, ARGUMENT, "that you could undo | leave it out",
        again("undo_changes"), before=bob_writes),
    _of("a file that somebody works on", "edit_file", _edit("print('two')"), "LOCK_TIMEOUT", "Wait 5 seconds and retry",
        again("edit_file", **_edit("print('two')")), before=bob_holds_a_lock, between=bob_lets_go,
        settings={"lock_timeout_seconds": 1.0}),
]  # fmt: skip

MISTAKES: Final = [*NAMES_AND_TYPES, *PATHS, *READING, *WRITING]

Show = Callable[[str, Arguments], Awaitable[tuple[bool, str]]]
"""Calls a tool through a door; returns whether it succeeded, and what the model reads."""


def state_of(root: Path) -> dict[str, bytes]:
    """Return the content of every file that the mistakes are about."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink())
    return {
        name: path.read_bytes()
        for path in found
        if not (name := path.relative_to(root).as_posix()).startswith(".filetools")
    }


async def try_and_mend(mistake: Mistake, files: FileToolsFacade, root: Path, show: Show) -> None:
    """Make the mistake through a door, look at what it tells, and mend it with that."""
    async with _after(mistake.before, files, root):
        before = state_of(root)
        succeeded, told = await show(mistake.tool, mistake.wrong)
        assert not succeeded, told
        assert told.startswith(f"{mistake.code}: ") or f"\n[{mistake.code}]\n" in told, told
        assert [part for part in mistake.told if part not in told] == [], told
        assert str(root.parent) not in told or f"root: {root}" in told
        assert state_of(root) == before
        tool, arguments = mistake.mend(told)
        if mistake.between is not None:
            await mistake.between(files, root)
        succeeded, told = await show(tool, arguments)
        assert succeeded, told


@asynccontextmanager
async def _after(act: Act | None, files: FileToolsFacade, root: Path) -> AsyncIterator[None]:
    if act is not None:
        await act(files, root)
    try:
        yield
    finally:
        while _held:
            await _held.pop().__aexit__(None, None, None)
