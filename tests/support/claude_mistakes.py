"""Mistakes that models make with Claude Code's tools, and how each is mended with nothing but what its error says."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from tests.support.mistakes import (
    Arguments,
    Mend,
    Mistake,
    a_person_allows,
    again,
    bob_holds_a_lock,
    bob_lets_go,
    with_found,
)

ARGUMENT: Final = "INVALID_ARGUMENT"


def _of(name: str, tool: str, wrong: Arguments, code: str, told: str, mend: Mend, **more: Any) -> Mistake:
    return Mistake(name=name, tool=tool, wrong=wrong, code=code, told=tuple(told.split(" | ")), mend=mend, **more)


def _edit(old: str, new: str = "pass", path: str = "src/app.py") -> Arguments:
    return {"file_path": path, "old_string": old, "new_string": new}


def _similar(tool: str, name: str = "file_path", **arguments: Any) -> Mend:
    return with_found(tool, name, r"Did you mean '([^']+)'\?", **arguments)


def _closest(told: str) -> tuple[str, Arguments]:
    """Mend an edit with the text that stands there."""
    [old] = re.findall(r"; closest [^\n]+:\n(.*?)\n\[EDIT_NOT_FOUND\]", told, re.DOTALL)
    return "Edit", _edit(old)


def _place(told: str) -> tuple[str, Arguments]:
    """Mend an edit of what is there twice: the second place, with the lines around it."""
    around = json.loads(re.findall(r"^around: (.+)$", told, re.MULTILINE)[-1])
    old = around[1]["text"]
    return "Edit", _edit(old, old.replace("one", "uno"))


def _named(tool: str, wrong: str, **arguments: Any) -> Mend:
    """Mended with the parameter that the error suggests."""

    def mend(told: str) -> tuple[str, Arguments]:
        [name] = re.findall(r"did you mean '([\w-]+)'", told)
        return tool, {name if key == wrong else key: value for key, value in arguments.items()}

    return mend


def _other_tool(arguments: Arguments) -> Mend:
    """Mended with the tool that the error suggests."""
    return lambda told: (re.findall(r"Did you mean (\w+)\?", told)[-1], arguments)


READ: Final = again("Read", file_path="src/app.py")

_READING: Final = [
    _of("no path", "Read", {}, ARGUMENT, "Missing parameter 'file_path'", READ),
    _of("misspelled parameter", "Read", {"file_pth": "notes.md"}, ARGUMENT, "did you mean 'file_path'",
        _named("Read", "file_pth", file_pth="notes.md")),
    _of("several files at once", "Read", {"file_path": ["src/app.py", "notes.md"]}, ARGUMENT,
        "'file_path' | expected a string, got an array of 2", READ),
    _of("wrong case", "Read", {"file_path": "src/App.py"}, "FILE_NOT_FOUND", "Did you mean 'src/app.py'", _similar("Read")),
    _of("without its folder", "Read", {"file_path": "app.py"}, "FILE_NOT_FOUND", "Did you mean 'src/app.py'",
        _similar("Read")),
    _of("nearly the name", "Read", {"file_path": "src/ap.py"}, "FILE_NOT_FOUND", "Did you mean 'src/app.py'",
        _similar("Read")),
    _of("absolute path of another machine", "Read", {"file_path": "/home/user/project/src/app.py"}, "ABSOLUTE_PATH",
        "Did you mean 'src/app.py'", _similar("Read")),
    _of("drive letter", "Read", {"file_path": "C:\\src\\app.py"}, "ABSOLUTE_PATH", "Did you mean 'src/app.py'",
        _similar("Read")),
    _of("address of a file", "Read", {"file_path": "file:///src/app.py"}, "FILE_NOT_FOUND", "Did you mean 'src/app.py'",
        _similar("Read")),
    _of("nothing like it", "Read", {"file_path": "zzz.qqq"}, "FILE_NOT_FOUND", "find the file with Glob",
        again("Glob", pattern="**/*.py")),
    _of("a folder", "Read", {"file_path": "src"}, "IS_A_DIRECTORY", "Use Glob", again("Glob", pattern="*", path="src")),
    _of("up and out", "Read", {"file_path": "../outside.md"}, "PATH_TRAVERSAL", "without '..'", READ),
    _of("a line from the end", "Read", {"file_path": "src/app.py", "offset": -2}, ARGUMENT,
        "'offset' | greater than or equal to 0", again("Read", file_path="src/app.py", offset=6)),
    _of("all lines", "Read", {"file_path": "src/app.py", "limit": "all"}, ARGUMENT, "'limit' | expected an integer", READ),
    _of("a symbolic link", "Read", {"file_path": "link.py"}, "SYMLINK_NOT_ALLOWED", "path of the real file",
        with_found("Read", "file_path", r"target: (\S+)")),
    _of("a pipe", "Read", {"file_path": "pipe"}, "NOT_A_REGULAR_FILE", "is a pipe", READ),
]  # fmt: skip

_WRITING: Final = [
    _of("replacing what was not read", "Write", {"file_path": "src/app.py", "content": "x\n"}, "VERSION_MISMATCH",
        "read the whole file first", again("Read", file_path="src/app.py")),
    _of("no content", "Write", {"file_path": "n.md"}, ARGUMENT, "Missing parameter 'content'",
        again("Write", file_path="n.md", content="")),
    _of("object as content", "Write", {"file_path": "n.json", "content": {"a": 1}}, ARGUMENT, "'content' | a string",
        again("Write", file_path="n.json", content='{"a": 1}')),
    _of("writing a folder", "Write", {"file_path": "src", "content": ""}, "IS_A_DIRECTORY", "Is a directory: src",
        again("Write", file_path="src/new.py", content="")),
    _of("path through a file", "Write", {"file_path": "notes.md/n.md", "content": ""}, "NOT_A_DIRECTORY", "notes.md",
        again("Write", file_path="n.md", content="")),
    _of("path outside", "Write", {"file_path": "/etc/filetools.conf", "content": ""}, "ABSOLUTE_PATH",
        "relative to the root", again("Write", file_path="filetools.conf", content="")),
    _of("out of reach", "Write", {"file_path": ".filetools/x", "content": ""}, "PERMISSION_DENIED", "out of reach",
        again("Write", file_path="x", content="")),
    _of("two paths", "Write", {"file_path": "a.md", "path": "b.md", "content": ""}, ARGUMENT, "given twice",
        again("Write", file_path="a.md", content="")),
]  # fmt: skip

_EDITING: Final = [
    _of("text of another file", "Edit", _edit("nowhere at all"), "EDIT_NOT_FOUND", "copy old_string from it", READ),
    _of("blanks for a tab", "Edit", _edit("    print('two')"), "EDIT_NOT_FOUND", "indentation", _closest),
    _of("other quotes", "Edit", _edit('print("two")'), "EDIT_NOT_FOUND", "quotes", _closest),
    _of("other case", "Edit", _edit("PRINT('two')"), "EDIT_NOT_FOUND", "case", _closest),
    _of("there twice: one of them", "Edit", _edit("print('one')"), "EDIT_AMBIGUOUS", "lines 2, 7", _place),
    _of("there twice: both", "Edit", _edit("print('one')"), "EDIT_AMBIGUOUS", "set replace_all",
        again("Edit", **_edit("print('one')"), replace_all=True)),
    _of("nothing changes", "Edit", _edit("print('two')", "print('two')"), ARGUMENT, "exactly the same",
        again("Edit", **_edit("print('two')"))),
    _of("no new text", "Edit", {"file_path": "src/app.py", "old_string": "print('two')"}, ARGUMENT,
        "Missing parameter 'new_string'", again("Edit", **_edit("print('two')"))),
    _of("nothing for a text", "Edit", _edit("", "# first\n"), "FILE_EXISTS", "as old_string",
        again("Edit", **_edit("def main():", "# first\ndef main():"))),
    _of("edits of MultiEdit", "Edit", {"file_path": "src/app.py", "edits": [
        {"old_string": "print('two')", "new_string": "pass"}]}, ARGUMENT,
        "Unknown parameter 'edits' | old_string, new_string | Missing parameter 'old_string'",
        again("Edit", **_edit("print('two')"))),
    _of("a file that is not there", "Edit", _edit("two", path="src/ap.py"), "FILE_NOT_FOUND", "Did you mean 'src/app.py'",
        _similar("Edit", **_edit("'two'", "'2'"))),
    _of("a picture", "Edit", _edit("a", path="logo.png"), ARGUMENT, "is binary | replaced as a whole",
        again("Read", file_path="logo.png")),
    _of("a character that the encoding lacks", "Edit", _edit("na\u00efve", "\u20ac", "latin.txt"), "ENCODING_ERROR",
        "U+20AC | Leave the character out", again("Edit", **_edit("na\u00efve", "EUR", "latin.txt"))),
    _of("protected", "Edit", _edit("core", path=".git/config"), "APPROVAL_REQUIRED", "Edit on .git/config | Ask the user",
        again("Edit", **_edit("core", path=".git/config")), between=a_person_allows),
    _of("a name outside", "Edit", _edit("outside", path="shared.md"), "HARD_LINKED", "Write to another path",
        again("Write", file_path="own.md", content="own\n")),
    _of("somebody works on it", "Edit", _edit("print('two')"), "LOCK_TIMEOUT", "Wait 5 seconds and retry",
        again("Edit", **_edit("print('two')")), before=bob_holds_a_lock, between=bob_lets_go,
        settings={"lock_timeout_seconds": 1.0}),
    _of("several things at once", "Edit", {"path": "src/app.py", "oldstring": "x", "replace_all": "perhaps"}, ARGUMENT,
        "'oldstring' | did you mean 'old_string' | 'replace_all' | Missing parameter 'new_string'",
        again("Edit", **_edit("print('two')"), replace_all=True)),
]  # fmt: skip

_FINDING: Final = [
    _of("no pattern", "Glob", {}, ARGUMENT, "Missing parameter 'pattern'", again("Glob", pattern="*.py")),
    _of("empty pattern", "Glob", {"pattern": ""}, ARGUMENT, "The pattern is empty", again("Glob", pattern="*.py")),
    _of("pattern that goes up", "Glob", {"pattern": "src/../*.md"}, ARGUMENT, "give the folder as path",
        again("Glob", pattern="*.md")),
    _of("a file for the folder", "Glob", {"pattern": "app.py", "path": "src/app.py"}, "NOT_A_DIRECTORY",
        "the folder that it is in", again("Glob", pattern="app.py", path="src")),
    _of("nearly the folder", "Glob", {"pattern": "*.py", "path": "scr"}, "DIR_NOT_FOUND", "Did you mean 'src'",
        _similar("Glob", "path", pattern="*.py")),
    _of("unknown choice", "Grep", {"pattern": "two", "output_mode": "lines"}, ARGUMENT,
        "'content', 'files_with_matches' or 'count'", again("Grep", pattern="two", output_mode="content")),
    _of("unknown type", "Grep", {"pattern": "two", "type": "pyton"}, ARGUMENT, "did you mean 'python'",
        with_found("Grep", "type", r"did you mean '(\w+)'", pattern="two")),
    _of("flags", "Grep", {"pattern": "TWO", "flags": "i"}, ARGUMENT, "Unknown parameter 'flags' | -i",
        again("Grep", pattern="TWO", **{"-i": True})),
    _of("a bracket too many, and no such text", "Grep", {"pattern": "nowhere("}, ARGUMENT, "backslash before a character",
        again("Grep", pattern="nowhere\\(")),
    _of("more than a line", "Grep", {"pattern": "one'\\)\\n"}, ARGUMENT, "multiline=true",
        again("Grep", pattern="one'\\)\\n", multiline=True)),
    _of("text for a number", "Grep", {"pattern": "two", "-A": "some"}, ARGUMENT, "'-A' | an integer",
        again("Grep", pattern="two", **{"-A": 2})),
    _of("a notebook that is none", "NotebookEdit", {"notebook_path": "src/app.py", "new_source": "x"}, ARGUMENT,
        "use Edit for other files", again("Edit", **_edit("print('two')"))),
    _of("our own name of a tool", "read_file", {"file_path": "src/app.py"}, "UNKNOWN_TOOL", "Did you mean Read",
        _other_tool({"file_path": "src/app.py"})),
    _of("LS", "LS", {"path": "."}, "UNKNOWN_TOOL", "Did you mean Glob", _other_tool({"pattern": "*"})),
    _of("MultiEdit", "MultiEdit", {"file_path": "src/app.py", "edits": []}, "UNKNOWN_TOOL", "Did you mean Edit",
        _other_tool(_edit("print('two')"))),
    _of("grep in small letters", "grep", {"pattern": "two"}, "UNKNOWN_TOOL", "Did you mean Grep",
        _other_tool({"pattern": "two"})),
]  # fmt: skip

CLAUDE_MISTAKES: Final = [*_READING, *_WRITING, *_EDITING, *_FINDING]
