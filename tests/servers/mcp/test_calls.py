from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from mcp_types import INVALID_PARAMS, AudioContent, ImageContent, ResourceLink, TextContent

from filetools.content.version import version_of
from filetools.events.types import Event
from filetools.models.records import Actor
from filetools.tools.answers.summaries import MOST_HUNK_LINES
from filetools.tools.registry import FILE_TOOLS
from tests.support import inside
from tests.support.mcp_clients import ERAS, facts, failure, opened_door, refused, text, text_of
from tests.support.opened import steps_until, told

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
MOST_LIST_BYTES = 7_100
"""Of the answer to `tools/list` as it travels: every model reads it in every conversation."""
EDITOR = Actor(kind="editor", id="ann")


@pytest.mark.parametrize("mode", ERAS)
async def test_an_unknown_tool_is_an_error_of_the_protocol(root: Path, mode: str) -> None:
    async with opened_door(root, mode) as (client, _):
        error = await refused(INVALID_PARAMS, client.call_tool("raed_file", {"path": "notes.md"}))
        assert "read_file" in error.data["available"]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("arguments", [{}, {"path": 1}, {"path": "a", "nope": 1}, {"path": "notes.md", "limit": 0}])
async def test_bad_arguments_are_an_error_of_the_tool(root: Path, mode: str, arguments: dict[str, Any]) -> None:
    async with opened_door(root, mode) as (client, _):
        assert (await failure(client, "read_file", **arguments)).startswith("INVALID_ARGUMENT: ")


async def test_replacing_a_file_needs_its_version(root: Path) -> None:
    async with opened_door(root) as (client, _):
        await text(client, "read_file", path="notes.md")
        told = await failure(client, "write_file", path="notes.md", content="new\n")
        assert told.startswith("VERSION_MISMATCH: ")
        present = version_of(b"notes\n")
        assert f"it is at {present}" in told
        short = present.removeprefix("sha256:")[:12]
        await text(client, "write_file", path="notes.md", content="new\n", expected_version=short)
    assert (root / "notes.md").read_text() == "new\n"


async def test_a_door_that_only_reads_offers_nothing_else(root: Path) -> None:
    async with opened_door(root, only_reads=True, settings={"permissions": "read_only"}) as (client, _):
        assert {tool.annotations.read_only_hint for tool in (await client.list_tools()).tools if tool.annotations} == {
            True
        }
        await refused(INVALID_PARAMS, client.call_tool("write_file", {"path": "x", "content": ""}))


@pytest.mark.parametrize("mode", ERAS)
async def test_every_tool_says_what_it_does_to_the_tree(root: Path, mode: str) -> None:
    async with opened_door(root, mode, tools=tuple({tool.group for tool in FILE_TOOLS})) as (client, _):
        published = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(published) == [tool.name for tool in FILE_TOOLS]
    for tool in FILE_TOOLS:
        hints = published[tool.name].annotations
        assert hints is not None
        is_change = tool.effect != "read"
        # What is left out has the protocol's default: a tool changes and destroys, and a second call does it again.
        assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint) == (
            None if is_change else True,
            False if tool.effect == "change" else None,
            True if is_change and tool.is_idempotent else None,
            False,
        )
        assert hints.title
        assert ("anthropic/maxResultSizeChars" in (published[tool.name].meta or {})) is tool.has_body
    assert published["read_file"].meta == {"anthropic/maxResultSizeChars": 500_000, "anthropic/alwaysLoad": True}


async def test_a_body_travels_once(root: Path) -> None:
    async with opened_door(root) as (client, _):
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        read = await client.call_tool("read_file", {"path": "src/app.py", "offset": 2, "limit": 1})
        assert schemas["read_file"] is None
        assert read.structured_content is None
        version = version_of(b"one\ntwo\nthree\n")[7:19]
        assert text_of(read) == f"two\n[src/app.py · lines 2\u20132 of 3 · version {version} · next_offset 3]"
        assert set(schemas.values()) == {None}


@pytest.mark.parametrize("mode", ERAS)
async def test_the_list_of_the_default_tools_is_short(root: Path, mode: str) -> None:
    async with opened_door(root, mode) as (client, _):
        result = (await client.list_tools()).model_dump(by_alias=True, exclude_none=True, mode="json")
    frame = {"jsonrpc": "2.0", "id": 1, "result": result}
    assert len(json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode()) <= MOST_LIST_BYTES


async def test_a_large_change_answers_with_its_facts_and_a_few_lines(root: Path) -> None:
    (root / "big.txt").write_text("".join(f"line {number} foo\n" for number in range(20_000)))
    patch = "*** Begin Patch\n*** Update File: big.txt\n@@\n-line 7 bar\n+line 7\n*** End Patch\n"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("edit_file", {"path": "big.txt", "old_string": "foo", "new_string": "bar", "replace_all": True}),
        ("apply_patch", {"patch": patch}),
        ("undo_changes", {"path": "big.txt", "dry_run": True}),
        ("undo_changes", {"path": "big.txt"}),
    ]
    async with opened_door(root) as (client, _):
        results = [await client.call_tool(name, given) for name, given in calls]
    for result in results:
        assert not result.is_error
        assert result.structured_content is None
        assert len(text_of(result).splitlines()) <= MOST_HUNK_LINES + 3
    shown = text_of(results[0]).splitlines()
    assert shown[0] == "@@ -1,20000 +1,20000 @@"
    assert [line for line in shown if "more" in line] == ["\u2026 39961 more lines of the change"]
    assert shown[-1].startswith("[big.txt · 20000 replaced · version ")
    assert text_of(results[1]).splitlines()[4:6] == ["-line 7 bar", "+line 7"]


async def test_results_go_to_programs_that_ask_for_them(root: Path) -> None:
    given = {"path": "new.txt", "content": "new\n"}
    async with opened_door(root, structured=True) as (client, _):
        result = await client.call_tool("write_file", given)
    assert result.structured_content is not None
    assert result.structured_content["created"] is True
    assert "structured" not in text_of(result)
    assert text_of(result).startswith("[new.txt · created · 4 bytes · version ")


async def test_programs_can_have_bodies_with_a_schema(root: Path) -> None:
    async with opened_door(root, structured=True) as (client, _):
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        assert [name for name, schema in schemas.items() if schema is None] == []
        assert (await facts(client, "read_file", path="notes.md"))["content"] == "notes\n"
        assert [each["path"] for each in (await facts(client, "list_files"))["entries"]] == ["src", "notes.md"]


async def test_pictures_and_sounds_are_shown_and_other_binaries_are_linked(root: Path) -> None:
    (root / "dot.png").write_bytes(PNG)
    (root / "a.wav").write_bytes(b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(20))
    (root / "a.zip").write_bytes(b"PK\x03\x04" + bytes(40))
    async with opened_door(root) as (client, _):
        seen = [(await client.call_tool("read_file", {"path": name})).content for name in ("dot.png", "a.wav", "a.zip")]
    assert isinstance(seen[0][1], ImageContent)
    assert base64.b64decode(seen[0][1].data) == PNG
    assert isinstance(seen[1][1], AudioContent)
    assert isinstance(seen[2][1], ResourceLink)
    assert (seen[2][1].uri, seen[2][1].size) == ("filetools:///files/a.zip", 44)
    assert all(isinstance(each[0], TextContent) and "binary" in each[0].text for each in seen)


async def test_a_long_text_is_cut_and_linked_and_goes_on_where_it_was_cut(root: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(1, 101))
    (root / "long.txt").write_text(lines)
    async with opened_door(root, settings={"max_text_lines": 40}) as (client, _):
        result = await client.call_tool("read_file", {"path": "long.txt"})
        assert isinstance(result.content[1], ResourceLink)
        read, offset = "", 1
        while offset:
            body, _, footer = (await text(client, "read_file", path="long.txt", offset=offset)).rpartition("[")
            read += body
            offset = int(footer.partition("next_offset ")[2].rstrip("]") or 0)
    assert read == lines


def session(name: str) -> Any:
    return {"filetools/session": name}


async def test_the_session_of_a_call_is_the_one_it_names(root: Path) -> None:
    async with opened_door(root) as (client, files):
        await client.call_tool("write_file", {"path": "a", "content": ""}, meta=session("s1"))
        await client.call_tool("write_file", {"path": "b", "content": ""}, meta=session("s2"))
        await client.call_tool("write_file", {"path": "c", "content": ""})
        records = {record.path: record.actor for record in (await files.changes()).records}
    assert (records["a"].session, records["b"].session) == ("s1", "s2")
    assert records["c"].session not in ("s1", "s2", None)
    assert {actor.kind for actor in records.values()} == {"agent"}


async def test_an_editor_acts_for_a_person_only_if_the_operator_says_so(root: Path) -> None:
    async with opened_door(root, is_editor=True) as (client, files):
        await text(client, "buffer_open", path="notes.md")
        await text(client, "write_file", path="a", content="")
        assert {record.actor.kind for record in (await files.changes()).records if record.path == "a"} == {"editor"}


async def test_a_model_is_told_what_others_changed_since_it_read(root: Path) -> None:
    async with opened_door(root) as (client, files):
        await text(client, "read_file", path="notes.md")
        await files.for_actor(EDITOR).append_file("notes.md", "more\n")
        told = await text(client, "read_file", path="src/app.py")
        version = version_of(b"notes\nmore\n")[7:19]
        assert told.endswith(f"changed since you saw it: notes.md by editor ann, version {version}")
        assert "changed" not in await text(client, "read_file", path="src/app.py")


@pytest.mark.parametrize("mode", ERAS)
async def test_progress_arrives_in_order(root: Path, mode: str) -> None:
    told: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with opened_door(root, mode, tools=("batches",)) as (client, _):
        await client.call_tool("read_multiple", {"paths": ["notes.md", "src/app.py"] * 20}, progress_callback=note)
        await steps_until(lambda: told and told[-1] == 100)
    assert told == sorted(set(told))
    assert len(told) > 2


@pytest.mark.parametrize("mode", ERAS)
async def test_a_cancelled_call_that_waits_for_a_lock_never_happens(root: Path, mode: str) -> None:
    edit = {"path": "notes.md", "old_string": "notes", "new_string": "changed"}
    async with opened_door(root, mode) as (client, files):
        started: list[Event] = told(files, "agent:tool:started")
        failed: list[Event] = told(files, "agent:tool:failed")
        async with inside.at_work(files, "notes.md"):
            call = asyncio.create_task(client.call_tool("edit_file", edit))
            await steps_until(lambda: started)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await steps_until(lambda: failed)
        await steps_until(lambda: not inside.is_locked(files, "notes.md"))
        await text(client, "edit_file", path="notes.md", old_string="notes", new_string="after")
    assert (root / "notes.md").read_text() == "after\n"


async def test_waiting_ends_at_once_when_it_is_cancelled(root: Path) -> None:
    async with opened_door(root) as (client, _):
        call = asyncio.create_task(client.call_tool("watch_changes", {"wait_seconds": 50}))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await text(client, "file_info", path="notes.md")


@pytest.mark.parametrize("mode", ERAS)
async def test_resources_are_said_to_be_followed_and_tools_never_to_change(root: Path, mode: str) -> None:
    async with opened_door(root, mode) as (client, _):
        resources, tools = client.server_capabilities.resources, client.server_capabilities.tools
    assert resources is not None
    assert resources.subscribe
    assert tools is not None
    assert tools.list_changed is False
