"""Programs that follow the changes of one scene over two doors, and are cut off now and then."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.support.together.doors import called
from tests.support.together.editors import number_of
from tests.support.together.scene import Scene

MOST_AT_ONCE: Final = 25
"""Changes that are read over one connection before it is cut, at most."""


@dataclass
class Follower:
    """What all followers have in common."""

    scene: Scene
    since: str
    """The position that it has read up to."""
    numbers: list[int] = field(default_factory=list)
    """Of the changes that it was told of, in the order in which they came."""
    chance: Random = field(init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.chance = self.scene.chance(type(self).__name__)

    async def hear(self, number: int) -> None:
        """Wait until the change of this number has come."""
        while max(self.numbers, default=0) < number:
            self._news.clear()
            await self._news.wait()

    def note(self, numbers: list[int]) -> None:
        """Enter changes that it was told of."""
        self.numbers += numbers
        self._news.set()


class StreamFollower(Follower):
    """Reads server-sent events, and goes on from the last one that it has read."""

    async def follow(self) -> None:
        """Follow until cancelled."""
        while True:
            await self._read(self.chance.randint(1, MOST_AT_ONCE))

    async def _read(self, count: int) -> None:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": self.since}
        async with self.scene.doors.web.stream("GET", "/v1/changes", headers=headers) as answer:
            assert answer.status_code == 200
            event: dict[str, str] = {}
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                event = {**event, name: value} if line else self._take(event)
                count -= not line
                if count <= 0:
                    return

    def _take(self, event: dict[str, str]) -> dict[str, str]:
        if event.get("event") == "resync":
            self.scene.faults.append(f"the stream was told to begin anew after {self.since}")
        self.since = event.get("id", self.since)
        self.note([number_of(self.since)] if event.get("event") == "change" else [])
        return {}


class PageFollower(Follower):
    """Calls watch_changes over MCP, each time from where the last page ended."""

    async def follow(self) -> None:
        """Follow until cancelled."""
        client = self.scene.doors.native
        while True:
            limit = self.chance.randint(1, MOST_AT_ONCE)
            answer = await called(client, "watch_changes", since=self.since, wait_seconds=20, limit=limit)
            if answer.refusal is not None or answer.data["resync"]:
                self.scene.faults.append(f"watch_changes after {self.since}: {answer}")
            self.since = answer.data["position"]
            self.note([change["number"] for change in answer.data["changes"]])
