"""What the watcher tells, on its way to the recorder: echoes are dropped, and hints at paths of calls under way held back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from filetools.facade.foreign import ForeignRecorder
from filetools.facade.told import NewestRecords
from filetools.facade.writers import Writers
from filetools.models.records import ChangeRecord
from filetools.paths.workspace_path import WorkspacePath
from filetools.watch.hints import Hint

HELD_SECONDS: Final = 0.025
"""How long hints at what filetools itself is writing wait for the end of the call, if it tells of nothing."""
AGAIN_SECONDS: Final = 0.02
"""How long hints wait at which somebody was at work, where there are no others."""
RECORDED_HINTS: Final = 2000


class HintQueue:
    """Hints that wait to be looked at. One an opened workspace; belongs to its loop.

    Args:
        recorder: Looks, and records what is new.
        told: What everybody knows.
        writers: Where calls of this process are at work.
    """

    def __init__(self, recorder: ForeignRecorder, told: NewestRecords, writers: Writers) -> None:
        self._recorder = recorder
        self._told = told
        self._writers = writers
        self._waiting: list[Hint] = []
        self._is_filled = asyncio.Event()
        self._held: dict[str, Hint] = {}
        self._release_due: asyncio.TimerHandle | None = None
        self._sure_ns = time.time_ns()

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be looked at."""
        return not (self._waiting or self._held)

    def take(self, hints: Iterable[Hint]) -> bool:
        """Take what the watcher tells; returns whether any of it has to be looked at."""
        if self.is_empty:
            self._sure_ns = time.time_ns()
        before = len(self._waiting)
        self._sort(hints)
        return len(self._waiting) > before

    def is_known(self, hint: Hint) -> bool:
        """Whether what stands at the path of a hint at one file is what was told of it last; from any thread."""
        return self._told.stands(hint.path) and not self._recorder.awaits(hint.path)

    def note(self, records: Sequence[ChangeRecord]) -> None:
        """Know what is about to be told, and release the hints at it; call it once the changes are made."""
        self._told.note(records)
        if self._held:
            self._release(record.path for record in records)

    def begin_anew(self) -> int:
        """Return the last moment, in nanoseconds since the epoch, at which nothing waited; count from now on."""
        since_ns, self._sure_ns = self._sure_ns, time.time_ns()
        return since_ns

    async def record(self) -> None:
        """Have everything recorded, in order: what a file is now must not be told before that it was made."""
        await self._is_filled.wait()
        while self._waiting:
            batch = self._waiting[:RECORDED_HINTS]
            again = await self._recorder.record(batch)
            self._waiting[: len(batch)] = again
            if again and len(self._waiting) == len(again):
                await asyncio.sleep(AGAIN_SECONDS)
        self._is_filled.clear()

    def close(self) -> None:
        """Release nothing more."""
        if self._release_due is not None:
            self._release_due.cancel()

    def _sort(self, hints: Iterable[Hint]) -> None:
        for hint in hints:
            held = [self._held.pop(path) for path in (hint.old_path, hint.path) if path in self._held]
            if all((one.kind, one.old_path) == (hint.kind, hint.old_path) for one in held):
                if any(one.came_and_went for one in held):
                    hint = replace(hint, came_and_went=True)
                held = []
                if self._is_own(hint):
                    self._held[hint.path] = hint
                    continue
            # Of those that say different things the looks find out what is true.
            for one in (*held, hint):
                if self._told.is_news(one) or self._recorder.awaits(one.path) or self._may_be_another(one):
                    self._waiting.append(one)
        if self._waiting:
            self._is_filled.set()
        if self._held and self._release_due is None:
            self._release_due = asyncio.get_running_loop().call_later(HELD_SECONDS, self._release_all)

    def _is_own(self, hint: Hint) -> bool:
        """Whether filetools is at work at a path: a look would wait for its turn, and meet folders not recorded yet."""
        paths = [WorkspacePath(path) for path in (hint.old_path, hint.path) if path is not None]
        return any(self._writers.is_in(path) or self._told.is_too_young(path) for path in paths)

    def _may_be_another(self, hint: Hint) -> bool:
        """Whether a folder may stand where the one that was told of is being taken away with the folder above it."""
        return hint.is_directory and hint.kind == "changed" and self._writers.is_above(WorkspacePath(hint.path))

    def _release(self, paths: Iterable[str]) -> None:
        self._sort([self._held.pop(path) for path in paths if path in self._held])

    def _release_all(self) -> None:
        self._release_due = None
        self._release([*self._held])
