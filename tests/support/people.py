"""People and agents for tests of permissions: actors, and approvers that answer when they are told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from filetools.events.types import Event
from filetools.models.records import Actor
from filetools.permissions.requests import (
    ApprovalAnswer,
    ApprovalDecision,
    ApprovalRequest,
    Proposal,
    digest_of,
)

ALICE = Actor(kind="agent", id="alice", session="s1")
BOB = Actor(kind="agent", id="bob", session="s1")
EDITOR = Actor(kind="editor", id="ann")
T = TypeVar("T")


class Person:
    """Answers requests, each when the test says so; keeps what was asked."""

    def __init__(self, *answers: ApprovalAnswer | ApprovalDecision) -> None:
        self.asked: list[ApprovalRequest] = []
        self._answers: asyncio.Queue[ApprovalAnswer | ApprovalDecision] = asyncio.Queue()
        for answer in answers:
            self._answers.put_nowait(answer)

    def say(self, answer: ApprovalAnswer | ApprovalDecision) -> None:
        self._answers.put_nowait(answer)

    async def __call__(self, request: ApprovalRequest) -> ApprovalAnswer | ApprovalDecision:
        self.asked.append(request)
        return await self._answers.get()


class Notices:
    """Keeps every event, and lets a test wait for the next of a kind."""

    def __init__(self) -> None:
        self.seen: list[Event] = []
        self._arrived = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.seen.append(event)
        self._arrived.set()

    @property
    def kinds(self) -> list[str]:
        return [event.name.removeprefix("tool:") for event in self.seen]

    async def until(self, kind: str) -> None:
        while kind not in self.kinds:
            self._arrived.clear()
            await self._arrived.wait()


async def run(work: Callable[[], T]) -> T:
    """Run blocking work as a workspace does: in another thread."""
    return await asyncio.to_thread(work)


def proposal(text: str = "new", version: str | None = "sha256:00", description: str = "Replace a file") -> Proposal:
    return Proposal(
        description=description, digest=digest_of({"content": text}), version=version, old_text="old", new_text=text
    )
