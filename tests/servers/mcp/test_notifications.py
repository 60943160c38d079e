from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, Subscription
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import INTERNAL_ERROR, ResourceListChangedNotification, ResourceUpdatedNotification

import filetools
from filetools.editors import documents
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.servers.mcp import notifications
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.server import McpServer
from tests.support.mcp_clients import RELAXED, facts, opened_door, refused, text
from tests.support.opened import lapse_leases, steps_until

NOTES = "filetools:///files/notes.md"
SRC = "filetools:///files/src"
PERSON = Actor(kind="editor", id="ann")


async def following(stream: Subscription, into: list[Any]) -> None:
    async for event in stream:
        into.append(event)  # noqa: PERF401 - the test looks at the list while it grows


async def test_a_file_that_changes_is_told_to_those_who_listen_for_it(root: Path) -> None:
    async with (
        opened_door(root, file_root=root) as (client, files),
        client.listen(resource_subscriptions=[NOTES, (root / "notes.md").as_uri()]) as stream,
    ):
        await files.append_file("src/app.py", "four\n")
        await files.append_file("notes.md", "more\n")
        told = {await anext(stream), await anext(stream)}
    assert told == {ResourceUpdated(uri=NOTES), ResourceUpdated(uri=(root / "notes.md").as_uri())}


async def test_a_folder_is_told_when_a_direct_child_changes(root: Path) -> None:
    told: list[Any] = []
    async with (
        opened_door(root) as (client, files),
        client.listen(resource_subscriptions=[SRC], resources_list_changed=True, tools_list_changed=True) as stream,
    ):
        assert stream.honored.tools_list_changed is None  # they never change
        task = asyncio.create_task(following(stream, told))
        await files.write_file("other/deep.txt", "")
        await steps_until(lambda: ResourcesListChanged() in told)
        assert ResourceUpdated(uri=SRC) not in told
        await files.move_file("src/app.py", "app.py")
        await steps_until(lambda: ResourceUpdated(uri=SRC) in told)
        task.cancel()


async def test_many_changes_within_a_moment_are_told_twice(root: Path) -> None:
    told: list[Any] = []
    async with (
        opened_door(root) as (client, files),
        client.listen(resource_subscriptions=[NOTES, "filetools:///files/end"]) as stream,
    ):
        task = asyncio.create_task(following(stream, told))
        loop = asyncio.get_running_loop()
        began, changes = loop.time(), 0
        while loop.time() < began + 0.3 or changes < 20:
            await files.append_file("notes.md", "more\n")
            changes += 1
        lasted = loop.time() - began
        await files.write_file("end", "")
        await steps_until(lambda: ResourceUpdated(uri="filetools:///files/end") in told)
        task.cancel()
    assert 2 <= told.count(ResourceUpdated(uri=NOTES)) <= lasted / 0.1 + 2


async def test_a_client_of_a_handshake_revision_is_told_until_it_wants_no_more(root: Path) -> None:
    told: list[Any] = []

    async def note(message: Any) -> None:
        told.append(message)

    async with opened_door(root, "legacy", client={"message_handler": note}) as (client, files):
        await refused(-32002, subscribe(client, "nonsense:///a"))
        await subscribe(client, NOTES)
        await files.append_file("notes.md", "more\n")
        await steps_until(lambda: any(isinstance(each, ResourceUpdatedNotification) for each in told))
        await unsubscribe(client, NOTES)
        told.clear()
        await subscribe(client, SRC)
        await files.append_file("notes.md", "more\n")
        await files.write_file("src/new.py", "")
        await steps_until(lambda: any(isinstance(each, ResourceListChangedNotification) for each in told))
        await steps_until(lambda: any(isinstance(each, ResourceUpdatedNotification) for each in told))
    assert {each.params.uri for each in told if isinstance(each, ResourceUpdatedNotification)} == {SRC}


def leased_until(files: FileToolsFacade) -> float:
    [handle] = files._parts.journal.documents.handles()
    return handle.leased_until


async def subscribe(client: Client, uri: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        await client.subscribe_resource(uri)


async def unsubscribe(client: Client, uri: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        await client.unsubscribe_resource(uri)


async def test_an_editor_wakes_when_others_change_its_document(root: Path) -> None:
    async with opened_door(root, is_editor=True) as (client, files):
        opened = await facts(client, "buffer_open", path="notes.md")
        address = f"filetools:///buffers/{opened['handle']}"
        async with client.listen(resource_subscriptions=[address]) as stream:
            agent = files.for_actor(Actor(kind="agent", id="bob"))
            await agent.append_file("notes.md", "from an agent\n")
            assert await anext(stream) == ResourceUpdated(uri=address)
        changed = await facts(client, "buffer_change", handle=opened["handle"], buffer_version=1, edits=[])
        assert [edit["text"] for edit in changed["edits"]] == ["from an agent\n"]


async def test_a_document_stays_open_while_its_editor_listens(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "RENEW_SECONDS", 0.05)
    async with opened_door(root, is_editor=True) as (client, files):
        opened = await facts(client, "buffer_open", path="notes.md")
        async with client.listen(resource_subscriptions=[f"filetools:///buffers/{opened['handle']}"]):
            for _ in range(3):
                lapse_leases(files, documents.LEASE_SECONDS / 2)
                nearly_over = leased_until(files)
                await steps_until(lambda before=nearly_over: leased_until(files) > before)  # type: ignore[misc]
        await text(client, "buffer_close", handle=opened["handle"])


@asynccontextmanager
async def shared_door(root: Path) -> AsyncIterator[tuple[McpServer, FileToolsFacade]]:
    """One door for several clients, as an HTTP server has it."""
    async with (
        filetools.open(root, settings=RELAXED) as files,
        McpServer(files, McpOptions(is_editor=True)) as door,
    ):
        yield door, files


def held(door: McpServer) -> tuple[int, int]:
    """How many followed addresses and renewed handles a door keeps."""
    return door._notifications.followed, len(door._notifications._followed_documents())


async def test_whoever_leaves_follows_nothing_and_keeps_no_document_open(root: Path) -> None:
    async with shared_door(root) as (door, _):
        async with Client(door.server, mode="legacy") as client:
            opened = await facts(client, "buffer_open", path="notes.md")
            address = f"filetools:///buffers/{opened['handle']}"
            for uri in (address, address, NOTES):
                await subscribe(client, uri)
            assert held(door) == (2, 1)
            await unsubscribe(client, address)
            await unsubscribe(client, address)
            assert held(door) == (1, 0)
            await subscribe(client, address)
        await steps_until(lambda: held(door) == (0, 0))


async def test_no_more_is_followed_than_can_be_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "MOST_FOLLOWED", 2)
    async with shared_door(root) as (door, _), Client(door.server, mode="legacy") as client:
        await subscribe(client, NOTES)
        await subscribe(client, SRC)
        error = await refused(INTERNAL_ERROR, subscribe(client, "filetools:///files/other"))
        assert "follow folders instead" in error.message
        await unsubscribe(client, SRC)
        await subscribe(client, "filetools:///files/other")


async def test_a_client_that_does_not_read_holds_nobody_up(root: Path) -> None:
    told: list[Any] = []
    stuck, released = asyncio.Event(), asyncio.Event()

    async def sleep(message: Any) -> None:
        stuck.set()
        await released.wait()

    async def note(message: Any) -> None:
        told.append(message)

    async with (
        shared_door(root) as (door, files),
        Client(door.server, mode="legacy", message_handler=sleep) as sleeper,
        Client(door.server, mode="legacy", message_handler=note) as awake,
        Client(door.server) as modern,
        modern.listen(resource_subscriptions=[NOTES]) as stream,
    ):
        for client in (sleeper, awake):
            await subscribe(client, NOTES)
            await subscribe(client, SRC)
        for number in range(5):
            told.clear()
            await files.append_file("notes.md", f"{number}\n")
            await files.write_file(f"src/{number}", "")
            await stuck.wait()
            assert await anext(stream) == ResourceUpdated(uri=NOTES)
            await steps_until(
                lambda: (
                    {each.params.uri for each in told if isinstance(each, ResourceUpdatedNotification)} == {NOTES, SRC}
                )
            )
        released.set()
