"""Clients of the live protocol that come back after a break: they go on from their own text, and nothing is made twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest

import filetools
from filetools.content.editing.text_edits import utf16_units
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.servers.http.live.frames import Outbox
from filetools.servers.http.live.hub import Hub
from tests.servers.http.live.test_session import ANN, BEN, SETTINGS
from tests.support.live_clients import PATIENCE_SECONDS, Editor, LiveClient, MemoryWire, connected
from tests.support.opened import lapse_leases

TEXT = "one\ntwo\n"
BEFORE = {"list.txt": TEXT.encode()}
CAT = Actor(kind="editor", id="cat", session="window-3")
FILLER = "\N{GRINNING FACE}"
FIRST_SIGNS = {"ann": 0x4E00, "ben": 0x5E00, "cat": 0x6E00}
SEEDS = 5


def insertion(place: int, text: str) -> list[dict[str, int | str]]:
    return [{"start": place, "end": place, "text": text}]


async def typed(client: LiveClient, handle: str, version: int, text: str) -> int:
    answer = await client.do("change", handle=handle, buffer_version=version, edits=insertion(0, text))
    return int(answer["buffer_version"])


async def test_a_change_that_is_sent_twice_is_made_once(files: FileToolsFacade, hub: Hub) -> None:
    async with connected(files, hub, ANN) as ann, connected(files, hub, BEN) as ben:
        opened, other = await ann.do("open", path="list.txt"), await ben.edit("list.txt")
        change = {"handle": opened["handle"], "buffer_version": 1, "edits": insertion(0, "once "), "change_id": "c-1"}
        first = await ann.do("change", **change)
        other.type(0, 0, "theirs ")
        await other.settled()
        again = await ann.do("change", **change)
        assert (first["edits"], first["buffer_version"]) == ([], 2)
        assert (again["edits"], again["buffer_version"]) == (insertion(0, "theirs "), 3)
        assert other.text == f"theirs once {TEXT}"
        assert ann.of("resync") == []


async def test_who_comes_back_with_a_version_gets_what_others_did_and_no_text(files: FileToolsFacade, hub: Hub) -> None:
    async with connected(files, hub, BEN) as ben:
        other = await ben.edit("list.txt")
        async with connected(files, hub, ANN) as ann:
            opened = await ann.do("open", path="list.txt")
            await typed(ann, opened["handle"], 1, "mine ")
        other.type(0, 0, "a ")
        await other.settled()
        other.type(2, 2, "b ")
        await other.settled()
        async with connected(files, hub, ANN) as ann:
            again = await ann.do("open", path="list.txt", handle=opened["handle"], buffer_version=2)
            assert {name: again[name] for name in again if name not in ("type", "id")} == {
                "of": "open", "handle": opened["handle"], "document": opened["document"], "path": "list.txt",
                "buffer_version": 2, "dirty": True, "resumed": True,
            }  # fmt: skip
            missed = await ann.frame("edits", since=2)
            assert (missed["edits"], missed["buffer_version"]) == (insertion(0, "a b "), 4)
            other.type(0, 0, "c ")
            await other.settled()
            assert (await ann.frame("edits", since=4))["edits"] == insertion(0, "c ")


@pytest.mark.parametrize("has_arrived", [True, False])
async def test_a_change_whose_answer_was_lost_is_repeated_while_others_type(
    files: FileToolsFacade, hub: Hub, has_arrived: bool
) -> None:
    async with connected(files, hub, BEN) as ben:
        other = await ben.edit("list.txt")
        async with connected(files, hub, ANN) as ann:
            handle = (await ann.do("open", path="list.txt"))["handle"]
            version = await typed(ann, handle, 1, "saved ")
            change = {"handle": handle, "buffer_version": version, "edits": insertion(6, "mine "), "change_id": "c-1"}
            if has_arrived:
                await ann.do("change", **change)
        other.type(0, 0, "away ")
        await other.settled()
        async with connected(files, hub, ANN) as ann:
            await ann.do("open", path="list.txt", handle=handle, buffer_version=version)
            other.type(0, 0, "between ")
            await other.settled()
            answer = await ann.do("change", **change)
            assert answer["edits"] == insertion(0, "between away ")
            assert answer["buffer_version"] == 5
            await ben.until(lambda: other.version == 5)
            assert other.text == f"between away saved mine {TEXT}"
            assert ann.of("resync") == []


async def test_a_version_that_is_not_known_any_more_brings_the_text(
    files: FileToolsFacade, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filetools.journal.documents.KEPT_EDITS", 2)
    async with connected(files, hub, ANN) as ann:
        handle = (await ann.do("open", path="list.txt"))["handle"]
        for version in range(1, 5):
            await typed(ann, handle, version, "x")
    for version in (0, 1, 2, 6, 2**53 - 1):
        async with connected(files, hub, ANN) as ann:
            again = await ann.do("open", path="list.txt", handle=handle, buffer_version=version)
            assert (again["text"], again["buffer_version"], again["handle"]) == (f"xxxx{TEXT}", 5, handle)
            assert "resumed" not in again


async def test_a_change_whose_history_is_gone_is_put_on_the_text_that_comes_and_made_once(
    files: FileToolsFacade, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filetools.journal.documents.KEPT_EDITS", 2)
    async with connected(files, hub, ANN) as ann:
        handle = (await ann.do("open", path="list.txt"))["handle"]
        await typed(ann, handle, 1, "x")
        late = {"handle": handle, "edits": insertion(0, "late "), "change_id": "c-1"}
        await ann.do("change", buffer_version=2, **late)
        await typed(ann, handle, 3, "y")
        await ann.refused("RESYNC", "change", buffer_version=1, **late)
        whole = (await ann.frame("resync", reason="refused"))["document"]
        answer = await ann.do("change", buffer_version=whole["buffer_version"], **late)
        assert answer["edits"] == [{"start": 0, "end": 5, "text": ""}]
        assert (await files.read_file("list.txt")).content == whole["text"] == f"ylate x{TEXT}"


async def test_a_handle_that_has_lapsed_brings_the_text_of_the_file_and_what_was_unsaved_is_a_version(
    files: FileToolsFacade, hub: Hub, root: Path
) -> None:
    async with connected(files, hub, ANN) as ann:
        opened = await ann.do("open", path="list.txt")
        await typed(ann, opened["handle"], 1, "unsaved ")
    lapse_leases(files)
    async with filetools.open(root, settings=SETTINGS) as other:
        await other.list_files()  # whoever comes next finds what was left
    async with connected(files, hub, ANN) as ann:
        again = await ann.do("open", path="list.txt", handle=opened["handle"], buffer_version=2)
        assert again["handle"] != opened["handle"]
        assert again["document"] != opened["document"]
        assert (again["text"], again["dirty"]) == (TEXT, False)
    [kept, *_] = (await files.versions("list.txt")).versions
    assert (kept.actor["id"], kept.actor["session"]) == ("ann", "window-1")
    assert (await files.read_file("list.txt", version=kept.version)).content == f"unsaved {TEXT}"


async def test_a_document_whose_file_was_moved_meanwhile_goes_on_at_the_new_path(
    files: FileToolsFacade, hub: Hub
) -> None:
    async with connected(files, hub, ANN) as ann:
        opened = await ann.do("open", path="list.txt")
        await typed(ann, opened["handle"], 1, "unsaved ")
    await files.move_file("list.txt", "moved.txt")
    async with connected(files, hub, ANN) as ann:
        for known in ({}, {"buffer_version": 2}):
            again = await ann.do("open", path="list.txt", handle=opened["handle"], **known)
            assert (again["handle"], again["path"]) == (opened["handle"], "moved.txt")
        await ann.do("save", handle=opened["handle"])
    assert (await files.read_file("moved.txt")).content == f"unsaved {TEXT}"


async def test_a_window_that_closes_takes_no_handle_from_another_one_that_has_it_too(
    files: FileToolsFacade, hub: Hub
) -> None:
    async with connected(files, hub, ANN) as one, connected(files, hub, ANN) as two:
        left = await one.edit("list.txt")
        right = await two.edit("list.txt", handle=left.handle)
        left.type(0, 0, "left ")
        await left.settled()
        await two.until(lambda: right.text == left.text)
        closed = await one.do("close", handle=left.handle)
        assert (closed["path"], closed.get("kept_version")) == ("list.txt", None)
        await one.refused("BUFFER_CLOSED", "save", handle=left.handle)
        right.type(0, 0, "right ")
        await right.settled()
        assert (await two.do("close", handle=right.handle))["kept_version"]
    assert (await files.status())["documents"] == []


class Typist:
    """A person whose connection is cut now and then with answers on their way, and who comes back."""

    def __init__(self, files: FileToolsFacade, hub: Hub, actor: Actor, chance: Random) -> None:
        self.files, self.hub, self.chance = files.for_actor(actor), hub, chance
        self.actor = actor
        self.typed: list[str] = []
        self._connection = AsyncExitStack()
        self._dead = AsyncExitStack()
        """Connections that are cut, which the server has not noticed yet."""

    async def begin(self) -> None:
        self.editor = await (await self._connected()).edit("list.txt")

    async def act(self) -> None:
        acts = (self._type, self._stall, self._save, self._cut)
        await self.chance.choices(acts, (12, 2, 1, 3))[0]()
        for _ in range(self.chance.randrange(8)):
            await asyncio.sleep(0)

    async def finish(self) -> None:
        await self._dead.aclose()
        self._wire.reading.set()
        await self.until(lambda: self.editor.is_settled)

    async def until(self, fits: Callable[[], bool]) -> None:
        """Wait, and come back whenever the server has ended the connection because this client read too slowly."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not fits():
                if self.editor.client.pump.done():
                    await self._return()
                await asyncio.sleep(0)

    async def leave(self) -> None:
        await self.editor.client.aclose()
        await self._connection.aclose()

    @property
    def _wire(self) -> MemoryWire:
        assert isinstance(self.editor.client.wire, MemoryWire)
        return self.editor.client.wire

    async def _connected(self) -> LiveClient:
        outbox = Outbox(most_frames=self.chance.choice([3, 1000]))
        return await self._connection.enter_async_context(connected(self.files, self.hub, self.actor, outbox=outbox))

    async def _type(self) -> None:
        """Put a letter somewhere, in place of what nobody has typed."""
        text = self.editor.text
        place = self.chance.choice([0, self.chance.randrange(len(text) + 1)])
        start, width = utf16_units(text[:place]), 2 * (text[place : place + 1] == FILLER)
        letter = chr(FIRST_SIGNS[self.actor.id] + len(self.typed))
        self.typed.append(letter)
        self.editor.type(start, start + width, letter)

    async def _stall(self) -> None:
        """Read nothing for a while, or again."""
        reading = self._wire.reading
        if reading.is_set():
            reading.clear()
        else:
            reading.set()

    async def _save(self) -> None:
        await self.files.buffers.save(self.editor.handle)

    async def _cut(self) -> None:
        self.editor.leave()
        await self.editor.client.aclose()
        self._dead.push_async_exit(self._connection.pop_all())
        if self.chance.random() < 0.5:
            await self._dead.aclose()
        for _ in range(self.chance.randrange(3)):
            await self._type()
        await self._return()

    async def _return(self) -> None:
        with suppress(ConnectionError):  # it is disconnected again at once
            await self.editor.come_back(await self._connected(), is_whole=self.chance.random() < 0.3)


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_whatever_breaks_everybody_ends_with_one_text_and_each_letter_once(
    files: FileToolsFacade, hub: Hub, seed: int
) -> None:
    chance = Random(seed)
    await files.write_file("list.txt", f"{FILLER}\r\n" * 20)
    typists = [Typist(files, hub, actor, Random(chance.random())) for actor in (ANN, BEN, CAT)]
    for typist in typists:
        await typist.begin()

    async def work(typist: Typist) -> None:
        for _ in range(30):
            await typist.act()
        await typist.finish()

    await asyncio.gather(*(work(typist) for typist in typists))
    text = (await typists[0].files.buffers.read(typists[0].editor.handle)).text
    for typist in typists:
        await typist.until(partial(_shows, typist.editor, text))
    assert sorted(letter for letter in text if letter not in f"{FILLER}\n") == sorted(
        letter for typist in typists for letter in typist.typed
    )
    for typist in typists:
        await typist.leave()


def _shows(editor: Editor, text: str) -> bool:
    return editor.text == text and editor.is_settled
