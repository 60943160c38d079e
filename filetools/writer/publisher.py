"""Reports what turns have done, in the order of the numbers of their records."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from filetools.models.records import ChangeRecord
from filetools.writer.turn_calls import Told, TurnCall, quietly

_log = logging.getLogger(__name__)
_LATE = "Changes by other processes are reported late"

Ended = Sequence[tuple[TurnCall, Sequence[ChangeRecord]]]
"""The calls of a turn, each with what others had done, as far as it has met it."""


class Publisher:
    """Reports turns one after the other, each after what other processes did before it. Belongs to one loop.

    Args:
        publish: Publishes what a turn has made and met.
    """

    def __init__(self, publish: Callable[[Sequence[Told]], None]) -> None:
        self._publish = publish
        self._untold: deque[int] = deque()
        self._ended: deque[tuple[Ended, Sequence[TurnCall]]] = deque()
        self._telling: asyncio.Task[None] | None = None
        self.precede: Callable[[], Awaitable[object] | None] = lambda: None
        """Returns what reports the changes of other processes before the first that is untold; None if there are none."""

    @property
    def untold(self) -> int | None:
        """Number from which on there may be changes of this process that are not reported yet; None if there are none."""
        with suppress(IndexError):
            return self._untold[0]
        return None

    # -- in the thread that takes turns ------------------------------------------------------------------------------

    def begin(self) -> None:
        """A turn begins; `end` or `drop` must follow."""
        self._untold.append(sys.maxsize)

    def begins_at(self, number: int) -> None:
        """The turn that has begun makes no record below this number."""
        self._untold[-1] = number

    def drop(self) -> None:
        """The turn that has begun has done nothing."""
        self._untold.pop()

    # -- on the loop -------------------------------------------------------------------------------------------------

    def end(self, calls: Ended, again: Sequence[TurnCall]) -> None:
        """Report a turn once all before it is reported, and give its calls their outcome, except those that wait again."""
        self._ended.append((calls, again))
        if self._telling is None:
            waiting = self._tell_ready()
            if waiting is not None:
                self._telling = asyncio.create_task(self._tell_slowly(waiting), name="filetools tell")

    def _tell_ready(self) -> Awaitable[object] | None:
        """Report what can be reported; returns what must be awaited before the next."""
        while self._ended:
            try:
                waiting = self.precede()
            except Exception:  # noqa: BLE001 - callers wait
                _log.exception(_LATE)
                waiting = None
            if waiting is not None:
                return waiting
            self._tell_next()
        return None

    def _tell_next(self) -> None:
        self._untold.popleft()
        calls, again = self._ended.popleft()
        told: list[Told] = []
        for call, met in calls:
            quietly(partial(call.tell, told, met, call not in again))
        self._publish(sorted(told, key=lambda each: each[0].number))
        for call, _ in calls:
            if call not in again:
                call.settle()

    async def _tell_slowly(self, waiting: Awaitable[object] | None) -> None:
        try:
            while waiting is not None:
                try:
                    await waiting
                except Exception:  # noqa: BLE001 - callers wait
                    _log.exception(_LATE)
                self._tell_next()
                waiting = self._tell_ready()
        finally:
            self._telling = None
