"""Workspaces whose store and journal fail, or die, at a chosen call of one action: counted from when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from filetools.errors import AccessDeniedError, DiskFullError, FileToolsError, StorageFailedError
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import Action, CrashingOpening, Tree, leftovers, snapshot
from tests.support.faulty import Call, Fault, Plan
from tests.support.opened import steps_until

T = TypeVar("T")
Error = Callable[[str], FileToolsError]

ERRORS: dict[str, Error] = {
    "disk full": DiskFullError,
    "I/O error": lambda path: StorageFailedError(path, "I/O error"),
    "denied": AccessDeniedError,
}


@dataclass
class ArmedPlan(Plan):
    """A plan that counts, and does, nothing until it is armed."""

    is_armed: bool = False

    def run(
        self, store: str, method: str, path: str, action: Callable[[], T], half: Callable[[], object] | None = None
    ) -> T:
        return super().run(store, method, path, action, half) if self.is_armed else action()


async def at_rest(files: FileToolsFacade) -> None:
    """Wait until the keeper's first round is over, so that nothing in the background is counted."""
    crew = files._parts.crew
    for _ in range(3):
        await steps_until(lambda: not crew._in_flight._count)
        await asyncio.sleep(0.001)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an action under a plan ended, seen before the workspace was closed."""

    error: FileToolsError | None
    left_over: tuple[str, ...]
    """Temporary files that were still there."""
    tree: Tree
    told_folders: frozenset[str]
    """Folders that the feed says were made."""


async def act(root: Path, action: Action, plan: ArmedPlan, mirror: Path | None = None) -> Ending:
    """Open a root and run an action under a plan; the next call must work."""
    error = None
    async with CrashingOpening(root, plan, mirror) as files:
        await at_rest(files)
        plan.is_armed = True
        try:
            await action(files)
        except FileToolsError as exc:
            error = exc
        plan.is_armed = False
        left_over, tree = tuple(leftovers(root)), snapshot(root)
        records = (await files.changes()).records
        await files.write_file("next.txt", "works")
        await files.delete_file("next.txt")
    told = frozenset(record.path for record in records if record.operation == "create_directory")
    return Ending(error=error, left_over=left_over, tree=tree, told_folders=told)


def calls_of(root: Path, action: Action, mirror: Path | None = None) -> list[Call]:
    """Return the calls that an action makes when nothing fails."""
    plan = ArmedPlan()
    assert asyncio.run(act(root, action, plan, mirror)).error is None
    return plan.calls


def failing_at(at: int, error: Error, *, is_lasting: bool) -> ArmedPlan:
    """Return a plan that fails at one call of the action, or at it and all later ones."""
    return ArmedPlan((Fault(at=at, error=error, is_lasting=is_lasting),))
