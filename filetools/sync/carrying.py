"""Carrying the actions of a call into a mirror, in its front worker, and what leaves the backlog afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from filetools.journal.journal import Journal
from filetools.sync.actions import MirrorAction, MirrorMove, MirrorPut, MirrorRemove, places
from filetools.sync.anticipation import Ahead
from filetools.sync.completions import Completion
from filetools.sync.context import SyncContext
from filetools.sync.mirror import Mirror
from filetools.sync.mirror_worker import Job
from filetools.sync.steps import MakeDirectoryStep, MirrorStep, step_for

_MANY_ENTRIES: Final = 1000


class Carrier:
    """Turns actions into steps of one mirror, and finished steps into completions. Thread-safe; lives as the mirror."""

    def __init__(self, context: SyncContext, mirror: Mirror) -> None:
        self.mirror = mirror
        self._context = context

    def follow(self, actions: Sequence[MirrorAction], ahead: Ahead | None = None) -> Job[None]:
        """Queue the actions of one committed change in the front worker.

        Args:
            actions: What to do.
            ahead: What was prepared of it before the commit.
        """
        work = self.mirror.guarded(partial(self._carry, actions, ahead))
        return self.mirror.front.submit(work, partial(self._ended, actions, ahead))

    def claim(self, actions: Sequence[MirrorAction]) -> Job[None] | None:
        """Return the job of one committed change for the calling thread to do now, if the front worker is idle."""
        work = self.mirror.guarded(partial(self._carry, actions, None))
        return self.mirror.front.claim(work, partial(self._ended, actions, None))

    def suspect_if_late(self, actions: Sequence[MirrorAction], job: Job[None]) -> None:
        """Suspect the paths of a job that may have changed the mirror after its locks were gone."""
        if job.is_late:
            self.mirror.suspect(place for action in actions for place in places(action))

    def step(self, action: MirrorAction) -> MirrorStep:
        """Return the step of an action."""
        return step_for(self.mirror.files, action, self._moved_version)

    def mirrored(self, actions: Sequence[MirrorAction]) -> Sequence[MirrorAction]:
        """Return what actions mean without the paths that are left out of mirrors; those need nothing to be paid."""
        found: list[MirrorAction] = []
        for action in actions:
            left_out = [self._context.is_left_out(path) for _, path in places(action)]
            if not any(left_out):
                found.append(action)
                continue
            for (key, path), is_left_out in zip(places(action), left_out, strict=True):
                if is_left_out:
                    number = self._number(action, key)
                    self.mirror.completions.note(Completion(key=key, path=path, number=number, needs_sync=False))
            if isinstance(action, MirrorMove) and left_out == [True, False]:
                found.append(MirrorRemove(path=action.source, key=action.source_key, number=action.number))
            elif isinstance(action, MirrorMove) and left_out == [False, True]:
                self.mirror.work.set()  # the mirror has nothing to move; catching up writes it
        return found

    def completions(self, action: MirrorAction, step: MirrorStep) -> list[Completion]:
        """Return what can be paid once an action was exchanged; call it under the locks of its paths.

        Nothing for a moved directory of which the mirror owes something, nor for a directory that was there already, which
        may be one that is owed to go: catching up has to look at each file.
        """
        if isinstance(step, MakeDirectoryStep) and action.path not in step.made:
            self.mirror.work.set()
            return []
        if isinstance(action, MirrorMove) and action.version is None and self._owes_of(action.source_key):
            self.mirror.work.set()
            return []
        found = []
        for key, path in places(action):
            number = self._number(action, key)
            if number is not None and number < 0:
                self.mirror.work.set()  # an older change is owed here as well
                continue
            head = number if isinstance(action, MirrorPut) else None
            found.append(Completion(key=key, path=path, number=number, head=head))
        return found

    def _carry(self, actions: Sequence[MirrorAction], ahead: Ahead | None, job: Job[None]) -> None:
        self.mirror.identity.check()
        for action in self.mirrored(actions):
            job.progress()
            prepared = None if ahead is None else ahead.take(action)
            step = prepared or self.step(action)
            try:
                if prepared is None:
                    step.prepare()
                step.exchange(job.go_on)
            except Exception:
                step.discard()
                raise
            completions = self.completions(action, step)
            step.finish()
            if not job.is_abandoned:
                for completion in completions:
                    self.mirror.completions.note(completion)

    def _ended(self, actions: Sequence[MirrorAction], ahead: Ahead | None, job: Job[None]) -> None:
        self.suspect_if_late(actions, job)
        if ahead is not None:
            ahead.discard()

    @property
    def _journal(self) -> Journal:
        return self._context.journal

    def _number(self, action: MirrorAction, key: str) -> int | None:
        """Return the number of an action's entry; of one made before the commit it is the newest of the path."""
        if action.number:
            return action.number
        entry = self._journal.backlog.get(self.mirror.place, key)
        return None if entry is None else entry.number

    def _moved_version(self, action: MirrorMove) -> str | None:
        """Return the version of a moved file: before the commit it is the source's head, after it the destination's."""
        for key in (action.key, action.source_key):
            head = self._journal.view(key).head
            if head is not None and head.version is not None and (key != action.key or head.number == action.number):
                return head.version
        return None

    def _owes_of(self, key: str) -> bool:
        """Whether the mirror may lack something of a folder besides its newest change."""
        entries = self._journal.backlog.of(self.mirror.place, _MANY_ENTRIES, max_tries=1_000_000)
        return len(entries) == _MANY_ENTRIES or any(
            entry.key.startswith(f"{key}/")
            or (entry.key == key and entry.number < 0)
            or (key.startswith(f"{entry.key}/") and not self.mirror.completions.holds(entry))
            for entry in entries
        )
