"""The strict policy: a change is in the primary and in every mirror, or in none of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from filetools.errors import FileToolsError, SyncFailedError
from filetools.sync.actions import MirrorAction, OutOfStepError, places
from filetools.sync.carrying import Carrier
from filetools.sync.completions import Completion
from filetools.sync.mirror_worker import Job
from filetools.sync.steps import MirrorStep

RETRIES: Final = 3
_FIRST_PAUSE_SECONDS: Final = 0.01

_log = logging.getLogger(__name__)


class _StrictPart:
    """The steps of a ticket in one mirror. Its methods run in the mirror's front worker."""

    def __init__(self, carrier: Carrier, actions: Sequence[MirrorAction]) -> None:
        self.carrier = carrier
        self.mirror = carrier.mirror
        self.actions = actions
        self._pending: list[tuple[MirrorAction, MirrorStep]] = []
        self._exchanged: list[MirrorStep] = []
        self._completions: list[Completion] = []

    def prepare(self, job: Job[None]) -> None:
        """Prepare every step, or none."""
        try:
            self.mirror.identity.check()
            for action in self.carrier.mirrored(self.actions):
                self._prepare_one(action, job)
        except Exception:
            self.discard(job)
            raise

    def _prepare_one(self, action: MirrorAction, job: Job[None]) -> None:
        step = self.carrier.step(action)
        self._pending.append((action, step))
        step.prepare()
        if not step.is_ready:
            raise OutOfStepError(action.path)
        job.progress()

    def exchange(self, job: Job[None]) -> None:
        """Exchange the steps in order, trying each again a few times."""
        self.mirror.identity.check()
        while self._pending:
            action, step = self._pending[0]
            _exchange(step, job)
            self._completions += self.carrier.completions(action, step)
            self._exchanged.append(self._pending.pop(0)[1])

    def set_back(self, job: Job[None]) -> None:
        """Undo what was exchanged, the last first, and drop the rest."""
        while self._exchanged:
            job.go_on()
            self._exchanged.pop().set_back()
        self.discard(job)

    def finish(self, job: Job[None]) -> None:
        """Let go of what came out, and pay."""
        for step in self._exchanged:
            step.finish()
        for completion in self._completions:
            self.mirror.completions.note(completion)

    def discard(self, job: Job[None]) -> None:
        """Drop what was prepared."""
        while self._pending:
            self._pending.pop()[1].discard()

    def suspect(self) -> None:
        """Leave the paths to catching up."""
        self.mirror.suspect(place for action in self.actions for place in places(action))


class StrictTicket:
    """A change prepared in every mirror. Lives from before the commit to the end of the call, under its paths' locks."""

    def __init__(self, carriers: Sequence[Carrier], actions: Sequence[MirrorAction], wait_seconds: float) -> None:
        """Prepare the actions; see `SyncManager.prepare_strict`."""
        self._wait_seconds = wait_seconds
        self._parts = [_StrictPart(carrier, actions) for carrier in carriers]
        self._path = actions[0].path if actions else None
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
        """Undo what `exchange` has done, and drop the rest; may be called twice.

        What cannot be undone now is left to catching up, which writes what the compensating record says.
        """
        self._quietly(lambda part: part.set_back)

    def discard(self) -> None:
        """Drop what was prepared and not exchanged; may be called twice."""
        self._quietly(lambda part: part.discard)

    def _quietly(self, choose: Callable[[_StrictPart], Callable[[Job[None]], None]]) -> None:
        for part in self._parts:
            if part.mirror.front.is_stuck:
                # Undoing after the locks are gone could put an older version over a newer one.
                part.mirror.front.submit(part.discard)
                part.suspect()
                continue
            try:
                self._run(part, choose(part))
            except SyncFailedError as exc:
                _log.warning("%s", exc)
                part.suspect()

    def _run(self, part: _StrictPart, work: Callable[[Job[None]], None]) -> None:
        mirror = part.mirror
        late = partial(part.carrier.suspect_if_late, part.actions)
        job = mirror.front.submit(mirror.guarded(work), late)
        if not job.wait(self._wait_seconds) and job.abandon():
            error = SyncFailedError(self._path, f"mirror {mirror.name!r} did not answer in {self._wait_seconds:g} s")
            mirror.missed(error)
            raise error
        if job.is_abandoned:
            raise SyncFailedError(self._path, f"mirror {mirror.name!r} is not ready") from job.error
        try:
            job.result()
        except OutOfStepError as exc:
            raise SyncFailedError(self._path, f"mirror {mirror.name!r} is out of step at {exc.path!r}") from exc
        except FileToolsError as exc:
            raise SyncFailedError(self._path, f"mirror {mirror.name!r} refused: {exc.message}") from exc


def _exchange(step: MirrorStep, job: Job[None]) -> None:
    for attempt in range(RETRIES):
        try:
            step.exchange(job.go_on)
        except FileToolsError as exc:
            _log.info("a strict mirror is tried again: %s", exc)
            time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        else:
            return
    step.exchange(job.go_on)
