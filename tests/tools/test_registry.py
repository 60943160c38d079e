from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

import pytest

from filetools.content.version import version_of
from filetools.errors import InvalidArgumentError
from filetools.events.types import Event
from filetools.facade.facade import FileToolsFacade
from filetools.models.result import camel_keys
from filetools.models.words import Preset
from filetools.paths.workspace_path import ROOT
from filetools.permissions.policy import PermissionPolicy
from filetools.tools.arguments import NoParameters
from filetools.tools.registry import FILE_TOOLS, ToolRegistry
from filetools.tools.tool import AnyTool, Tool, ToolContext
from tests.support.people import ALICE

ACTOR = ALICE
BEFORE = {"a.txt": b"one\ntwo\n", "docs/b.txt": b"b"}
OLD, NEW = "one\ntwo\n", "three\n"
VERSION = version_of(OLD.encode())


async def texts(files: FileToolsFacade) -> dict[str, str]:
    """Return the text of each file."""
    found = (await files.list_files("", recursive=True)).entries
    return {each.path: (await files.read_file(each.path)).content for each in found if each.type == "file"}


@pytest.mark.parametrize("name", ["", "x" * 1_000_000, "\ud800", 7, None])
async def test_a_tool_name_may_be_anything(files: FileToolsFacade, name: Any) -> None:
    envelope = await ToolRegistry(files).call(name, {})
    assert envelope["error_code"] == "UNKNOWN_TOOL"
    assert len(envelope["error"]) < 200


@pytest.mark.parametrize("arguments", [None, [], "text", 7, {"path": 1}, {"pth": "a.txt"}, {1: 2}])
async def test_bad_arguments_fail_before_the_handler(
    files: FileToolsFacade, events: list[Event], arguments: Any
) -> None:
    envelope = await ToolRegistry(files).call("read_file", arguments)
    assert envelope["error_code"] == "INVALID_ARGUMENT"
    assert [event.name for event in events] == ["agent:tool:failed"]

    assert set(camel_keys(envelope)) == {
        "success", "error", "errorCode", "retryable", "suggestedAction", "details", "attempts"
    }  # fmt: skip


async def test_two_tools_of_one_name_are_refused(files: FileToolsFacade) -> None:
    with pytest.raises(InvalidArgumentError):
        ToolRegistry(files, [FILE_TOOLS[0], FILE_TOOLS[0]])


async def test_unknown_names_and_groups_are_not_selected_in_silence(files: FileToolsFacade) -> None:
    registry = ToolRegistry(files)
    with pytest.raises(InvalidArgumentError, match="no tool or group named 'zzz'; known are append_file, apply_patch"):
        registry.definitions(["read_file", "zzz"])


async def test_names_and_groups_select_definitions(files: FileToolsFacade) -> None:
    registry = ToolRegistry(files)
    assert [each["name"] for each in registry.definitions()] == registry.names()
    chosen = registry.definitions(["exists", "core"])
    assert [each["name"] for each in chosen] == [
        "read_file", "list_files", "file_info", "exists", "search_files", "grep_files", "watch_changes",
        "write_file",
        "edit_file", "apply_patch", "move_file",
        "delete_file", "undo_changes",
    ]  # fmt: skip
    assert registry.definitions([]) == []
    assert all(set(each) == {"name", "description", "input_schema"} for each in chosen)


@pytest.mark.parametrize("tool", FILE_TOOLS, ids=lambda tool: tool.name)
def test_asking_allows_the_tools_that_read(tool: AnyTool) -> None:
    decision = PermissionPolicy("ask").check(tool.name, ROOT, actor=ALICE, change=tool.effect != "read")
    assert decision == ("auto" if tool.effect == "read" else "prompt")


@pytest.mark.parametrize("tool", FILE_TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("preset", get_args(Preset))
def test_tools_that_delete_are_those_that_guarded_blocks(tool: AnyTool, preset: Preset) -> None:
    decision = PermissionPolicy(preset).check(tool.name, ROOT, actor=ALICE, change=tool.effect != "read")
    blocked = (preset == "guarded" and tool.effect == "delete") or (preset == "read_only" and tool.effect != "read")
    assert (decision == "block") is blocked


@pytest.mark.parametrize(
    ("name", "arguments", "data"),
    [
        ("read_file", {"path": "a.txt", "offset": 2, "limit": 1}, {"content": "two\n", "version": VERSION}),
        ("write_file", {"path": "a.txt", "content": NEW, "expected_version": VERSION}, {"replaced_version": VERSION}),
        ("append_file", {"path": "a.txt", "content": "x"}, {"version": version_of(f"{OLD}x".encode())}),
        ("list_files", {}, {"path": "", "truncated": False}),
        ("search_files", {"pattern": "*.txt"}, {"total": 2, "total_is_complete": True}),
        ("grep_files", {"query": "tw."}, {"output_mode": "content", "total": 1, "total_is_complete": True}),
        ("create_file", {"path": "c.txt", "content": ""}, {"bytes_written": 0, "created": True}),
        ("create_directory", {"path": "x/y"}, {"path": "x/y", "created": True}),
        ("exists", {"path": "a.txt"}, {"path": "a.txt", "exists": True}),
        ("watch_changes", {}, {"changes": [], "resync": False}),
        ("move_file", {"source": "a.txt", "destination": "c.txt"}, {"source": "a.txt", "destination": "c.txt"}),
        ("copy_file", {"source": "a.txt", "destination": "c.txt"}, {"path": "c.txt", "version": VERSION}),
        ("delete_file", {"path": "a.txt"}, {"deleted_version": VERSION, "entries": 1}),
        ("delete_file", {"path": "docs", "recursive": True}, {"path": "docs", "entries": 2}),
        ("file_info", {"path": "docs"}, {"type": "directory", "mode": "755"}),
        ("read_multiple", {"paths": ["a.txt", "nope"]}, {"failed": 1}),
        ("delete_multiple", {"paths": ["a.txt", "docs/b.txt"]}, {}),
        ("write_multiple", {"items": [{"path": "c", "content": "1"}, {"filePath": "d", "content": "2"}]}, {}),
    ],
)
async def test_a_tool_does_what_its_name_says(
    files: FileToolsFacade, name: str, arguments: dict[str, Any], data: dict[str, Any]
) -> None:
    envelope = await ToolRegistry(files).call(name, arguments)
    assert envelope["success"], envelope
    assert envelope["data"] == envelope["data"] | data
    json.dumps(envelope)


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("write_file", {"path": "a.txt", "content": NEW, "expected_version": "0" * 64}, "VERSION_MISMATCH"),
        ("move_file", {"source": "a.txt", "destination": "docs/b.txt"}, "FILE_EXISTS"),
        ("delete_multiple", {"paths": ["a.txt", "nope"]}, "BATCH_FAILED"),
        ("write_multiple", {"items": [{"path": "c", "content": "1"}, {"path": "docs", "content": ""}]}, "BATCH_FAILED"),
    ],
)
async def test_a_tool_that_is_refused_changes_nothing(
    files: FileToolsFacade, name: str, arguments: dict[str, Any], code: str
) -> None:
    before = await texts(files)
    envelope = await ToolRegistry(files).call(name, arguments)
    assert (envelope["success"], envelope["error_code"]) == (False, code)
    assert await texts(files) == before


@pytest.mark.parametrize("name", ["write_file", "write_multiple"])
async def test_a_door_may_demand_that_what_is_replaced_was_read(files: FileToolsFacade, name: str) -> None:
    registry = ToolRegistry(files, require_read=True)
    item = {"path": "a.txt", "content": NEW}
    envelope = await registry.call(name, item if name == "write_file" else {"items": [item]})
    assert not envelope["success"]
    assert (await texts(files))["a.txt"] == OLD


async def test_warnings_stand_beside_the_data(files: FileToolsFacade) -> None:
    warning = {"error_code": "SYNC_FAILED", "retryable": True}

    async def handler(context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
        return {"path": "a", "warnings": [warning]}

    tool = Tool(name="warned", description="", parameters=NoParameters, handler=handler, group="test")
    assert await ToolRegistry(files, [tool]).call("warned", {}) == {
        "success": True,
        "data": {"path": "a"},
        "warnings": [warning],
    }


async def test_the_journal_learns_the_id_of_the_call(files: FileToolsFacade) -> None:
    registry = ToolRegistry(files)
    await registry.call("create_file", {"path": "c", "content": ""}, tool_call_id="call-7")
    await registry.call("create_file", {"path": "d", "content": ""})
    made, given = (change.actor for change in await files.latest_changes(2))
    assert (given.call, given.id, given.session) == ("call-7", "alice", "s1")
    assert [record.id for record in registry.log] == ["call-7", made.call]
