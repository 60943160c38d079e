"""What callers are told to do next names nothing that they cannot do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

import filetools
from filetools.errors import PathExistsError, PathNotFoundError
from filetools.models.records import Actor
from filetools.tools.answers.offered import Names, Offered
from filetools.tools.dialects import DIALECTS, dialect_named
from filetools.tools.registry import FILE_TOOLS, OWN_NAMES, ToolRegistry, chosen
from tests.support.mistakes import MISTAKES, SETTINGS, plant
from tests.support.repaired import CLAUDE, DEFAULT
from tests.tools.dialects.test_claude_code import REFUSED

CORE: Final = chosen(FILE_TOOLS, ["core"])
READS: Final = [tool for tool in CORE if tool.effect == "read"]
# Names that are words of a sentence, too.
WORDS: Final = {"Read", "Write", "Edit", "exists"}
ALL: Final = (OWN_NAMES | {tool.name for dialect in DIALECTS for tool in dialect.tools}) - WORDS
SETS: Final = {
    "default": ("", [tool.name for tool in CORE]),
    "read-only": ("", [tool.name for tool in READS]),
    "two tools": ("", ["read_file", "edit_file"]),
    "claude-code": ("claude-code", []),
    "mcp-filesystem": ("mcp-filesystem", []),
    "apply-patch": ("apply-patch", []),
}


def registry(files: filetools.FileToolsFacade, dialect: str, names: list[str]) -> ToolRegistry:
    agent = files.for_actor(Actor(kind="agent", id="alice", session="s"))
    if not dialect:
        return ToolRegistry(agent, chosen(FILE_TOOLS, names))
    known = dialect_named(dialect)
    return known.registry(agent, tools=chosen(known.tools, names) if names else None)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("dialect", "names"), SETS.values(), ids=SETS)
async def test_no_answer_names_a_tool_that_is_not_offered(tmp_path: Path, dialect: str, names: list[str]) -> None:
    root = tmp_path / "project"
    root.mkdir()
    plant(root)
    mistakes = [*((each.tool, each.wrong) for each in MISTAKES), *((tool, given) for tool, given, *_ in REFUSED)]
    mistakes += [(each.tool, dict(each.arguments)) for each in (*DEFAULT, *CLAUDE)]
    told_of: list[str] = []
    async with filetools.open(root, settings={**SETTINGS, "lock_timeout_seconds": 1.0}) as files:
        tools = registry(files, dialect, names)
        for tool, arguments in mistakes:
            seen = tools.show(tool, await tools.call(tool, arguments))
            said = "\n".join((seen.text, *seen.notes)).replace(f"Unknown tool: {tool}", "")
            told = {name for name in ALL if re.search(rf"(?<![\w./'\"-]){name}(?![\w/'\"=-])", said)}
            told_of += [f"{tool} {arguments}: {name}: {said[:300]}" for name in told - set(tools.names())]
    assert told_of == []


def offered(*names: str, called: dict[str, str] | None = None) -> Offered:
    dialect = dialect_named("claude-code")
    tools = {tool.name: tool for tool in (*FILE_TOOLS, *dialect.tools) if tool.name in names}
    return Offered(tools, OWN_NAMES, Names(all=frozenset({"Glob", "Grep"}), called=called or {}))


@pytest.mark.parametrize(
    ("names", "hint", "told"),
    [
        (("list_files", "search_files"), "Check the path with list_files or search_files.", None),
        (("search_files",), "Check the path with list_files or search_files.", "Check the path with search_files."),
        (("read_file",), "Check the path with list_files or search_files.", "Check the path."),
        (("read_file",), "Choose another path. Use write_file to replace the file.", "Choose another path."),
        (
            ("read_file",),
            "Did you mean 'src/list_files.py'? Else list_files shows it.",
            "Did you mean 'src/list_files.py'?",
        ),
        (("write_file",), "Leave expected_version out to create it, or check the path.", None),
        (("grep_files",), "Correct the pattern. To search for the exact text, pass literal=true.", None),
        (("read_file",), "Correct it. Or pass literal=true.", "Correct it."),
    ],
)
def test_a_hint_keeps_what_can_be_done(names: tuple[str, ...], hint: str, told: str | None) -> None:
    assert offered(*names).adapted(hint) == (hint if told is None else told)


def test_tools_are_named_as_the_dialect_names_them() -> None:
    called = {"list_files": "Glob", "search_files": "Glob", "write_file": "Write"}
    claude = offered("Glob", "Write", called=called)
    assert claude.adapted("Check the path with list_files or search_files.") == "Check the path with Glob."
    assert claude.equivalent("write_file") == "Write"
    assert claude.equivalent("LS") == "Glob"
    assert claude.equivalent("Read") is None
    error = PathExistsError("a")
    claude.rephrase(error, "Write")
    assert error.suggested_action == "Choose another path, or use Write to replace the file."


def test_a_hint_of_which_nothing_is_left_still_says_something() -> None:
    error = PathNotFoundError("a")
    error.suggested_action = "Use list_files."
    offered("read_file").rephrase(error, "read_file")
    assert error.suggested_action == "Check the path."
    assert offered("read_file").adapted("Use list_files.") == ""
