"""A document as one client has it open: each version is passed on once, in order, or the client is brought up to date."""

from __future__ import annotations

import json
from typing import Any

from filetools.models.records import Actor
from filetools.servers.http.live.open_document import MOST_HELD, DocumentStep, OpenDocument

BEN = Actor(kind="editor", id="ben")


class Client:
    """What a document sends, and how often it had to say that it missed something."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self.missed = 0
        self.has_room = True
        self.document = OpenDocument("handle", "document", "a.txt", self.offer, self.miss)
        self.document.is_at(1)

    def offer(self, text: str) -> bool:
        if self.has_room:
            self.frames.append(json.loads(text))
        return self.has_room

    def miss(self) -> None:
        self.missed += 1

    def take(self, *versions: int) -> None:
        for version in versions:
            self.document.take(DocumentStep(version=version, edits=[], dirty=True, reason="typed", actor=BEN))

    @property
    def versions(self) -> list[tuple[int, int]]:
        return [(frame["since"], frame["buffer_version"]) for frame in self.frames]


def test_versions_are_passed_on_once_and_in_order() -> None:
    client = Client()
    client.take(1, 2, 2, 3, 1)
    assert client.versions == [(1, 2), (2, 3)]
    assert (client.document.is_stale, client.missed) == (False, 0)


def test_a_gap_is_told_once_and_nothing_is_passed_on_over_it() -> None:
    client = Client()
    client.take(2, 4, 5)
    assert client.versions == [(1, 2)]
    assert (client.document.is_stale, client.missed) == (True, 1)
    client.document.is_at(5)
    client.take(5, 6)
    assert client.versions == [(1, 2), (5, 6)]


def test_without_room_nothing_more_is_passed_on() -> None:
    client = Client()
    client.has_room = False
    client.take(2)
    client.has_room = True
    client.take(3)
    assert client.versions == []
    assert client.document.is_stale


async def test_what_others_do_waits_for_the_clients_own_change() -> None:
    client = Client()
    async with client.document.turn():
        client.take(2, 3, 4)
        assert client.versions == []
        client.document.is_at(3)
    assert client.versions == [(3, 4)]


async def test_more_than_may_wait_is_found_out_as_a_gap() -> None:
    client = Client()
    async with client.document.turn():
        client.take(*range(2, MOST_HELD + 10))
    assert len(client.versions) == MOST_HELD
    client.take(MOST_HELD + 10)
    assert (client.document.is_stale, client.missed) == (True, 1)
