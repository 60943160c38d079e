"""Publishes the records of turns, in the order of their numbers."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from filetools.models.records import ChangeRecord
from filetools.writer.turn_calls import Publication, TurnCall, quietly

_log = logging.getLogger(__name__)
_LATE = "Changes by other processes are reported late"

Ended = Sequence[tuple[TurnCall, Sequence[ChangeRecord]]]
"""The calls of a turn, each with the changes by others that it found."""


class Publisher:
    """Publishes turns one after the other, each after the earlier changes of other processes. Belongs to one loop.

    Args:
        publish: Publishes the records that a turn made or found.
    """

    def __init__(self, publish: Callable[[Sequence[Publication]], None]) -> None:
        self._publish = publish
        self._unpublished: deque[int] = deque()
        self._ended: deque[tuple[Ended, Sequence[TurnCall]]] = deque()
        self._publishing: asyncio.Task[None] | None = None
        self.precede: Callable[[], Awaitable[object] | None] = lambda: None
        """Returns an awaitable that publishes the earlier changes of other processes; None if there are none."""

    @property
    def unpublished(self) -> int | None:
        """Lowest number that an unpublished record of this process may have; None if all are published."""
        with suppress(IndexError):
            return self._unpublished[0]
        return None

    # -- in the thread that takes turns ------------------------------------------------------------------------------

    def begin(self) -> None:
        """Note that a turn begins; `end` or `drop` must follow."""
        self._unpublished.append(sys.maxsize)

    def begins_at(self, number: int) -> None:
        """Set the lowest number of the current turn's records."""
        self._unpublished[-1] = number

    def drop(self) -> None:
        """Discard the current turn, which did nothing."""
        self._unpublished.pop()

    # -- on the loop -------------------------------------------------------------------------------------------------

    def end(self, calls: Ended, again: Sequence[TurnCall]) -> None:
        """Publish a turn once all earlier ones are published, then settle its calls, except those in `again`."""
        self._ended.append((calls, again))
        if self._publishing is None:
            waiting = self._publish_ready()
            if waiting is not None:
                self._publishing = asyncio.create_task(self._publish_later(waiting), name="filetools publish")

    def _publish_ready(self) -> Awaitable[object] | None:
        """Publish turns until one must wait; returns what to await before it, or None."""
        while self._ended:
            try:
                waiting = self.precede()
            except Exception:  # noqa: BLE001 - callers wait
                _log.exception(_LATE)
                waiting = None
            if waiting is not None:
                return waiting
            self._publish_next()
        return None

    def _publish_next(self) -> None:
        self._unpublished.popleft()
        calls, again = self._ended.popleft()
        publications: list[Publication] = []
        for call, found in calls:
            quietly(partial(call.collect, publications, found, call not in again))
        self._publish(sorted(publications, key=lambda each: each[0].number))
        for call, _ in calls:
            if call not in again:
                call.settle()

    async def _publish_later(self, waiting: Awaitable[object] | None) -> None:
        try:
            while waiting is not None:
                try:
                    await waiting
                except Exception:  # noqa: BLE001 - callers wait
                    _log.exception(_LATE)
                self._publish_next()
                waiting = self._publish_ready()
        finally:
            self._publishing = None
