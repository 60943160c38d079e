"""Processes that die at a chosen call of their store or journal, and what is found when their root is opened again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from filetools.app.opening import Opening
from filetools.facade.facade import FileToolsFacade
from filetools.journal.changes import Change
from filetools.journal.journal import Journal
from filetools.journal.sqlite import SqliteJournal
from filetools.models.records import Actor, ChangeRecord
from filetools.models.words import Durability
from filetools.paths.workspace import Workspace
from filetools.settings import Settings
from filetools.stores.store import Store
from filetools.watch.bell import Bell
from tests.support.faulty import EXIT_CODE, Call, FaultyStore, Moment, Plan

Action = Callable[[FileToolsFacade], Awaitable[object]]
Tree = dict[str, bytes | None]
"""Files by path; None for a folder."""
QUIET: dict[str, Any] = {
    "watch": False, "sync_after_seconds": 3600.0, "durability": "relaxed", "mirror_wait_seconds": 60.0,
}  # fmt: skip
"""Settings under which nothing happens in the background that a plan would have to reckon with, on a busy machine either."""


class FaultyJournal(SqliteJournal):
    """A journal whose commits follow a plan, too."""

    plan: Plan

    def commit(self, changes: Sequence[Change], actor: Actor) -> tuple[ChangeRecord, ...]:
        return self.plan.run(
            "journal",
            "Journal.commit",
            changes[0].path,
            lambda: SqliteJournal.commit(self, changes, actor),
        )


class CrashingOpening(Opening):
    """Opens a root whose store and journal follow a plan."""

    def __init__(
        self, root: Path, plan: Plan, mirror: Path | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(root, mirror, None, {**QUIET, **(settings or {})})
        self._plan = plan

    def _open_store(self, workspace: Workspace, private_directory: Path) -> Store:
        return FaultyStore(super()._open_store(workspace, private_directory), self._plan)

    def _open_journal(self, directory: Path, settings: Settings, durability: Durability, bell: Bell) -> Journal:
        journal = FaultyJournal(
            directory, durability=durability, on_visible=bell.ring, on_committed=bell.ring_for_others
        )
        journal.plan = self._plan
        return journal


def count_calls(root: Path, action: Action, mirror: Path | None = None) -> Plan:
    """Run an action to its end and return the calls it made, those of opening and closing included."""
    plan = Plan.record()

    async def main() -> None:
        async with CrashingOpening(root, plan, mirror) as files:
            await action(files)

    asyncio.run(main())
    return plan


def moments_of(calls: Sequence[Call]) -> list[tuple[int, Moment]]:
    """Return every moment to die at: before and after each call that changes something, or reaches the journal."""
    return [
        (call.number, moment)
        for call in calls
        if call.is_changing or call.store == "journal"
        for moment in call.moments
    ]


def die_at(root: Path, action: Action, plan: Plan, mirror: Path | None = None) -> bool:
    """Run an action in a child that dies as planned; True if it was acknowledged before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _act_and_die(root, action, plan, mirror, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        acknowledged = pipe.read() == b"done"
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, EXIT_CODE), f"child ended with {status}"
    return acknowledged


def _act_and_die(root: Path, action: Action, plan: Plan, mirror: Path | None, writing: int) -> None:
    signal.alarm(60)

    async def main() -> None:
        async with CrashingOpening(root, plan, mirror) as files:
            await action(files)
            os.write(writing, b"done")
            # Dies without a farewell: no marks flushed, no journal closed.
            os._exit(EXIT_CODE)

    code = 1
    try:
        asyncio.run(main())
    finally:
        os._exit(code)


def grow(root: Path, tree: Tree) -> None:
    """Make files and folders as a literal says."""
    for path, content in tree.items():
        place = root / path
        if content is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def snapshot(root: Path) -> Tree:
    """Return what stands below a root, without the state directory."""
    found: Tree = {}
    for place in sorted(root.rglob("*")):
        path = place.relative_to(root).as_posix()
        if path.split("/")[0] != ".filetools":
            found[path] = None if place.is_dir() else place.read_bytes()
    return found


def leftovers(root: Path) -> list[str]:
    """Return temporary files that nobody will come back for."""
    private = root / ".filetools"
    hidden = [place.name for folder in ("tmp", "limbo") for place in (private / folder).glob("*")]
    return hidden + [place.name for place in root.rglob(".ft-*")]
