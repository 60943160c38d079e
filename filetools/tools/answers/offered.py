"""Rewrites hints so that they mention only the tools offered to the caller.

Errors and hints name our own tools and parameters. A caller may have only some of them, or another product's tools: names
are translated, and hints about unavailable tools are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from filetools.errors import FileToolsError
from filetools.tools.tool import AnyTool

_WORDS: Final = frozenset(("Read", "Write", "Edit", "exists"))
"""Tool names that are also ordinary words; in a sentence they do not refer to the tool."""
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
"""Other products' names for our own tools."""
_NOTHING: Final = "Correct what the message names, or continue without it."


class Names(Struct, frozen=True, kw_only=True):
    """Another product's names for our tools and actions."""

    all: frozenset[str] = frozenset()
    """All its tools, offered or not."""
    called: Mapping[str, str] = field(default_factory=dict)
    """Its names for our tools, by our names."""
    actions: Mapping[str, str] = field(default_factory=dict)
    """Its suggested actions, by error code."""
    suggests_paths: bool = False
    """True if errors about missing paths suggest similar paths of the root."""


class Offered:
    """The tools of one registry, for rewriting hints.

    Args:
        tools: The offered tools; read at each use.
        own: Names of all our own tools.
        names: Names of another product's tools.
    """

    def __init__(self, tools: Mapping[str, AnyTool], own: frozenset[str], names: Names) -> None:
        self._tools = tools
        self.names: Final = names
        known = (own | names.all) - _WORDS
        listed = "|".join(sorted(known, key=len, reverse=True))
        name = rf"(?<![\w./'\"=-])(?:{listed})(?![\w/'\"=-]|\.\w)"
        self._tool_names = re.compile(rf"( with )?({name}(?:(?:, | or | and ){name})*)")

    def name_of(self, tool: str) -> str | None:
        """Return the offered name of one of our own tools; None if it is not offered."""
        name = self.names.called.get(tool, tool)
        return name if name in self._tools else None

    def equivalent(self, name: str) -> str | None:
        """Return the offered equivalent of a tool that is not offered, or None."""
        own = next((own for own, called in self.names.called.items() if called == name), None)
        return self.name_of(own or _ELSEWHERE.get(name, name))

    def rephrase(self, error: FileToolsError, asked: str) -> None:
        """Rewrite an error so that it mentions only available tools.

        Args:
            error: The error; modified.
            asked: The tool that was called.
        """
        if isinstance(tool := error.details.get("tool"), str):
            name = self.name_of(tool) or asked
            error.message = error.message.replace(tool, name, 1)
            error.details["tool"] = name
        action = self.names.actions.get(error.code, error.suggested_action)
        if action is not None and "available" not in error.details:
            error.suggested_action = self.adapted(action) or self.adapted(error.action) or _NOTHING

    def rephrased(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a success, with hints that mention only available tools."""
        hints = data.get("hints")
        return data | {"hints": [left for each in hints if (left := self.adapted(each))]} if hints else data

    def adapted(self, text: str) -> str:
        """Return a hint without its sentences about tools and parameters that are not offered; "" if nothing is left."""
        return " ".join(filter(None, map(self._sentence, _SENTENCE.split(text))))

    def _sentence(self, sentence: str) -> str:
        renamed = self._tool_names.sub(self._renamed, sentence)
        wanted = {found[1] or found[2] for found in _PARAMETERS.finditer(renamed)}
        return renamed if "\0" not in renamed and wanted <= self._parameters() else ""

    def _renamed(self, found: re.Match[str]) -> str:
        """Return the offered names of a list. If there are none, return a mark that removes the sentence."""
        lead = found[1] or ""
        named = (self.name_of(each) for each in re.split(r", | or | and ", found[2]))
        offered = list(dict.fromkeys(name for name in named if name is not None))
        if not offered:
            return "" if lead else "\0"
        return lead + " or ".join(offered)

    def _parameters(self) -> set[str]:
        fields = (tool.parameters.model_fields for tool in self._tools.values())
        return {field.alias or name for each in fields for name, field in each.items()}
