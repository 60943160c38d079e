"""One client of the live protocol, without a network: what is refused, who hears what, and nothing lost or told twice."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.editors.documents import Documents
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.servers.http.live.frames import Outbox, frame_text
from filetools.servers.http.live.hub import Hub
from filetools.servers.http.live.session import LiveSession
from filetools.tools.call_log import CallLog
from filetools.tools.registry import ToolRegistry
from tests.support.live_clients import LiveClient, MemoryWire, connected
from tests.support.opened import lapse_leases

ANN = Actor(kind="editor", id="ann", session="window-1")
BEN = Actor(kind="editor", id="ben", session="window-2")
BOT = Actor(kind="agent", id="bot", session="s")
FIRST_SIGN = 0x4E00
SETTINGS = {"durability": "relaxed", "watch": False}
BEFORE = {"list.txt": b"one\ntwo\nthree\n"}


NO_FRAMES = [
    ("", "JSON"),
    ("{", "JSON"),
    ('{"type":"nothing"}', "Parameter 'type': expected one of 'hello', 'open', "),
    ('{"type":"hello","who":"me"}', "who"),
    ('{"type":"change","handle":"h","buffer_version":"1","edits":[]}', "buffer_version"),
    ('{"type":"change","handle":"h","buffer_version":1,"edits":[{"start":-1,"end":0,"text":""}]}', "start"),
    ('{"type":"change","handle":"h","buffer_version":1,"edits":[],"change_id":"two words"}', "change_id"),
    ('{"type":"ping","id":1e400}', "id"),
]


@pytest.mark.parametrize(("text", "told"), NO_FRAMES)
async def test_what_is_no_frame_is_an_error_and_the_connection_lives(
    files: FileToolsFacade, hub: Hub, text: str, told: str
) -> None:
    async with connected(files, hub, ANN) as client:
        await client.wire.send(text)
        error = await client.frame("error")
        assert error["error_code"] == "INVALID_ARGUMENT"
        assert told in error["error"]
        await client.do("ping")


async def test_hello_comes_first_and_once(files: FileToolsFacade, hub: Hub) -> None:
    async with LiveSession(lambda _: files.for_actor(ANN), hub) as session:
        client = LiveClient(MemoryWire(session))
        await client.refused("INVALID_ARGUMENT", "ping")
        await client.refused("INVALID_ARGUMENT", "hello", since="yesterday")
        await client.do("hello")
        await client.refused("INVALID_ARGUMENT", "hello")
        await client.aclose()


async def test_a_handle_of_somebody_else_is_refused(files: FileToolsFacade, hub: Hub) -> None:
    async with connected(files, hub, ANN) as ann, connected(files, hub, BEN) as ben:
        editor = await ann.edit("list.txt")
        await ben.refused("BUFFER_CLOSED", "change", handle=editor.handle, buffer_version=1, edits=[])
        await ben.refused("BUFFER_CLOSED", "save", handle=editor.handle)
        await ben.do("open", path="list.txt", handle=editor.handle)
        await ben.refused("BUFFER_CLOSED", "change", handle=editor.handle, buffer_version=1, text="ben's\n")
        await editor.settled()
        assert (await files.read_file("list.txt")).content == "one\ntwo\nthree\n"


async def test_an_agent_answers_no_approval_and_a_person_does(files: FileToolsFacade, hub: Hub) -> None:
    async with connected(files, hub, ANN) as ann, connected(files, hub, BOT) as bot:
        assert (ann.heard[0]["can_answer"], bot.heard[0]["can_answer"]) == (True, False)
        call = asyncio.create_task(files.for_actor(BOT).write_file(".vscode/settings.json", "{}"))
        asked = await ann.frame("approval", state="asked")
        assert 0 < asked["request"]["seconds_left"] <= asked["request"]["expires"] - asked["request"]["created"]
        assert asked["request"]["path"] == ".vscode/settings.json"
        given = {"approval_id": asked["approval_id"], "answer": "allow"}
        await bot.refused("PERMISSION_DENIED", "answer", **given)
        await ann.do("answer", **given)
        assert (await call).created
        await ann.frame("approval", state="allowed", approval_id=asked["approval_id"])


async def test_without_a_person_an_approval_fails_at_once(files: FileToolsFacade, hub: Hub) -> None:
    async with connected(files, hub, BOT) as bot:
        with pytest.raises(filetools.FileToolsError) as caught:
            await files.for_actor(BOT).write_file(".vscode/settings.json", "{}")
        assert caught.value.code == "APPROVAL_REQUIRED"
        await bot.frame("approval", state="asked")


async def test_a_call_is_seen_and_aborted(files: FileToolsFacade) -> None:
    log = CallLog()
    hub = Hub(files, log)
    registry = ToolRegistry(files.for_actor(BOT), log=log)
    other = Actor(kind="agent", id="other", session="s")
    async with connected(files, hub, ANN) as early:
        call = asyncio.create_task(registry.call("watch_changes", {"wait_seconds": 50}, tool_call_id="call-7"))
        await early.frame("event", event="agent:tool:started", tool_call_id="call-7")
        async with connected(files, hub, ANN) as ann, connected(files, hub, other) as stranger:
            [run] = ann.heard[0]["runs"]
            assert (run["id"], run["tool"], run["actor"]["id"]) == ("call-7", "watch_changes", "bot")
            await stranger.refused("PERMISSION_DENIED", "abort", call="call-7")
            assert (await ann.do("abort", call="call-7"))["aborted"] == 1
            assert (await call)["error_code"] == "ABORTED"
            await ann.frame("event", event="agent:tool:failed", tool_call_id="call-7")
            assert (await ann.do("abort", call="call-7"))["aborted"] == 0
    hub.close()


async def test_a_change_that_does_not_fit_brings_the_whole_text(files: FileToolsFacade, hub: Hub) -> None:
    async with connected(files, hub, ANN) as client:
        editor = await client.edit("list.txt")
        beyond = [{"start": 90, "end": 99, "text": "x"}]
        await client.refused("INVALID_ARGUMENT", "change", handle=editor.handle, buffer_version=1, edits=beyond)
        resync = await client.frame("resync", reason="refused")
        assert resync["document"]["text"] == "one\ntwo\nthree\n"
        editor.type(0, 0, "zero\n")
        await editor.settled()
        assert (await files.read_file("list.txt")).content == "zero\none\ntwo\nthree\n"


async def test_two_editors_type_into_one_text_at_once(files: FileToolsFacade, hub: Hub) -> None:
    draw = random.Random(5)
    async with connected(files, hub, ANN) as one, connected(files, hub, BEN) as two:
        editors = [await one.edit("list.txt"), await two.edit("list.txt")]
        for number in range(200):
            editor = editors[number % 2]
            place = draw.randrange(len(editor.text) + 1)
            editor.type(place, place, chr(FIRST_SIGN + number))
            if draw.random() < 0.5:
                await asyncio.sleep(0)
        for editor in editors:
            await editor.settled()
        await one.until(lambda: editors[0].version == editors[1].version)
        await two.until(lambda: editors[0].version == editors[1].version)
        text = (await files.read_file("list.txt")).content
        assert [editor.text for editor in editors] == [text, text]
        assert sorted(text)[-200:] == [chr(FIRST_SIGN + number) for number in range(200)]
        assert sum(editor.resyncs for editor in editors) == 0


async def test_events_after_a_position_come_once_and_in_order(files: FileToolsFacade, hub: Hub) -> None:
    agent = files.for_actor(BOT)
    async with connected(files, hub, ANN) as client:
        for number in range(5):
            await agent.write_file(f"a{number}.txt", "")
        await client.until(lambda: len(client.events("file:")) == 5)
        position = client.events()[-3]["position"]
    for number in range(5):
        await agent.write_file(f"b{number}.txt", "")
    async with connected(files, hub, ANN, since=position) as client:
        await agent.write_file("c.txt", "")
        await client.until(lambda: client.events() and client.events()[-1]["path"] == "c.txt")
        names = [event["path"] for event in client.events()]
    assert names == ["a3.txt", "a4.txt", *(f"b{number}.txt" for number in range(5)), "c.txt"]


async def test_a_position_of_another_journal_is_a_resync(files: FileToolsFacade, hub: Hub) -> None:
    await files.write_file("new.txt", "")
    async with connected(files, hub, ANN, since="abcdef:5") as client:
        resync = await client.frame("resync", reason="forgotten")
        assert resync["position"] == await files.position()
        assert client.events() == []
        await files.write_file("newer.txt", "")
        await client.until(client.events)
        assert [event["path"] for event in client.events()] == ["newer.txt"]


async def test_who_does_not_read_is_disconnected_and_misses_nothing_on_returning(
    files: FileToolsFacade, hub: Hub
) -> None:
    outbox = Outbox(most_frames=8)
    agent = files.for_actor(BOT)
    async with connected(files, hub, ANN, outbox=outbox) as client, connected(files, hub, BEN) as other:
        wire = client.wire
        assert isinstance(wire, MemoryWire)
        editor, busy = await client.edit("list.txt"), await other.edit("list.txt")
        wire.reading.clear()
        await client.wire.send('{"type":"ping","id":99}')
        heard = len(client.heard)
        for number in range(40):
            busy.type(0, 0, f"{number} ")
            await busy.settled()
            await agent.write_file(f"f{number}.txt", "")
        wire.reading.set()
        await client.pump
        assert len(client.heard) - heard <= 8 + 1
        assert wire.session.ending.code == 1013
        told = client.events("file:created")
        async with connected(files, hub, ANN, since=told[-1]["position"]) as again:
            await editor.come_back(again)
            await again.until(lambda: len(told) + len(again.events("file:created")) == 40)
            assert editor.resyncs == 0
            assert editor.text == busy.text


class CountedOutbox(Outbox):
    """Counts the texts that wait for the client."""

    waiting = most = 0

    def put_now(self, text: str, shared: str = "") -> None:
        """Add a frame."""
        super().put_now(text, shared)
        self.waiting += len(text) > 100_000
        self.most = max(self.most, self.waiting)

    async def take(self) -> str | None:
        """Return the next frame."""
        text = await super().take()
        self.waiting -= len(text or "") > 100_000
        return text


async def test_one_text_at_a_time_waits_for_a_client_that_opens_many(
    files: FileToolsFacade, hub: Hub, root: Path
) -> None:
    (root / "long.txt").write_text("a line\n" * 30_000)
    outbox = CountedOutbox()
    async with connected(files, hub, ANN, outbox=outbox) as client:
        wire = client.wire
        assert isinstance(wire, MemoryWire)
        wire.reading.clear()
        asked = [asyncio.create_task(client.do("open", path="long.txt")) for _ in range(6)]
        for _ in range(8):  # turns are taken in order: by now, the client's could have been opened
            await files.buffers.open("long.txt")
        assert outbox.waiting <= 1
        wire.reading.set()
        answers = await asyncio.gather(*asked)
        assert len({answer["handle"] for answer in answers}) == 6
        assert outbox.most == 1


async def test_opening_does_not_wait_for_other_documents_that_are_opened(files: FileToolsFacade, hub: Hub) -> None:
    async with connected(files, hub, ANN) as client:
        async with hub.handover:
            waiting = asyncio.create_task(client.do("open", path="list.txt", handle="gone"))
            await client.do("ping")
            await client.do("open", path="list.txt")
        await waiting


def test_the_text_of_a_large_document_leaves_room_for_other_frames() -> None:
    outbox = Outbox()
    outbox.put_now(frame_text("ack", text="\n" * 10 * 1024 * 1024))
    assert outbox.has_room


async def test_a_change_that_crosses_a_whole_text_brings_nothing_that_would_be_applied_to_it(
    files: FileToolsFacade, hub: Hub
) -> None:
    async with connected(files, hub, ANN) as client, connected(files, hub, BEN) as other:
        opened = await client.do("open", path="list.txt")
        busy = await other.edit("list.txt")
        for sign in "abc":
            busy.type(0, 0, sign)
            await busy.settled()
        whole = await client.do("open", path="list.txt", handle=opened["handle"])
        late = {"handle": opened["handle"], "buffer_version": opened["buffer_version"]}
        answer = await client.do("change", **late, edits=[{"start": 0, "end": 0, "text": "late "}])
        assert (answer["edits"], answer["buffer_version"]) == ([], whole["buffer_version"])
        resync = await client.frame("resync", handle=opened["handle"])
        await other.until(lambda: "late " in busy.text)
        assert resync["document"]["text"] == busy.text
        assert resync["document"]["buffer_version"] == busy.version
        again = {"handle": opened["handle"], "buffer_version": resync["document"]["buffer_version"]}
        answer = await client.do("change", **again, edits=[])
        assert (answer["edits"], len(client.of("resync"))) == ([], 1)


async def test_documents_wait_for_their_editor_a_while_saved_or_not(
    files: FileToolsFacade, hub: Hub, root: Path
) -> None:
    async with connected(files, hub, ANN) as client:
        clean = await client.edit("clean.txt")
        editor = await client.edit("list.txt")
        editor.type(0, 0, "unsaved ")
        await editor.settled()
    async with connected(files, hub, ANN) as client:
        assert sorted(each["path"] for each in client.heard[0]["documents"]) == ["clean.txt", "list.txt"]
        assert (await client.edit("clean.txt", handle=clean.handle)).handle == clean.handle
        again = await client.edit("list.txt", handle=editor.handle)
        assert (again.handle, again.text) == (editor.handle, "unsaved one\ntwo\nthree\n")
        closed = await client.do("close", handle=again.handle)
        assert closed["kept_version"]
        kept = await files.read_file("list.txt", version=closed["kept_version"])
        assert kept.content == "unsaved one\ntwo\nthree\n"
    lapse_leases(files)
    async with filetools.open(root, settings=SETTINGS) as other:
        assert (await other.status())["documents"] == []


async def test_a_connection_that_ends_late_takes_no_handle_from_the_one_that_came_after_it(
    files: FileToolsFacade, hub: Hub
) -> None:
    async with connected(files, hub, ANN) as later:
        async with connected(files, hub, ANN) as earlier:
            opened = await earlier.do("open", path="list.txt")
            again = await later.edit("list.txt", handle=opened["handle"])
        again.type(0, 0, "typed ")
        await again.settled()
        await later.do("save", handle=again.handle)
    assert (await files.read_file("list.txt")).content == "typed one\ntwo\nthree\n"


def test_names_that_are_not_unicode_travel() -> None:
    told: dict[str, Any] = json.loads(frame_text("ack", of="ping", path="bad-\udcff"))
    assert told == {"type": "ack", "of": "ping", "path": "bad-\udcff"}


async def test_a_handle_that_is_taken_over_while_its_connection_ends_goes_on(files: FileToolsFacade, hub: Hub) -> None:
    await files.write_file("over.txt", "text\n")
    for hops in range(30):
        async with AsyncExitStack() as first, connected(files, hub, ANN) as second:
            one = await first.enter_async_context(connected(files, hub, ANN))
            handle = (await one.edit("over.txt")).handle
            leaving = asyncio.create_task(first.aclose())
            for _ in range(hops):
                await asyncio.sleep(0)
            again = await second.edit("over.txt", handle=handle)
            await leaving
            await second.do("save", handle=again.handle)
            await second.do("close", handle=again.handle)


async def test_a_change_that_fails_unexpectedly_is_tried_again_on_the_whole_text(
    files: FileToolsFacade, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = Documents.change, [ValueError("a defect")]

    def change(*given: Any, **named: Any) -> Any:
        if failures:
            raise failures.pop()
        return real(*given, **named)

    monkeypatch.setattr(Documents, "change", change)
    async with connected(files, hub, ANN) as ann:
        editor = await ann.edit("list.txt")
        editor.type(0, 0, "typed ")
        await ann.frame("error", error_code="INTERNAL")
        await ann.frame("resync", reason="refused")
        await editor.settled()
        assert editor.text.startswith("typed ")
