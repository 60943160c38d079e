"""The descriptors of one actor, whose rows and texts are in the journal. Blocking work runs in a worker thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from filetools.changes.parts import Parts
from filetools.descriptors.descriptors import Descriptors
from filetools.models.records import Actor

T = TypeVar("T")


class DescriptorCalls:
    """The descriptors of one owner.

    Args:
        parts: The workspace.
        actor: The actor, whose session owns them by default.
        owner: Another owner.
        is_opaque: True for random ids; see `FileToolsFacade.descriptors`.
    """

    def __init__(self, parts: Parts, actor: Actor, *, owner: str | None, is_opaque: bool) -> None:
        self.settings = parts.settings.file_descriptor
        self._workers = parts.workers
        self._descriptors = Descriptors(
            self.settings,
            table=parts.journal.descriptors,
            contents=parts.journal.contents,
            owner=owner or owner_of(actor),
            is_opaque=is_opaque,
        )

    async def run(self, work: Callable[[Descriptors], T]) -> T:
        """Run `work` on the descriptors in a worker thread and return its result.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        return await self._workers.run(partial(work, self._descriptors))

    async def spawn_child(self, child: Actor, preload: Iterable[str] = ()) -> list[str]:
        """Share the reference texts (if enabled) and the named descriptors with another actor, whose tools can then read them.

        Args:
            child: The actor, with its session; it may already be running, in any process.
            preload: Ids of this actor's descriptors.

        Returns:
            The child's ids: references keep their ids, other texts get the child's next numbers.

        Raises:
            DescriptorNotFoundError, DescriptorExpiredError: For a named descriptor.
        """
        return await self.run(lambda own: own.share(owner_of(child), preload))


def owner_of(actor: Actor) -> str:
    """Return the owner name of an actor's descriptors in the journal: one for each session."""
    return json.dumps([actor.kind, actor.id, actor.session or ""])
