"""Sees to it that a mirror that hangs keeps no call, where the call's own thread brings it the change.

A small change is carried into a healthy mirror by the thread that has just made it, which saves waking another one. That
thread may hang with the mirror's disk. So the loop looks now and then at what is under way, and lets go of a thread that
has taken too long: its call returns with the mirror pending, and another thread takes its place.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from filetools.facade.parts import Parts
from filetools.facade.worker_pool import Hop

if TYPE_CHECKING:
    from filetools.facade.way import Outcome
    from filetools.sync.following import InlineFollower

LOOKS_AT_A_MIRROR: Final = 4
"""How often a mirror is looked at in the time that a call waits for it."""


class MirrorWatch:
    """Sees to it that no call waits for a mirror that hangs in the call's own thread. One an opened workspace, on its loop."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._calls: dict[Hop[Outcome], tuple[Outcome, InlineFollower] | None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, hop: Hop[Outcome]) -> None:
        """Watch a call that has begun."""
        self._calls.setdefault(hop, None)
        if self._timer is None:
            self._look_later()

    def landed(self, hop: Hop[Outcome], outcome: Outcome, follower: InlineFollower) -> None:
        """Know what becomes of a call without its mirror; from its thread."""
        if not hop.done():
            self._calls[hop] = (outcome, follower)

    def end(self, hop: Hop[Outcome]) -> None:
        """Watch a call no longer."""
        self._calls.pop(hop, None)

    def _look_later(self) -> None:
        pause = self._parts.settings.mirror_wait_seconds / LOOKS_AT_A_MIRROR
        self._timer = asyncio.get_running_loop().call_later(pause, self._look)

    def _look(self) -> None:
        self._timer = None
        for hop, landed in tuple(self._calls.items()):
            if landed is not None and landed[1].give_up():
                self._parts.crew.let_go(hop, landed[0])
        if self._calls:
            self._look_later()
