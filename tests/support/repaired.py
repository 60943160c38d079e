"""Mistakes that have one meaning: the call is made, and its answer says what was taken for what.

For the default set and for the dialect of Claude Code, on the tree of `tests/support/mistakes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support.mistakes import APP

_PATCH: Final = "*** Begin Patch\n*** Update File: src/app.py\n{}*** End Patch\n"
_HUNK: Final = "@@\n-\tprint('two')\n+\tpass\n"
DONE: Final = APP.replace("print('two')", "pass")


@dataclass(frozen=True, kw_only=True)
class Repaired:
    """One call that is wrong, what its answer says, and what it leaves in a file."""

    name: str
    tool: str
    arguments: Mapping[str, Any]
    told: str = "REPAIRED"
    """Part of what the model reads."""
    finds: str = ""
    """What a search finds."""
    path: str = "src/app.py"
    leaves: str | None = None
    """The file's text; None for the one before."""


def _of(name: str, tool: str, arguments: Mapping[str, Any], leaves: str | None = None, **more: Any) -> Repaired:
    return Repaired(name=name, tool=tool, arguments=arguments, leaves=leaves, **more)


def _edits(tool: str, path: str) -> list[Repaired]:
    """Return the mistakes in old texts, which are the same for every tool that edits."""
    here = {path: "src/app.py"}
    two, done = "print('two')", "pass"
    return [
        _of("blank that is there", tool, {path: "win.txt", "old_string": "b\nc\n", "new_string": "b\nd\n"}, "a\nb\nd\n",
            path="win.txt"),
        _of("other names of texts", tool, here | {"oldText": two, "newText": done}, DONE, told="'old"),
        _of("boolean as text", tool, here | {"old_string": two, "new_string": done, "replace_all": "true"}, DONE),
    ]  # fmt: skip


DEFAULT: Final = [
    *_edits("edit_file", "path"),
    _of("number as text", "read_file", {"path": "src/app.py", "offset": "2"}),
    _of("target_file", "read_file", {"target_file": "src/app.py"}),
    _of("files_with_matches", "grep_files", {"pattern": "two", "output_mode": "files_with_matches"}),
    _of("arguments in arguments", "read_file", {"arguments": {"path": "src/app.py"}}),
    _of("name for a pattern", "search_files", {"name": "app.py"}, finds="src/app.py"),
    _of("empty version", "write_file", {"path": "n.md", "content": "x\n", "expected_version": ""}, "x\n", path="n.md"),
    _of("fileContent", "write_file", {"path": "n.md", "fileContent": "x\n"}, "x\n", path="n.md"),
    _of("from and to", "move_file", {"from": "notes.md", "to": "n.md"}, "notes\n", path="n.md"),
    _of("edits as JSON text", "edit_file", {
        "path": "src/app.py", "edits": '[{"old_string": "print(\'two\')", "new_string": "pass"}]'}, DONE),
    _of("wrong name inside a list", "edit_file", {
        "path": "src/app.py", "edits": [{"old": "print('two')", "new_string": "pass"}]}, DONE),
    _of("wrong counts of a hunk", "apply_patch", {
        "patch": "--- a/src/app.py\n+++ b/src/app.py\n@@ -3,7 +3,9 @@\n-\tprint('two')\n+\tpass\n"}, DONE),
    _of("unified header in a Codex patch", "apply_patch", {
        "patch": _PATCH.format("@@ -3,1 +3,1 @@\n-\tprint('two')\n+\tpass\n")}, DONE),
    _of("heredoc", "apply_patch", {
        "patch": f"apply_patch <<'EOF'\n{_PATCH.format(_HUNK)}EOF\n"},
        DONE, told="extracted from a heredoc"),
    _of("code fence", "apply_patch", {"patch": f"```diff\n{_PATCH.format(_HUNK)}```\n"},
        DONE, told="extracted from a code fence"),
    _of("blanks in a hunk", "apply_patch", {"patch":
        "*** Begin Patch\n*** Update File: win.txt\n@@\n b\n-c\n+d\n*** End Patch\n"}, "a\nb\nd\n", path="win.txt"),
]  # fmt: skip

CLAUDE: Final = [
    *_edits("Edit", "file_path"),
    _of("path for file_path", "Read", {"path": "src/app.py"}),
    _of("wrong case", "Grep", {"pattern": "TWO"}, told="hint: matching is case-sensitive; -i=true ignores case"),
]
