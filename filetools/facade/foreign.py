"""Changes that other programs make, journaled as the external actor: seen by the watcher, told like any other change.

A hint says only where to look. What is recorded is what stands there in a turn, compared with the head or,
where there is none, with the names that were known: the echo of a change of our own equals them and is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from filetools.errors import FileToolsError, LockTimeoutError, WorkspaceGoneError
from filetools.facade.foreign_looks import ForeignLooks
from filetools.facade.parts import Parts
from filetools.models.records import EXTERNAL, ChangeRecord
from filetools.paths.workspace_path import WorkspacePath
from filetools.watch.hints import Hint

BATCH_PATHS: Final = 1000
"""Paths that are looked at in one turn, so that a burst costs few commits."""
WAIT_SECONDS: Final = 1.0
"""How long a look waits for its turn, and then is tried again."""

_log = logging.getLogger(__name__)
_OWNER: Final = "watcher"


Record = Callable[[Callable[[], Sequence[ChangeRecord]], str, str, float], Awaitable[None]]
"""`CallRunner.record`."""


class ForeignRecorder:
    """Turns hints into journal records. One an opened workspace; works only in the process that keeps it."""

    def __init__(self, parts: Parts, record: Record) -> None:
        self._parts = parts
        self._record = record
        self._looks = ForeignLooks(parts)
        self._done = 0

    def awaits(self, path: str) -> bool:
        """Whether a hint at a path is looked at, whatever stands there: something is known to have passed through it."""
        return self._looks.awaits(path)

    async def record(self, hints: Sequence[Hint]) -> list[Hint]:
        """Look at the paths of hints and record what has changed there.

        Returns:
            Where to look again: somebody is at work there, or something else turned out to have happened.
        """
        self._looks.again = []
        for several in _batches([hint for hint in hints if self._is_addressable(hint)]):
            # What the batch before has found out may add names to this one.
            for batch in _batches([hint for one in several for hint in self._looks.with_origin(one)]):
                await self._record_batch(batch)
        return list(dict.fromkeys(self._looks.again))

    async def _record_batch(self, batch: Sequence[Hint]) -> None:
        """Record a batch, in as many turns as its time takes; where it fails, in smaller ones."""
        waiting = [batch]
        while waiting:
            hints = waiting.pop()
            done = await self._together(hints)
            cut = done or (len(hints) + 1) // 2
            waiting += [part for part in (hints[cut:], hints[done:cut]) if part and (done or len(hints) > 1)]

    async def _together(self, hints: Sequence[Hint]) -> int:
        """Look at the paths of hints in one turn; returns how many hints are done, from the first on."""
        self._done = 0
        try:
            await self._record(partial(self._commit, hints), hints[0].path, _OWNER, WAIT_SECONDS)
        except LockTimeoutError:
            self._looks.again += hints
            return len(hints)
        except WorkspaceGoneError:
            return len(hints)  # closed meanwhile, or the root was removed: there is nothing to look at any more
        except FileToolsError as exc:
            if len(hints) == 1:
                _log.warning("could not record what another program did to %s: %s", hints[0].path, exc)
            return 0
        return self._done

    def _commit(self, hints: Sequence[Hint]) -> Sequence[ChangeRecord]:
        known = len(self._looks.again)
        try:
            keys = [self._parts.workspace.key(path) for hint in hints for path in _paths(self._parts, hint)]
            changes, self._done = self._looks.look(hints, keys)
            return self._parts.journal.commit(changes, EXTERNAL) if changes else ()
        except BaseException:
            del self._looks.again[known:]  # all of it is looked at once more
            raise

    def _is_addressable(self, hint: Hint) -> bool:
        try:
            _paths(self._parts, hint)
        except FileToolsError:
            return False
        return True


def _batches(hints: Iterable[Hint]) -> Iterator[list[Hint]]:
    """Cut hints into batches in which no path comes twice: what is recorded of it must be seen by the next look.

    The move of a folder is a batch of its own, for what is below it has another name afterwards.
    """
    batch: list[Hint] = []
    paths: set[str] = set()
    for hint in hints:
        touched = {hint.path} if hint.old_path is None else {hint.path, hint.old_path}
        is_folder_move = hint.is_directory and hint.kind == "moved"
        if batch and (len(batch) == BATCH_PATHS or paths & touched or is_folder_move):
            yield batch
            batch, paths = [], set()
        batch.append(hint)
        paths |= touched
        if is_folder_move:
            yield batch
            batch, paths = [], set()
    if batch:
        yield batch


def _paths(parts: Parts, hint: Hint) -> list[WorkspacePath]:
    return [parts.workspace.resolve(path) for path in (hint.old_path, hint.path) if path is not None]
