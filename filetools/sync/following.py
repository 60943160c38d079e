"""Following a change in an eventual mirror: begun right after the commit, joined for a bounded time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Final

from filetools.models.words import MirrorStatus
from filetools.sync.actions import MirrorAction, MirrorPut
from filetools.sync.anticipation import Anticipation
from filetools.sync.carrying import Carrier
from filetools.sync.mirror import Mirror
from filetools.sync.mirror_worker import Job

MOST_INLINE: Final = 4
"""Actions of a call that its own thread carries into a mirror; more are better done beside the primary's."""
LARGEST_INLINE_BYTES: Final = 1024 * 1024
"""Size of a file from which two threads are quicker than one."""


class Follower:
    """The mirrors' part of one call. Lives from the commit to the end of the call; belongs to its thread."""

    def __init__(
        self,
        carriers: Sequence[Carrier],
        actions: Sequence[MirrorAction],
        wait_seconds: float,
        anticipated: Anticipation | None = None,
    ) -> None:
        """Queue the actions with the front worker of each mirror that takes calls."""
        self._deadline = time.monotonic() + wait_seconds
        self._jobs: tuple[tuple[Mirror, Job[None]], ...] = tuple(
            (carrier.mirror, carrier.follow(actions, anticipated.take(carrier.mirror) if anticipated else None))
            for carrier in carriers
            if carrier.mirror.takes_calls
        )
        if anticipated is not None:
            anticipated.discard()
        following = [mirror for mirror, _ in self._jobs]
        self._newest = max((action.number for action in actions), default=0)
        for carrier in carriers:
            if carrier.mirror not in following:
                carrier.mirror.skipped(self._newest)
        self._is_complete = len(self._jobs) == len(carriers)
        self._is_off = not carriers

    def join(self) -> MirrorStatus:
        """Wait for the mirrors until the time since the beginning is over; one that takes longer catches up later.

        Returns:
            "in_sync" if every mirror has followed, "pending" if one has not yet, "off" if there is none.
        """
        if self._is_off:
            return "off"
        followed = [self._has_followed(mirror, job) for mirror, job in self._jobs]
        return "in_sync" if self._is_complete and all(followed) else "pending"

    def abandon(self) -> None:
        """Wait no more; what a mirror has done already is set right by catching up."""
        for mirror, job in self._jobs:
            job.abandon()
            mirror.skipped(self._newest)

    def _has_followed(self, mirror: Mirror, job: Job[None]) -> bool:
        if not job.wait(self._deadline - time.monotonic()) and job.abandon():
            mirror.skipped(self._newest)
            mirror.late()
            return False
        return _has_followed(mirror, job, self._newest)


def are_small(actions: Sequence[MirrorAction]) -> bool:
    """Whether actions take less time than waking another thread for them."""
    if not 0 < len(actions) <= MOST_INLINE:
        return False
    return all(not isinstance(action, MirrorPut) or len(action.content) < LARGEST_INLINE_BYTES for action in actions)


class InlineFollower:
    """The mirror's part of a small call, done in the call's own thread when everything else is done.

    The thread may hang with the mirror; so whoever waits for the thread asks `give_up` now and then, and goes on without it.
    """

    def __init__(self, carrier: Carrier, actions: Sequence[MirrorAction], wait_seconds: float) -> None:
        self._carrier = carrier
        self._actions = actions
        self._wait_seconds = wait_seconds
        self._newest = max(action.number for action in actions)
        self._deadline = math.inf
        self._job: Job[None] | None = None

    def join(self) -> MirrorStatus:
        """Follow now; by the mirror's own worker where that is busy, or the mirror takes no calls any more."""
        mirror = self._carrier.mirror
        job = self._carrier.claim(self._actions) if mirror.takes_calls else None
        if job is None:
            return Follower([self._carrier], self._actions, self._wait_seconds).join()
        self._deadline, self._job = time.monotonic() + self._wait_seconds, job
        mirror.front.run_claimed(job)
        return "in_sync" if _has_followed(mirror, job, self._newest) else "pending"

    def abandon(self) -> None:
        """Follow nothing; catching up will."""
        self._carrier.mirror.skipped(self._newest)

    def give_up(self) -> bool:
        """Leave the mirror behind if it takes too long; True if that is so. From any thread."""
        if time.monotonic() < self._deadline or self._job is None or not self._job.abandon():
            return False
        self._carrier.mirror.skipped(self._newest)
        self._carrier.mirror.late()
        return True


def _has_followed(mirror: Mirror, job: Job[None], newest: int) -> bool:
    """Whether a mirror has followed a change, by a job that has ended or that nobody waits for any more."""
    if job.is_abandoned or job.error is not None:
        mirror.skipped(newest)
    if job.is_abandoned:
        return False
    if job.error is not None and not isinstance(job.error, Exception):
        raise job.error
    return job.error is None
