"""Writing the temporary files of a mirror while the journal is still at work, so that only exchanges are left after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from filetools.sync.actions import MirrorAction, MirrorPut
from filetools.sync.mirror import Mirror
from filetools.sync.mirror_files import MirrorFiles
from filetools.sync.mirror_worker import Job
from filetools.sync.steps import PutStep


class Ahead:
    """What one mirror has prepared of one call before its commit. Used in the mirror's front worker only."""

    def __init__(self, files: MirrorFiles, actions: Sequence[MirrorPut]) -> None:
        self._files = files
        self._actions = actions
        self._steps: dict[str, PutStep] = {}

    def prepare(self, job: Job[None]) -> None:
        """Write every file that needs nothing but writing; whatever stands in the way of others, following meets again."""
        for action in self._actions:
            if job.is_abandoned:
                return
            step = PutStep(self._files, action)
            if step.prepare_ahead():
                self._steps[action.key] = step

    def take(self, action: MirrorAction) -> PutStep | None:
        """Return the prepared step of an action, which belongs to the caller from now on."""
        return self._steps.pop(action.key, None)

    def discard(self, _: Job[None] | None = None) -> None:
        """Drop what was not taken; may be called twice."""
        while self._steps:
            self._steps.popitem()[1].discard()


class Anticipation:
    """What all mirrors prepare of one call. Lives from before its commit until it is followed or discarded."""

    def __init__(
        self, mirrors: Sequence[Mirror], actions: Sequence[MirrorAction], is_left_out: Callable[[str], bool]
    ) -> None:
        """Queue the writing in the worker of each mirror that takes calls.

        Nobody waits for it or hears of its failure: the following tries the same again, and knows whom to tell.
        """
        puts = [action for action in actions if isinstance(action, MirrorPut) and not is_left_out(action.path)]
        self._ahead = {mirror: Ahead(mirror.files, puts) for mirror in mirrors if puts and mirror.takes_calls}
        for mirror, ahead in self._ahead.items():
            mirror.front.submit(ahead.prepare)

    def take(self, mirror: Mirror) -> Ahead | None:
        """Return what a mirror has prepared, or is about to; its worker must discard it."""
        return self._ahead.pop(mirror, None)

    def discard(self) -> None:
        """Drop what was not taken, because nothing was committed, or a mirror takes no calls any more."""
        while self._ahead:
            mirror, ahead = self._ahead.popitem()
            mirror.front.submit(ahead.discard)
