"""The strict policy: a change is in the primary and in every mirror, or in none of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from filetools.errors import FileToolsError, SyncFailedError
from filetools.sync.actions import MirrorAction, OutOfStepError, places
from filetools.sync.lane import AbandonedError, Job
from filetools.sync.mirror import Mirror
from filetools.sync.steps import Step

RETRIES: Final = 3
_FIRST_PAUSE_SECONDS: Final = 0.01

_log = logging.getLogger(__name__)


class _Part:
    """The steps of a ticket in one mirror. Its methods run in the mirror's front lane."""

    def __init__(self, mirror: Mirror, actions: Sequence[MirrorAction]) -> None:
        self.mirror = mirror
        self.actions = actions
        self._pending: list[tuple[MirrorAction, Step]] = []
        self._exchanged: list[tuple[MirrorAction, Step]] = []

    def prepare(self, job: Job[None]) -> None:
        """Prepare every step, or none."""
        mirrored = self.mirror.mirrored(self.actions)
        try:
            for action in mirrored:
                step = self.mirror.step(action)
                self._pending.append((action, step))
                step.prepare()
                if not step.is_ready:
                    raise OutOfStepError(action.path)
                if job.is_abandoned:
                    raise AbandonedError
        except Exception:
            self.discard(job)
            raise

    def exchange(self, job: Job[None]) -> None:
        """Exchange the steps that are left, in order, trying each again a few times."""
        while self._pending:
            action, step = self._pending[0]
            self._exchange_one(step, job)
            self._exchanged.append(self._pending.pop(0))

    def _exchange_one(self, step: Step, job: Job[None]) -> None:
        for attempt in range(RETRIES + 1):
            try:
                step.exchange(job.go_on)
            except FileToolsError:
                if attempt == RETRIES:
                    raise
                time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
            else:
                return

    def set_back(self, job: Job[None]) -> None:
        """Undo what was exchanged, the last first, and drop the rest."""
        while self._exchanged:
            self._exchanged.pop()[1].set_back()
        self.discard(job)

    def finish(self, job: Job[None]) -> None:
        """Let go of what came out, and pay."""
        while self._exchanged:
            action, step = self._exchanged.pop(0)
            step.finish()
            self.mirror.note(action)

    def discard(self, job: Job[None]) -> None:
        """Drop what was prepared."""
        while self._pending:
            self._pending.pop()[1].discard()


class StrictTicket:
    """A change prepared in every mirror. Lives from before the commit to the end of the call, under its paths' locks."""

    def __init__(self, mirrors: Sequence[Mirror], actions: Sequence[MirrorAction], wait_seconds: float) -> None:
        """Prepare the actions; see `SyncManager.prepare_strict`."""
        self._wait_seconds = wait_seconds
        self._parts = [_Part(mirror, actions) for mirror in mirrors]
        self._is_exchanged = False
        for part in self._parts:
            part.mirror.check()
        try:
            for part in self._parts:
                self._run(part, part.prepare)
        except BaseException:
            self.discard()
            raise

    def exchange(self) -> None:
        """Make the change in every mirror; call it last, after the commit and the primary's exchange.

        Raises:
            SyncFailedError: A mirror failed, after retries; those that had succeeded were set back.
        """
        try:
            for part in self._parts:
                self._run(part, part.exchange)
        except BaseException:
            self.set_back()
            raise
        for part in self._parts:
            part.mirror.front.submit(part.mirror.guarded(part.finish))

    def set_back(self) -> None:
        """Undo what `exchange` has done, and drop the rest; what cannot be undone now is left to catching up."""
        for part in self._parts:
            self._quietly(part, part.set_back)

    def discard(self) -> None:
        """Drop what was prepared and not exchanged; may be called twice."""
        for part in self._parts:
            self._quietly(part, part.discard)

    def _quietly(self, part: _Part, work: Callable[[Job[None]], None]) -> None:
        try:
            self._run(part, work)
        except SyncFailedError as exc:
            _log.warning("%s", exc)
            part.mirror.doubt(place for action in part.actions for place in places(action))

    def _run(self, part: _Part, work: Callable[[Job[None]], None]) -> None:
        mirror = part.mirror
        path = part.actions[0].path if part.actions else None
        job = mirror.front.submit(mirror.guarded(work), partial(_ended, part))
        if not job.wait(self._wait_seconds) and job.abandon():
            error = SyncFailedError(path, f"mirror {mirror.name!r} did not answer in {self._wait_seconds:g} s")
            mirror.missed(error)
            raise error
        if job.is_abandoned:
            raise SyncFailedError(path, f"mirror {mirror.name!r} is not ready")
        try:
            job.result()
        except OutOfStepError as exc:
            raise SyncFailedError(path, f"mirror {mirror.name!r} is out of step at {exc.path!r}") from exc
        except FileToolsError as exc:
            raise SyncFailedError(path, f"mirror {mirror.name!r} refused: {exc.message}") from exc


def _ended(part: _Part, job: Job[None]) -> None:
    if job.is_late:
        part.mirror.doubt(place for action in part.actions for place in places(action))
