"""What a caller is told to do next, in the names of the tools that it is offered; the one place that knows which those are.

Errors and hints name our own tools and parameters, as the library has them. A caller may have a few of them, or another
product's: names are put into its own, and what it cannot do is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from filetools.errors import FileToolsError
from filetools.tools.tool import AnyTool

_WORDS: Final = frozenset(("Read", "Write", "Edit", "exists"))
"""Names of tools that a sentence has as words, too; they are not taken for the tool."""
_PARAMETERS: Final = re.compile(r"\b(expected_version|byte_offset|byte_count)\b|(?<![\w-])(-?\w+)=(?:true|false|\d+)")
_SENTENCE: Final = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_ELSEWHERE: Final = {
    name: own
    for own, names in {
        "read_file": ("Read", "read", "view", "cat", "open_file", "read_text_file", "view_file", "get_file"),
        "write_file": ("Write", "write", "create_file", "save_file", "create", "overwrite_file"),
        "edit_file": (
            "Edit",
            "MultiEdit",
            "edit",
            "str_replace",
            "replace_in_file",
            "str_replace_editor",
            "update_file",
            "insert_lines",
            "insert",
            "append_file",
            "append",
        ),
        "apply_patch": ("apply_diff", "patch", "patch_file"),
        "create_directory": ("mkdir", "create_folder", "make_directory"),
        "copy_file": ("cp", "copy"),
        "file_info": ("stat", "get_file_info", "file_stat"),
        "read_multiple": ("read_files", "read_many_files", "read_multiple_files"),
        "exists": ("file_exists", "path_exists"),
        "list_files": ("LS", "ls", "list_directory", "list_dir", "directory_tree"),
        "search_files": ("Glob", "glob", "find", "find_files", "file_search", "glob_files"),
        "grep_files": ("Grep", "grep", "grep_search", "search", "search_content", "rg"),
        "move_file": ("mv", "rename_file", "rename"),
        "delete_file": ("rm", "remove_file", "delete"),
        "undo_changes": ("undo", "undo_edit"),
    }.items()
    for name in names
}
"""What our own tools are called by other products."""
_NOTHING: Final = "Correct what the message names, or continue without it."


class Names(Struct, frozen=True, kw_only=True):
    """How another product names what ours does."""

    all: frozenset[str] = frozenset()
    """Its tools, offered or not."""
    called: Mapping[str, str] = field(default_factory=dict)
    """Our own tools that it has by another name."""
    actions: Mapping[str, str] = field(default_factory=dict)
    """What it says to do next, by the code of an error."""
    suggests_paths: bool = False
    """Whether a path that leads nowhere is answered with those of the root that are like it."""


class Offered:
    """The tools of one registry, as hints have to name them; lives as long as the registry.

    Args:
        tools: What is offered; read at each use.
        own: Names of all of our own tools.
        names: Those of another product.
    """

    def __init__(self, tools: Mapping[str, AnyTool], own: frozenset[str], names: Names) -> None:
        self._tools = tools
        self._called = names.called
        self._actions = names.actions
        self.suggests_paths = names.suggests_paths
        known = (own | names.all) - _WORDS
        listed = "|".join(sorted(known, key=len, reverse=True))
        name = rf"(?<![\w./'\"=-])(?:{listed})(?![\w/'\"=-]|\.\w)"
        self._names = re.compile(rf"( with )?({name}(?:(?:, | or | and ){name})*)")

    def name_of(self, tool: str) -> str | None:
        """Return what a tool of our own is called here; None if it is not offered."""
        name = self._called.get(tool, tool)
        return name if name in self._tools else None

    def meant(self, name: str) -> str | None:
        """Return the offered tool that somebody means who calls one that is not; None if none does the same."""
        own = next((own for own, called in self._called.items() if called == name), None)
        return self.name_of(own or _ELSEWHERE.get(name, name))

    def rephrase(self, error: FileToolsError, asked: str) -> None:
        """Have an error name what there is.

        Args:
            error: What went wrong.
            asked: The tool that was called.
        """
        if isinstance(tool := error.details.get("tool"), str):
            name = self.name_of(tool) or asked
            error.message = error.message.replace(tool, name, 1)
            error.details["tool"] = name
        action = self._actions.get(error.code, error.suggested_action)
        if action is not None and "available" not in error.details:
            error.suggested_action = self.told(action) or self.told(error.action) or _NOTHING

    def rephrased(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a success, whose hints name what there is."""
        hints = data.get("hints")
        return data | {"hints": [said for each in hints if (said := self.told(each))]} if hints else data

    def told(self, text: str) -> str:
        """Return a hint without what it says of tools and parameters that are not offered; "" if nothing is left."""
        return " ".join(filter(None, map(self._sentence, _SENTENCE.split(text))))

    def _sentence(self, sentence: str) -> str:
        said = self._names.sub(self._renamed, sentence)
        return said if "\0" not in said and self._has_parameters(said) else ""

    def _renamed(self, found: re.Match[str]) -> str:
        """Return the names of a list that are offered; without any, a mark that takes the sentence away."""
        lead = found[1] or ""
        named = (self.name_of(each) for each in re.split(r", | or | and ", found[2]))
        offered = list(dict.fromkeys(name for name in named if name is not None))
        if not offered:
            return "" if lead else "\0"
        return lead + " or ".join(offered)

    def _has_parameters(self, sentence: str) -> bool:
        wanted = {found[1] or found[2] for found in _PARAMETERS.finditer(sentence)}
        return not wanted or wanted <= self._parameters()

    def _parameters(self) -> set[str]:
        fields = (tool.parameters.model_fields for tool in self._tools.values())
        return {field.alias or name for each in fields for name, field in each.items()}
