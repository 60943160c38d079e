"""Subscriptions: the connection between the bus and one listener."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from importlib import import_module
from inspect import isawaitable
from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.events.listeners import BusStatistics, Listener, ListenerQueue
from filetools.events.types import Event

LONGEST_COMPARED: Final = 100

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
        statistics: Counts the listener's failures.
        queue: The queue of an async listener, or of a batch; None for a plain listener.
        make_queue: Makes one for a plain listener that turns out to be async.
        once: True to end after the first event.
    """

    def __init__(
        self,
        pattern: str,
        detach: Callable[[Subscription], None],
        listener: Listener,
        statistics: BusStatistics,
        queue: ListenerQueue | None,
        *,
        make_queue: QueueMaker,
        once: bool = False,
    ) -> None:
        super().__init__(pattern, detach)
        self.queue = queue
        self.is_once = once
        self._listener = listener
        self._statistics = statistics
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
            self._statistics.count_failure(self._listener)
            return
        if answer is not None and isawaitable(answer):
            # A plain function that returns a coroutine shows only now that it is async.
            self.queue = self._make_queue(answer)
            if not self.is_active:
                self.queue.finish(drop=True)  # it ended before there was a queue to end


def known_pattern(pattern: str) -> str:
    """Return the pattern if an existing event may match it: one of filetools, or of a class derived from `Event`.

    Raises:
        InvalidArgumentError: No event matches; the message names the nearest.
    """
    if not isinstance(given := pattern, str):
        raise InvalidArgumentError(f"An event is named by text such as 'file:modified', not by {type(given).__name__}")
    names = event_names()
    if any(matches(pattern, name) for name in names):
        return pattern
    topic = pattern.rpartition(":")[0]
    of_topic = sorted(name for name in names if name.rpartition(":")[0] == topic)
    known = of_topic or [*names, *{f"{name.rpartition(':')[0]}:*" for name in names}]
    # Bounded: the comparison is quadratic in the length of what a caller gave.
    nearest = get_close_matches(pattern[:LONGEST_COMPARED], sorted(known), n=1, cutoff=0.5)
    hints = [f"did you mean {each!r}?" for each in nearest]
    if of_topic or not nearest:
        hints.append(f"there are {', '.join(of_topic or sorted(names))}")
    raise InvalidArgumentError(f"There is no event {pattern!r}; {' '.join(hints)}")


def event_names() -> set[str]:
    """Return the names of all events."""
    for module in ("activity", "buffers"):
        import_module(f"filetools.events.{module}")  # its classes exist once it is imported
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


def checked_pattern(pattern: str) -> str:
    """Return the pattern if an event may match it.

    Raises:
        InvalidArgumentError: It is neither "*", nor "topic:fact", nor such a name's beginning followed by "*".
    """
    # ":" avoids the names that the emitter uses itself, "error" and "new_listener".
    if pattern != "*" and (":" not in pattern or "*" in pattern[:-1] or pattern != pattern.strip()):
        raise InvalidArgumentError(f"Bad event pattern {pattern!r}: use a name like 'file:created', 'file:*' or '*'")
    return pattern
