"""The descriptors of one actor, with their rows and texts in the journal: what blocks runs in a worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from filetools.descriptors.descriptors import Descriptors
from filetools.facade.parts import Parts
from filetools.models.records import Actor
from filetools.writer.worker_pool import WorkerPool

T = TypeVar("T")


class DescriptorCalls:
    """The descriptors of one owner. Lives as long as the workspace.

    Args:
        descriptors: Theirs.
        workers: The workers.
    """

    def __init__(self, descriptors: Descriptors, workers: WorkerPool) -> None:
        self.settings = descriptors.settings
        self._descriptors = descriptors
        self._workers = workers

    async def run(self, work: Callable[[Descriptors], T]) -> T:
        """Return what `work` makes of the descriptors; it runs in a worker thread.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        return await self._workers.run(partial(work, self._descriptors))

    async def spawn_child(self, child: Actor, preload: Iterable[str] = ()) -> list[str]:
        """Give another actor the references, if they are on, and the texts that are named; its tools then read them.

        Args:
            child: The actor, in its session; it may be at work already, in any process.
            preload: Ids of this actor's descriptors.

        Returns:
            Their ids there: references keep theirs, texts get the child's next numbers.

        Raises:
            DescriptorNotFoundError, DescriptorExpiredError: Of one that is named.
        """
        return await self.run(lambda own: own.share(owner_of(child), preload))


def owner_of(actor: Actor) -> str:
    """Return the owner under whose name the journal keeps the descriptors of an actor, in its session."""
    return json.dumps([actor.kind, actor.id, actor.session or ""])


def kept_for(parts: Parts, actor: Actor, *, owner: str | None, is_opaque: bool) -> DescriptorCalls:
    """Return the descriptors that the journal keeps for an owner; by default for the actor, in its session."""
    descriptors = Descriptors(
        parts.settings.file_descriptor,
        table=parts.journal.descriptors,
        contents=parts.journal.contents,
        owner=owner or owner_of(actor),
        is_opaque=is_opaque,
    )
    return DescriptorCalls(descriptors, parts.workers)
