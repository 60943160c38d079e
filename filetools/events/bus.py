"""The event bus: the only module that touches pyee."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Final

from msgspec import Struct
from pyee.base import EventEmitter

from filetools.errors import InternalError, InvalidArgumentError
from filetools.events.listeners import (
    BATCH_LIMIT_FACTOR,
    QUEUE_LIMIT_EVENTS,
    BatchQueue,
    Listener,
    ListenerQueue,
    Tally,
    is_async,
)
from filetools.events.subscriptions import Route, Subscription, checked_pattern
from filetools.events.types import Event

logger = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 2.0

Responder = Callable[[Any], Any | Awaitable[Any]]
"""Receives the payload of a query and returns an answer or None; plain or async."""


class BusStatistics(Struct, frozen=True, kw_only=True):
    """Listeners of a bus, and their failures since it was created."""

    listeners: int
    """Current subscriptions to events."""
    failures: int
    """Calls of listeners and responders that raised."""
    dropped: int
    """Events that a listener did not get because its queue was full."""


class EventBus:
    """Delivers events from the code that caused them to subscribers; belongs to the loop on which it was created.

    Plain listeners run inside `publish`, in the order they subscribed; async ones each have a queue and a task, so that
    a slow one costs nothing. Open as long as its workspace; closed with `aclose`.

    Args:
        queue_limit: How many events may wait for one async listener before they give way to a `Resync`.
    """

    def __init__(self, *, queue_limit: int = QUEUE_LIMIT_EVENTS) -> None:
        self.loop = asyncio.get_running_loop()
        """The loop that it belongs to."""
        self._thread = threading.get_ident()
        self._queue_limit = queue_limit
        self._tally = Tally()
        self._routes = _Routes()
        self._responders = _Responders(self._tally)
        self._queues: set[ListenerQueue] = set()
        self._is_closed = False

    @property
    def statistics(self) -> BusStatistics:
        """Counts of listeners, failures and dropped events."""
        return BusStatistics(listeners=len(self._routes), failures=self._tally.failures, dropped=self._tally.dropped)

    def subscribe(self, pattern: str, listener: Listener, *, once: bool = False) -> Subscription:
        """Call a listener for every event whose name matches.

        Args:
            pattern: An event name ("file:created"), the beginning of names and a star ("file:*"), or "*".
            listener: Called with the event; plain or async. An async one gets a `Resync`, whatever its pattern, in
                place of the events that its full queue could not hold.
            once: True to unsubscribe after the first event.

        Raises:
            InvalidArgumentError: The pattern can match no event.
            InternalError: The bus is closed, or belongs to another thread.
        """
        self._check_usable(pattern)

        def open_queue(first: Awaitable[None] | None = None) -> ListenerQueue:
            return self._keep(ListenerQueue(listener, self._tally, self.loop, limit=self._queue_limit, first=first))

        route = Route(pattern, listener, self._detach, tally=self._tally, make_queue=open_queue, once=once)
        if is_async(listener):
            route.use(open_queue())
        self._routes.add(route)
        return route

    def batch(self, pattern: str, listener: Listener, *, wait: float = 0.1, max_wait: float = 1.0) -> Subscription:
        """Call a listener with lists that together hold every event whose name matches, in order.

        Args:
            pattern: As in `subscribe`.
            listener: Called with a list of at least one event; plain or async. While it runs, events are collected.
            wait: Seconds without a new event after which a list is delivered.
            max_wait: Seconds after which it is delivered even if events keep coming.

        Raises:
            InvalidArgumentError: The pattern can match no event, or not 0 <= wait <= max_wait.
            InternalError: The bus is closed, or belongs to another thread.
        """
        self._check_usable(pattern)
        if not 0 <= wait <= max_wait:
            raise InvalidArgumentError(f"Need 0 <= wait <= max_wait, got {wait!r} and {max_wait!r}")
        limit = self._queue_limit * BATCH_LIMIT_FACTOR
        queue = self._keep(BatchQueue(listener, self._tally, self.loop, limit=limit, wait=wait, max_wait=max_wait))
        route = Route(pattern, listener, self._detach, tally=self._tally, make_queue=lambda _: queue, once=False)
        route.use(queue)
        self._routes.add(route)
        return route

    def has_listeners(self, name: str) -> bool:
        """True if an event of this name has a listener; lets publishers skip creating it."""
        listened = self._routes.listened.get(name)
        return self._routes.resolve(name) if listened is None else listened

    def publish(self, event: Event) -> None:
        """Deliver an event: plain listeners run now, async ones find it in their queue. Never waits.

        Does nothing on a closed bus, so that work that ends late need not check.

        Raises:
            InternalError: Called from another thread; hand over with `loop.call_soon_threadsafe(bus.publish, event)`.
        """
        if threading.get_ident() != self._thread:
            raise _wrong_thread()
        name = event.name
        listened = self._routes.listened.get(name)
        if listened or (listened is None and self._routes.resolve(name)):
            self._routes.emit(name, event)

    def answer(self, name: str, responder: Responder) -> Subscription:
        """Answer the queries of a name; responders that were added earlier are asked first.

        Raises:
            InternalError: The bus is closed, or belongs to another thread.
        """
        self._check_usable()
        return self._responders.add(name, responder)

    async def query(self, name: str, payload: Any = None) -> Any | None:
        """Ask the responders of a name, one after the other.

        A responder that raises is logged, counted and skipped. There is no timeout: callers set the limit.

        Returns:
            The first answer that is not None; None if there is none.
        """
        return await self._responders.ask(name, payload)

    async def aclose(self, timeout_seconds: float = CLOSE_SECONDS) -> None:
        """Deliver what is queued, then end every listener's task; may be called twice.

        Args:
            timeout_seconds: Bound for all of it; half is for delivering, half for tasks to end after cancellation.
        """
        self._is_closed = True
        self._routes.clear()
        self._responders.clear()
        tasks = {queue.task for queue in self._queues} - {asyncio.current_task()}
        if not tasks:
            return
        _, hanging = await asyncio.wait(tasks, timeout=timeout_seconds / 2)
        for task in hanging:
            task.cancel()
        if hanging:
            _, hanging = await asyncio.wait(hanging, timeout=timeout_seconds / 2)
        for task in hanging:
            logger.error("The task %r does not end when cancelled", task.get_name())

    def _check_usable(self, pattern: str = "*") -> None:
        if threading.get_ident() != self._thread:
            raise _wrong_thread()
        if self._is_closed:
            raise InternalError("The event bus is closed")
        checked_pattern(pattern)

    def _keep(self, queue: ListenerQueue) -> ListenerQueue:
        self._queues.add(queue)
        queue.task.add_done_callback(lambda _: self._queues.discard(queue))
        return queue

    def _detach(self, route: Subscription) -> None:
        if isinstance(route, Route):
            self._routes.remove(route)
            if route.queue is not None:
                # Queued events are still delivered to a listener that wanted only one, and when the bus closes.
                route.queue.finish(drop=not (route.is_once or self._is_closed))


class _Routes:
    """The subscriptions of each event name.

    For each name, the emitter keeps the entries of all subscriptions whose pattern matches, in the order they were
    made: matching costs each subscription and the first publication of a name, not every publication.
    """

    def __init__(self) -> None:
        self.listened: dict[str, bool] = {}
        """True for a name that has listeners; a missing name was never looked up."""
        self._routes: dict[Route, None] = {}
        self._emitter = EventEmitter()
        self.emit = self._emitter.emit
        # Without a listener to "error", pyee raises out of emit() and the remaining listeners get nothing.
        self._emitter.add_listener("error", _log_error)

    def __len__(self) -> int:
        return len(self._routes)

    def add(self, route: Route) -> None:
        self._routes[route] = None
        for name in filter(route.matches, self.listened):
            self._emitter.add_listener(name, route.entry)
            self.listened[name] = True

    def remove(self, route: Route) -> None:
        del self._routes[route]
        for name in filter(route.matches, self.listened):
            self._emitter.remove_listener(name, route.entry)
            self.listened[name] = bool(self._emitter.listeners(name))

    def resolve(self, name: str) -> bool:
        """Connect the subscriptions to a new name; True if there are any."""
        matching = [route for route in self._routes if route.matches(name)]
        for route in matching:
            self._emitter.add_listener(name, route.entry)
        self.listened[name] = bool(matching)
        return bool(matching)

    def clear(self) -> None:
        for route in list(self._routes):
            route.unsubscribe()


class _Responders:
    """The responders of each query."""

    def __init__(self, tally: Tally) -> None:
        self._by_name: dict[str, dict[Subscription, Responder]] = {}
        self._tally = tally

    def add(self, name: str, responder: Responder) -> Subscription:
        """Add a responder after those of the same query."""
        subscription = Subscription(name, self._remove)
        self._by_name.setdefault(name, {})[subscription] = responder
        return subscription

    async def ask(self, name: str, payload: Any) -> Any | None:
        """Return the first answer that is not None, or None."""
        for subscription, responder in list(self._by_name.get(name, {}).items()):
            answer = await self._ask_one(responder, payload) if subscription.is_active else None
            if answer is not None:
                return answer
        return None

    def clear(self) -> None:
        """End all subscriptions."""
        for responders in list(self._by_name.values()):
            for subscription in list(responders):
                subscription.unsubscribe()

    async def _ask_one(self, responder: Responder, payload: Any) -> Any | None:
        try:
            answer = responder(payload)
            return await answer if isawaitable(answer) else answer
        except Exception:  # noqa: BLE001 - foreign code: the next responder may know
            self._tally.count_failure(responder)
            return None

    def _remove(self, subscription: Subscription) -> None:
        responders = self._by_name[subscription.pattern]
        del responders[subscription]
        if not responders:
            del self._by_name[subscription.pattern]


def _log_error(error: object) -> None:
    logger.error("pyee reported %r", error)


def _wrong_thread() -> InternalError:
    return InternalError(
        "The event bus was used from a thread that is not its loop's",
        suggested_action="Hand the event over with loop.call_soon_threadsafe(bus.publish, event).",
    )
