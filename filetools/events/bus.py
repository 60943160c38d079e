"""The event bus: the only module that touches pyee."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Final

from pyee.base import EventEmitter

from filetools.errors import InternalError, InvalidArgumentError
from filetools.events.subscriptions import (
    BATCH_LIMIT_FACTOR,
    QUEUE_LIMIT_EVENTS,
    BatchQueue,
    Listener,
    ListenerQueue,
    Route,
    Subscription,
    is_async,
    log_failure,
    matches,
    refuse_unknown,
)
from filetools.events.types import Event

logger = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 2.0
_EVENT: Final = "event"
"""The one event of the emitter; each subscription selects by its own pattern."""

Responder = Callable[[Any], Any | Awaitable[Any]]
"""Receives the payload of a query and returns an answer or None; plain or async."""


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
        self._emitter = EventEmitter()
        self._routes: dict[Route, None] = {}
        """The subscriptions to events, oldest first."""
        self._responders: dict[Subscription, Responder] = {}
        self._listened: dict[str, bool] = {}
        """Whether events of a name have a listener, as far as asked since the last subscription changed."""
        self._queues: set[ListenerQueue] = set()
        self._is_closed = False

    def subscribe(self, pattern: str, listener: Listener, *, once: bool = False) -> Subscription:
        """Call a listener for every event whose name matches.

        Args:
            pattern: An event name ("file:created"), the beginning of names and a star ("file:*"), or "*".
            listener: Called with the event; plain or async. An async one gets a `Resync`, whatever its pattern, in
                place of the events that its full queue could not hold.
            once: True to unsubscribe after the first event.

        Raises:
            InvalidArgumentError: No event has such a name; the error names those that there are.
            InternalError: The bus is closed, or belongs to another thread.
        """
        self._check_usable(pattern)

        def open_queue(first: Awaitable[None] | None = None) -> ListenerQueue:
            return self._keep(ListenerQueue(listener, self.loop, limit=self._queue_limit, first=first))

        queue = open_queue() if is_async(listener) else None
        return self._add(Route(pattern, self._detach, listener, queue, make_queue=open_queue, once=once))

    def batch(self, pattern: str, listener: Listener, *, wait: float = 0.1, max_wait: float = 1.0) -> Subscription:
        """Call a listener with lists that together hold every event whose name matches, in order.

        Args:
            pattern: As in `subscribe`.
            listener: Called with a list of at least one event; plain or async. While it runs, events are collected.
            wait: Seconds without a new event after which a list is delivered.
            max_wait: Seconds after which it is delivered even if events keep coming.

        Raises:
            InvalidArgumentError: No event has such a name, or not 0 <= wait <= max_wait.
            InternalError: The bus is closed, or belongs to another thread.
        """
        self._check_usable(pattern)
        if not 0 <= wait <= max_wait:
            raise InvalidArgumentError(f"Need 0 <= wait <= max_wait, got {wait!r} and {max_wait!r}")
        limit = self._queue_limit * BATCH_LIMIT_FACTOR
        queue = self._keep(BatchQueue(listener, self.loop, limit=limit, wait=wait, max_wait=max_wait))
        return self._add(Route(pattern, self._detach, listener, queue, make_queue=lambda _: queue))

    def has_listeners(self, name: str) -> bool:
        """True if an event of this name has a listener; lets publishers skip creating it."""
        listened = self._listened.get(name)
        if listened is None:
            listened = self._listened[name] = any(matches(route.pattern, name) for route in self._routes)
        return listened

    def publish(self, event: Event) -> None:
        """Deliver an event: plain listeners run now, async ones find it in their queue. Never waits.

        Does nothing on a closed bus, so that work that ends late need not check.

        Raises:
            InternalError: Called from another thread; hand over with `loop.call_soon_threadsafe(bus.publish, event)`.
        """
        if threading.get_ident() != self._thread:
            raise _wrong_thread()
        self._emitter.emit(_EVENT, event)

    def answer(self, name: str, responder: Responder) -> Subscription:
        """Answer the queries of a name; responders that were added earlier are asked first.

        Raises:
            InternalError: The bus is closed, or belongs to another thread.
        """
        self._check_usable()
        subscription = Subscription(name, self._responders.__delitem__)
        self._responders[subscription] = responder
        return subscription

    async def query(self, name: str, payload: Any = None) -> Any | None:
        """Ask the responders of a name, one after the other.

        A responder that raises is logged and skipped. There is no timeout: callers set the limit.

        Returns:
            The first answer that is not None; None if there is none.
        """
        for subscription, responder in list(self._responders.items()):
            if subscription.pattern == name and subscription.is_active:
                answer = await self._asked(responder, payload)
                if answer is not None:
                    return answer
        return None

    async def _asked(self, responder: Responder, payload: Any) -> Any | None:
        try:
            answer = responder(payload)
            return await answer if isawaitable(answer) else answer
        except Exception:  # noqa: BLE001 - foreign code: the next responder may know
            log_failure(responder)
            return None

    async def aclose(self, timeout_seconds: float = CLOSE_SECONDS) -> None:
        """Deliver what is queued, then end every listener's task; may be called twice.

        Args:
            timeout_seconds: Bound for all of it; half is for delivering, half for tasks to end after cancellation.
        """
        self._is_closed = True
        for subscription in [*self._routes, *self._responders]:
            subscription.unsubscribe()
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
        refuse_unknown(pattern)

    def _keep(self, queue: ListenerQueue) -> ListenerQueue:
        self._queues.add(queue)
        queue.task.add_done_callback(lambda _: self._queues.discard(queue))
        return queue

    def _add(self, route: Route) -> Route:
        self._routes[route] = None
        self._listened.clear()
        self._emitter.add_listener(_EVENT, route.deliver)
        return route

    def _detach(self, route: Subscription) -> None:
        assert isinstance(route, Route)
        del self._routes[route]
        self._listened.clear()
        self._emitter.remove_listener(_EVENT, route.deliver)
        if route.queue is not None:
            # Queued events are still delivered to a listener that wanted only one, and when the bus closes.
            route.queue.finish(drop=not (route.is_once or self._is_closed))


def _wrong_thread() -> InternalError:
    return InternalError(
        "The event bus was used from a thread that is not its loop's",
        suggested_action="Hand the event over with loop.call_soon_threadsafe(bus.publish, event).",
    )
