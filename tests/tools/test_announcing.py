"""An agent is told once of the instruction files of the folders that it looks into; later calls there cost nothing more."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.permissions.policy import Level, Rule
from filetools.tools.dialects import CLAUDE_CODE, MCP_FILESYSTEM
from filetools.tools.handlers import announcing
from filetools.tools.registry import ToolRegistry
from tests.support import inside

BOB = Actor(kind="agent", id="bob", session="s")
FILES = {
    "AGENTS.md": "root", "a.txt": "a", "docs/AGENTS.md": "docs", "docs/a.txt": "a", "docs/b.txt": "b",
    "docs/deep/.claude/CLAUDE.md": "deep", "docs/deep/a.txt": "a", "plain/a.txt": "a", "plain/b.txt": "b",
}  # fmt: skip
DOCS, DEEP = "docs/AGENTS.md", "docs/deep/.claude/CLAUDE.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    for name, content in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content)
    return place


@asynccontextmanager
async def opened(root: Path, **settings: Any) -> AsyncIterator[FileToolsFacade]:
    async with filetools.open(root, settings={"durability": "relaxed", "watch": False, **settings}) as files:
        yield files


async def told(tools: ToolRegistry, name: str, **arguments: Any) -> list[str]:
    envelope = await tools.call(name, arguments)
    assert envelope["success"], envelope
    found: list[str] = envelope.get("instructions", [])
    return found


async def test_nobody_is_told_where_the_setting_is_off(root: Path) -> None:
    async with opened(root, announce_instructions=False) as files:
        assert await told(ToolRegistry(files.for_actor(BOB)), "read_file", path="docs/a.txt") == []


async def test_calls_that_fail_change_or_stay_at_the_root_tell_nothing_and_use_nothing_up(root: Path) -> None:
    async with opened(root) as files:
        tools = ToolRegistry(files.for_actor(BOB))
        assert "instructions" not in await tools.call("read_file", {"path": "docs/gone.txt"})
        assert "instructions" not in await tools.call("read_file", {"path": "docs/../docs/a.txt"})
        assert await told(tools, "write_file", path="docs/new.txt", content="x") == []
        assert await told(tools, "exists", path="docs/a.txt") == []
        for arguments in ({}, {"path": "."}, {"path": "/"}, {"path": "", "recursive": True}):
            assert await told(tools, "list_files", **arguments) == []
        assert await told(tools, "read_file", path="a.txt") == []
        assert await told(tools, "read_file", path="docs/a.txt") == [DOCS]


@pytest.mark.parametrize("level", ["block", "prompt"])
async def test_what_a_rule_keeps_back_is_not_told_and_nobody_is_asked(root: Path, level: Level) -> None:
    async with opened(root) as files:
        inside.parts(files).gatekeeper.policy.use("allow", [Rule(tool="read_file", path="docs/AGENTS.md", level=level)])
        tools = ToolRegistry(files.for_actor(BOB))
        assert await told(tools, "read_file", path="docs/deep/a.txt") == [DEEP]
        assert await files.approvals() == ()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "docs/a.txt"}),
        ("read_multiple", {"paths": ["a.txt", "docs/a.txt", "docs/b.txt"]}),
        ("file_info", {"path": "docs/a.txt"}),
        ("list_files", {"path": "docs"}),
        ("search_files", {"path": "docs", "pattern": "a"}),
        ("grep_files", {"path": "docs/a.txt", "pattern": "a"}),
    ],
)
async def test_a_nested_file_is_told_once_at_the_first_look_below_its_folder(
    root: Path, name: str, arguments: dict[str, Any]
) -> None:
    async with opened(root) as files:
        tools = ToolRegistry(files.for_actor(BOB))
        assert await told(tools, name, **arguments) == [DOCS]
        assert await told(tools, name, **arguments) == []
        assert await told(tools, "read_file", path="docs/b.txt") == []
        assert await told(tools, "list_files", path="docs/deep") == [DEEP]


async def test_a_file_does_not_tell_of_itself(root: Path) -> None:
    (root / "docs/CLAUDE.md").write_text("other")
    (root / "plain/AGENTS.md").write_text("plain")
    (root / ".claude").mkdir()
    (root / ".claude/CLAUDE.md").write_text("of the root")
    async with opened(root) as files:
        tools = ToolRegistry(files.for_actor(BOB))
        assert await told(tools, "read_file", path="plain/AGENTS.md") == []
        assert await told(tools, "read_file", path=DOCS) == ["docs/CLAUDE.md"]
        assert await told(tools, "read_file", path=DEEP) == []
        assert await told(tools, "list_files", path=".claude") == []


async def test_links_are_told_by_what_they_lead_to_and_only_below_the_root(root: Path) -> None:
    (root.parent / "outside.md").write_text("secret")
    (root / "plain/AGENTS.md").symlink_to("../docs/AGENTS.md")
    (root / "plain/CLAUDE.md").symlink_to("../AGENTS.md")
    (root / "plain/CLAUDE.local.md").symlink_to("../../outside.md")
    os.mkfifo(root / "docs/CLAUDE.md")
    async with opened(root) as files:
        assert await told(ToolRegistry(files.for_actor(BOB)), "list_files", path="plain") == [DOCS]


async def test_calls_at_the_same_time_tell_once(root: Path) -> None:
    async with opened(root) as files:
        tools = ToolRegistry(files.for_actor(BOB))
        found = await asyncio.gather(*(told(tools, "read_file", path=f"docs/{name}.txt") for name in "ab" * 5))
        assert [each for each in found if each] == [[DOCS]]


async def test_folders_are_not_remembered_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "MOST_FOLDERS", 3)
    for name in "abcd":
        (tmp_path / name).mkdir()
        for file in ("x", "AGENTS.md"):
            (tmp_path / name / file).touch()
    async with opened(tmp_path) as files:
        tools = ToolRegistry(files.for_actor(BOB))
        for name in "abc" * 2:
            await tools.call("read_file", {"path": f"{name}/x"})
        assert await told(tools, "read_file", path="d/x") == ["d/AGENTS.md"]
        assert await told(tools, "read_file", path="c/x") == []
        assert await told(tools, "read_file", path="a/x") == ["a/AGENTS.md"]


async def test_what_stands_beside_the_text_is_all_that_differs(root: Path) -> None:
    path = str(root / "docs/a.txt")
    for dialect, name, arguments in (
        (CLAUDE_CODE, "Read", {"file_path": path}),
        (MCP_FILESYSTEM, "read_text_file", {"path": path}),
        (MCP_FILESYSTEM, "list_directory", {"path": str(root / "docs")}),
    ):
        async with opened(root) as files:
            tools = dialect.registry(files.for_actor(BOB))
            first, second = [tools.show(name, await tools.call(name, arguments)) for _ in range(2)]
        line = f"instructions: {root}/{DOCS} applies here; read it before you change files here"
        assert (first.text, first.structured, first.notes) == (second.text, second.structured, (line,))
        assert second.notes == ()


async def test_our_own_tools_say_it_in_a_line_below_the_text(root: Path) -> None:
    async with opened(root) as files:
        tools = ToolRegistry(files.for_actor(BOB))
        first, second = [
            tools.show("read_file", await tools.call("read_file", {"path": "docs/a.txt"})).text for _ in range(2)
        ]
    assert first == f"{second}\ninstructions: {DOCS} applies here; read it before you change files here"
