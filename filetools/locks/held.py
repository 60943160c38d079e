"""What a caller has while it holds locks."""

from __future__ import annotations

from collections.abc import Sequence

from filetools.errors import InternalError
from filetools.locks.stripe import Stripe


class HeldLocks:
    """The locks of one `hold`. Valid inside its `async with` block only."""

    __slots__ = ("_is_begun", "_is_released", "acquired_at", "keys", "owner", "path", "stripes")

    def __init__(self, keys: Sequence[str], stripes: Sequence[Stripe], *, path: str, owner: str) -> None:
        self.keys = tuple(keys)
        """What was asked for."""
        self.path = path
        self.owner = owner
        self.stripes = stripes
        """What the keys stand for, ascending."""
        self.acquired_at = 0.0
        """Seconds since the epoch when the last of them was taken."""
        self._is_begun = False
        self._is_released = False

    def is_valid(self) -> bool:
        """Whether every lock is still held: not released, not forked away, and no lock file was deleted meanwhile."""
        return not self._is_released and all(stripe.is_valid() for stripe in self.stripes)

    def begin(self) -> None:
        """Note that the locks are about to be taken.

        Raises:
            InternalError: They were taken before.
        """
        if self._is_begun:
            raise InternalError(f"The same hold of {self.path} was entered twice")
        self._is_begun = True

    def release(self) -> None:
        """Give back what was taken, the last first; does nothing a second time, nor in a forked child."""
        if self._is_released:
            return
        self._is_released = True
        for stripe in reversed(self.stripes):
            if stripe.holder is self:
                stripe.leave()
