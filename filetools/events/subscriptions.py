"""Subscriptions: which events a listener gets, and how it is run so that it disturbs neither the publisher nor others.

A plain listener runs at once on the loop. An async one has a bounded queue and a task of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Final

from filetools.errors import InvalidArgumentError
from filetools.events.types import Event, Resync

logger = logging.getLogger(__name__)

Listener = Callable[[Any], Awaitable[None] | None]
"""Receives an event (a list of events, in a batch); plain or async."""

QUEUE_LIMIT_EVENTS: Final = 10_000
BATCH_LIMIT_FACTOR: Final = 10
"""Factor by which the queue of a batch, which lets events wait on purpose, may be longer."""
BATCH_POLL_SECONDS: Final = 0.05
"""How often a collecting batch checks whether it has grown too large to wait."""


def log_failure(listener: Callable[..., Any]) -> None:
    """Log the exception being handled, with its traceback, as the failure of a listener or responder."""
    logger.exception("Event listener %s failed", _name_of(listener))


def _name_of(listener: Callable[..., Any]) -> str:
    """Return the name of a callable for a log line."""
    return getattr(listener, "__qualname__", None) or type(listener).__qualname__


def is_async(listener: Callable[..., Any]) -> bool:
    """True if calling it returns a coroutine: an async function, or an object whose `__call__` is one."""
    return iscoroutinefunction(listener) or iscoroutinefunction(getattr(listener, "__call__", None))  # noqa: B004 - asks whether it is async, not whether it is callable


class ListenerQueue:
    """The queue and the task of one listener; they end when the subscription has ended and the queue is empty.

    A put costs the publisher the same whatever the listener does. A full queue is emptied, and one `Resync` replaces
    everything in it.
    """

    def __init__(
        self,
        listener: Listener,
        loop: asyncio.AbstractEventLoop,
        *,
        limit: int = QUEUE_LIMIT_EVENTS,
        first: Awaitable[None] | None = None,
    ) -> None:
        self._listener = listener
        self._loop = loop
        self._limit = limit
        self._queue: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._finishing = False
        self.task = loop.create_task(self._run(first), name=f"events: {_name_of(listener)}")

    def put(self, event: Event) -> None:
        """Queue an event; never waits."""
        if len(self._queue) >= self._limit:
            self._replace_by_resync(event)
        else:
            self._queue.append(event)
        self._wake.set()

    def finish(self, *, drop: bool) -> None:
        """End the task after the running call and, unless `drop`, the queued events; may be called twice."""
        if drop:
            self._queue.clear()
        self._finishing = True
        self._wake.set()

    def _replace_by_resync(self, newest: Event) -> None:
        lost = [*self._queue, newest]
        self._queue.clear()
        self._queue.append(Resync(position=_last_position_before(lost), reason="overflow"))

    async def _run(self, first: Awaitable[None] | None) -> None:
        if first is not None:
            await self._guard(first)
        while await self._has_more():
            item = await self._take()
            if item is not None:
                await self._guard(self._call(item))

    async def _has_more(self) -> bool:
        while not self._queue:
            if self._finishing:
                return False
            self._wake.clear()
            await self._wake.wait()
        return True

    async def _take(self) -> Any:
        return self._queue.popleft()

    async def _call(self, item: Any) -> None:
        answer = self._listener(item)
        if isawaitable(answer):
            await answer

    async def _guard(self, call: Awaitable[None]) -> None:
        try:
            await call
        except asyncio.CancelledError:
            # A listener that awaits something cancelled elsewhere has failed; only our own cancellation ends the task.
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            log_failure(self._listener)
        except Exception:  # noqa: BLE001 - foreign code: whatever a subscriber raises stays with that subscriber
            log_failure(self._listener)


def _last_position_before(lost: Iterable[Event]) -> int | None:
    numbers: list[int] = []
    for event in lost:
        if isinstance(event, Resync):
            if event.position is None:
                return None
            numbers.append(event.position)
        elif (number := getattr(event, "seq", None)) is not None:
            numbers.append(number - 1)
    return min(numbers, default=None)


class BatchQueue(ListenerQueue):
    """A queue whose listener receives lists: all events up to a pause.

    It delivers early when its queue is half full, so that only a listener that hangs ever loses events.
    """

    def __init__(
        self,
        listener: Listener,
        loop: asyncio.AbstractEventLoop,
        *,
        limit: int,
        wait: float,
        max_wait: float,
    ) -> None:
        self._wait = wait
        self._max_wait = max_wait
        self._newest_at = 0.0
        super().__init__(listener, loop, limit=limit)

    def put(self, event: Event) -> None:
        """Queue an event; never waits."""
        self._newest_at = self._loop.time()
        super().put(event)

    async def _take(self) -> list[Event] | None:
        deadline = self._loop.time() + self._max_wait
        while not self._finishing and len(self._queue) < self._limit // 2:
            left = min(self._newest_at + self._wait, deadline) - self._loop.time()
            if left <= 0:
                break
            # Not woken by put(): a burst would then cost one task step per event.
            await asyncio.sleep(min(left, BATCH_POLL_SECONDS))
        events = list(self._queue)
        self._queue.clear()
        return events or None


QueueMaker = Callable[[Awaitable[None] | None], ListenerQueue]
"""Starts a queue for the listener; given the awaitable of a call already made, awaits that first."""


class Subscription:
    """Returned by `subscribe`, `batch` and `answer`; active until `unsubscribe` or the end of the bus."""

    def __init__(self, pattern: str, detach: Callable[[Subscription], None]) -> None:
        self.pattern = pattern
        """An event name, a prefix ending in "*", or the name of a query."""
        self._detach: Callable[[Subscription], None] | None = detach

    @property
    def is_active(self) -> bool:
        """True until it ends."""
        return self._detach is not None

    def unsubscribe(self) -> None:
        """Stop receiving; a running call may finish, queued events are dropped. May be called twice."""
        detach, self._detach = self._detach, None
        if detach is not None:
            detach(self)


class Route(Subscription):
    """A subscription to events.

    Args:
        pattern: Of the names of events.
        detach: Called when it ends.
        listener: Receives the events.
        queue: The queue of an async listener, or of a batch; None for a plain listener.
        make_queue: Makes one for a plain listener that turns out to be async.
        once: True to end after the first event.
    """

    def __init__(
        self,
        pattern: str,
        detach: Callable[[Subscription], None],
        listener: Listener,
        queue: ListenerQueue | None,
        *,
        make_queue: QueueMaker,
        once: bool = False,
    ) -> None:
        super().__init__(pattern, detach)
        self.queue = queue
        self.is_once = once
        self._listener = listener
        self._make_queue = make_queue

    def deliver(self, event: Event) -> None:
        """Deliver an event if the pattern matches; never raises and never waits."""
        # An earlier listener of the same event may have ended this one: the emitter iterates over a copy of its list.
        if not (self.is_active and matches(self.pattern, event.name)):
            return
        if self.queue is not None:
            self.queue.put(event)
        if self.is_once:
            self.unsubscribe()  # before the call: the listener may itself publish what it waits for
        if self.queue is None:
            self._call(event)

    def _call(self, event: Event) -> None:
        try:
            answer = self._listener(event)
        except (Exception, asyncio.CancelledError):  # noqa: BLE001 - foreign code; without an await nobody cancels us
            log_failure(self._listener)
            return
        if answer is not None and isawaitable(answer):
            # A plain function that returns a coroutine shows only now that it is async.
            self.queue = self._make_queue(answer)
            if not self.is_active:
                self.queue.finish(drop=True)  # it ended before there was a queue to end


def refuse_unknown(pattern: str) -> None:
    """Refuse a pattern that no event matches: none of filetools, and none of a class derived from `Event`.

    Raises:
        InvalidArgumentError: The message names the events of its topic, or all.
    """
    if not isinstance(given := pattern, str):
        raise InvalidArgumentError(f"An event is named by text such as 'file:modified', not by {type(given).__name__}")
    names = sorted(event_names())
    if not any(matches(pattern, name) for name in names):
        of_topic = [name for name in names if name.partition(":")[0] == pattern.partition(":")[0]]
        raise InvalidArgumentError(f"No event is named {pattern!r}; known events are {', '.join(of_topic or names)}")


def event_names() -> set[str]:
    """Return the names of all events."""
    found, classes = set(), [Event]
    while classes:
        event = classes.pop()
        classes += event.__subclasses__()
        if "name" in vars(event) and event is not Event:
            found.add(event.name)
    return found


def matches(pattern: str, name: str) -> bool:
    """True if a pattern matches the events of a name."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
