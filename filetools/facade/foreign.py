"""Changes that other programs make, journaled as the external actor: seen by the watcher, told like any other change.

A hint says only where to look. What is recorded is what stands there under the path's lock, compared with the head or,
where there is none, with the names that were known: the echo of a change of our own equals them and is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from filetools.errors import FileToolsError, LockTimeoutError, WorkspaceGoneError
from filetools.facade.foreign_looks import ForeignLooks
from filetools.facade.others import nothing_precedes
from filetools.facade.parts import Parts
from filetools.journal.changes import HeadMovedError
from filetools.models.records import EXTERNAL, ChangeRecord
from filetools.paths.workspace_path import WorkspacePath
from filetools.watch.hints import Hint

BATCH_PATHS: Final = 1000
"""Paths whose locks are taken together, so that a burst costs few commits."""
BATCH_WAIT_SECONDS: Final = 0.05
"""How long a batch waits for its locks before half of it is tried."""
LOCK_WAIT_SECONDS: Final = 0.25
"""How long one look waits for a path's lock; a path that is locked for longer is looked at again later."""

_log = logging.getLogger(__name__)
_OWNER: Final = "watcher"


class ForeignRecorder:
    """Turns hints into journal records. One an opened workspace; works only in the process that keeps it."""

    def __init__(
        self,
        parts: Parts,
        tell: Callable[[Sequence[ChangeRecord]], None],
        precede: Callable[[Sequence[str]], Awaitable[None]] = nothing_precedes,
    ) -> None:
        self._parts = parts
        self._tell = tell
        self._precede = precede
        self._looks = ForeignLooks(parts)

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
        """Record a batch, in smaller ones where somebody is at work on one of its paths, or its time is over."""
        waiting = [batch]
        while waiting:
            hints = waiting.pop()
            done = await self._together(hints)
            if not done and len(hints) == 1:
                self._looks.again += hints
                continue
            cut = done or len(hints) // 2
            waiting += [part for part in (hints[cut:], hints[done:cut]) if part]

    async def _together(self, hints: Sequence[Hint]) -> int:
        """Look at the paths of hints under all their locks; returns how many hints are done, from the first on."""
        parts = self._parts
        keys = [parts.workspace.key(path) for hint in hints for path in _paths(parts, hint)]
        timeout = BATCH_WAIT_SECONDS if len(hints) > 1 else LOCK_WAIT_SECONDS
        try:
            async with parts.locks.hold(keys, path=hints[0].path, owner=_OWNER, timeout_seconds=timeout):
                records, done = await parts.crew.run(partial(self._commit, hints, keys))
                if records:
                    await self._precede(keys)
        except (LockTimeoutError, HeadMovedError):
            return 0
        except WorkspaceGoneError:
            return len(hints)  # closed meanwhile, or the root was removed: there is nothing to look at any more
        except FileToolsError as exc:
            _log.warning("could not record foreign changes from %s on: %s", hints[0].path, exc)
            return 1 if len(hints) == 1 else 0
        self._tell(records)
        return done

    def _commit(self, hints: Sequence[Hint], keys: Sequence[str]) -> tuple[tuple[ChangeRecord, ...], int]:
        known = len(self._looks.again)
        try:
            changes, done = self._looks.look(hints, keys)
            return self._parts.journal.commit(changes, EXTERNAL) if changes else (), done
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
