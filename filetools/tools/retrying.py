"""Trying again what may succeed later: how often, after which pauses, and what is told about it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from filetools.errors import FileToolsError
from filetools.events.activity import RetryAttempted, RetryExhausted, RetryFailed, RetryQueued, RetrySucceeded
from filetools.events.types import Event

T = TypeVar("T")
Publish = Callable[[Event], None]


def is_retryable(error: FileToolsError) -> bool:
    """Whether the error's code says that the same call may succeed later."""
    return error.retryable


def ignore_event(event: Event) -> None:
    """Do nothing: the `Publish` of work that nobody follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and after which pauses something is tried again."""

    retries: int = 3
    """Most repetitions after the first try."""
    first_pause_seconds: float = 1.0
    """Pause before the first repetition; it doubles each time."""
    longest_pause_seconds: float = 30.0
    chance_seconds: float = 0.3
    """Up to so much is added by chance, so that many callers do not come back together."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    """Returns a number from 0 up to 1."""

    def pause_seconds(self, repetition: int) -> float:
        """Return the pause before a repetition, counted from 1."""
        doubled = self.first_pause_seconds * 2.0 ** min(repetition - 1, 64)
        return min(doubled, self.longest_pause_seconds) + self.chance_seconds * self.chance()


class Retrier:
    """Runs one piece of work until it succeeds or trying again makes no sense; used once.

    Args:
        what: The work, in words a person understands.
        policy: How often and after which pauses.
        is_worth_it: Whether an error is worth another try.
        publish: Receives the `retry:*` events.
        path: The path the work is about.
    """

    def __init__(
        self,
        what: str,
        *,
        policy: RetryPolicy,
        is_worth_it: Callable[[FileToolsError], bool] = is_retryable,
        publish: Publish = ignore_event,
        path: str | None = None,
    ) -> None:
        self._what = what
        self._policy = policy
        self._is_worth_it = is_worth_it
        self._publish = publish
        self._path = path
        self.attempts = 0
        """How often the work was begun."""

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` returns; between two tries nothing of it is running.

        Raises:
            FileToolsError: The error of the last try.
        """
        while True:
            self._begin()
            try:
                result = await work()
            except FileToolsError as error:
                pause_seconds = self._pause_after(error)
                if pause_seconds is None:
                    raise
            else:
                if self.attempts > 1:
                    self._publish(RetrySucceeded(what=self._what, path=self._path, attempt=self.attempts - 1))
                return result
            await self._policy.sleep(pause_seconds)

    def _begin(self) -> None:
        self.attempts += 1
        if self.attempts > 1:
            self._publish(
                RetryAttempted(
                    what=self._what, path=self._path, attempt=self.attempts - 1, max_attempts=self._policy.retries
                )
            )

    def _pause_after(self, error: FileToolsError) -> float | None:
        """Return how long to wait before the next try, or None if this error is the last word."""
        if not self._is_worth_it(error):
            if self.attempts > 1:
                self._publish(RetryFailed(what=self._what, path=self._path, error=error.message))
            return None
        if self.attempts > self._policy.retries:
            self._publish(RetryExhausted(what=self._what, path=self._path, attempts=self.attempts, error=error.message))
            return None
        pause_seconds = self._policy.pause_seconds(self.attempts)
        self._publish(RetryQueued(what=self._what, path=self._path, delay_seconds=pause_seconds))
        return pause_seconds


async def retry(
    call: Callable[[], Awaitable[T]],
    *,
    what: str = "call",
    policy: RetryPolicy | None = None,
    publish: Publish = ignore_event,
) -> T:
    """Call something, and again while its errors are retryable: at most 3 times more, after 1, 2 and 4 s and some chance.

    Args:
        call: Makes one try, such as `lambda: files.write_file("a", text)`.
        what: The work, for events.
        policy: Other numbers.
        publish: Receives the `retry:*` events, such as `files.bus.publish`.

    Raises:
        FileToolsError: The error of the last try.
    """
    return await Retrier(what, policy=policy or RetryPolicy(), publish=publish).run(call)
