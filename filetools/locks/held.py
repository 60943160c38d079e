"""What a caller has while it holds locks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from filetools.errors import InternalError
from filetools.locks.stripe import Stripe


class HeldLocks:
    """The locks of one `hold`. Valid inside its `async with` block only."""

    __slots__ = ("_is_released", "acquired_at", "keys", "owner", "path", "stripes", "task")

    def __init__(self, keys: Sequence[str], stripes: Sequence[Stripe], *, path: str, owner: str) -> None:
        self.keys = tuple(keys)
        """What was asked for."""
        self.path = path
        self.owner = owner
        self.stripes = stripes
        """What the keys stand for, ascending."""
        self.task: asyncio.Task[Any] | None = None
        """The task that took them, while it holds them."""
        self.acquired_at = 0.0
        """Seconds since the epoch when the last of them was taken."""
        self._is_released = False

    def is_valid(self) -> bool:
        """Whether every lock is still held: not released, not forked away, and no lock file was deleted meanwhile."""
        return not self._is_released and all(stripe.is_valid() for stripe in self.stripes)

    def begin(self, task: asyncio.Task[Any] | None) -> None:
        """Note who is about to take the locks.

        Raises:
            InternalError: They were taken before.
        """
        if self.task is not None or self._is_released:
            raise InternalError(f"The same hold of {self.path} was entered twice")
        self.task = task

    def release(self) -> None:
        """Give back what was taken, the last first; does nothing a second time, nor in a forked child."""
        if self._is_released:
            return
        self._is_released = True
        self.task = None
        for stripe in reversed(self.stripes):
            if stripe.holder is self:
                stripe.leave()
