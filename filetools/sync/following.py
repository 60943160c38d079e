"""Following a change in an eventual mirror: begun right after the commit, joined for a bounded time."""

from __future__ import annotations

import time
from collections.abc import Sequence

from filetools.models import MirrorStatus
from filetools.sync.actions import MirrorAction
from filetools.sync.anticipation import Anticipation
from filetools.sync.carrying import Carrier
from filetools.sync.mirror import Mirror
from filetools.sync.mirror_worker import Job


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
        if job.is_abandoned or job.error is not None:
            mirror.skipped(self._newest)
        if job.is_abandoned:
            return False
        if job.error is not None and not isinstance(job.error, Exception):
            raise job.error
        return job.error is None
