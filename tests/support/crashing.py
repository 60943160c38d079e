"""Processes that die at a chosen call of their store or journal, and what is found when their root is opened again."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

import filetools
from filetools.app.opening import Opening
from filetools.events.notifier import Notifier
from filetools.facade.facade import FileToolsFacade
from filetools.journal.commit import CommitDraft, ObservedChanges
from filetools.journal.journal import Journal, Records
from filetools.journal.tree_rows import TreeTable
from filetools.models.words import Durability
from filetools.paths.workspace import Workspace
from filetools.settings import Settings
from filetools.stores.store import PrimaryStore
from tests.support import inside
from tests.support.dose import sampled
from tests.support.faulty import EXIT_CODE, Call, FaultyStore, Moment, Plan
from tests.support.inside import heads_below

Action = Callable[[FileToolsFacade], Awaitable[object]]
Tree = dict[str, bytes | None]
"""Files by path; None for a folder."""
QUIET: dict[str, Any] = {
    "watch": False, "sync_after_seconds": 3600.0, "durability": "relaxed", "mirror_wait_seconds": 60.0,
}  # fmt: skip
"""Settings under which nothing happens in the background that a plan would have to reckon with, on a busy machine either."""
BUSY: dict[str, Any] = {**QUIET, "sync_after_seconds": 0.005, "mirror_probe_seconds": 0.02}
"""Settings under which what a dead process has left is tidied away at once."""


class FaultyJournal(Journal):
    """A journal whose commits follow a plan, too."""

    plan: Plan

    def commit_all(self, drafts: Sequence[CommitDraft]) -> list[Records | Exception]:
        path = drafts[0].changes[0].path
        try:
            return self.plan.run("journal", "Journal.commit", path, lambda: Journal.commit_all(self, drafts))
        except filetools.FileToolsError as exc:
            return [exc for _ in drafts]

    def observe(self, key_of: Callable[[str], str], look: Callable[[ObservedChanges, TreeTable], None]) -> Records:
        def planned(found: ObservedChanges, rows: TreeTable) -> None:
            look(found, rows)
            if found.records:
                self.plan.run("journal", "Journal.commit", found.records[0].path, lambda: None)

        return super().observe(key_of, planned)


class CrashingOpening(Opening):
    """Opens a root whose store and journal follow a plan."""

    def __init__(
        self,
        root: Path,
        plan: Plan | None = None,
        mirror: Path | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(root, mirror, None, {**QUIET, **(settings or {})})
        self.plan = plan or Plan()

    @override
    def _open_store(self, workspace: Workspace, private_directory: Path) -> PrimaryStore:
        return FaultyStore(super()._open_store(workspace, private_directory), self.plan)

    @override
    def _open_journal(self, directory: Path, settings: Settings, durability: Durability, notifier: Notifier) -> Journal:
        journal = FaultyJournal(
            directory, durability=durability, on_visible=notifier.notify, on_committed=notifier.notify_others
        )
        journal.plan = self.plan
        return journal


def count_calls(
    root: Path, action: Action, mirror: Path | None = None, settings: Mapping[str, Any] | None = None
) -> Plan:
    """Run an action to its end and return the calls it made, those of opening and closing included."""
    plan = Plan.record()

    async def main() -> None:
        async with CrashingOpening(root, plan, mirror, settings) as files:
            await action(files)

    asyncio.run(main())
    return plan


def moments_of(calls: Sequence[Call]) -> list[tuple[int, Moment]]:
    """Return every moment to die at that differs from the others in what is left.

    That is before each call that changes something or reaches the journal, in the middle of each preparation, and after
    the last call: after any other one is before the next.
    """
    telling = [call for call in calls if call.is_changing or call.store == "journal"]
    moments = [(call.number, moment) for call in telling for moment in call.moments if moment != "after"]
    return [*moments, *((call.number, "after") for call in telling[-1:])]


def die_at(
    root: Path, action: Action, plan: Plan, mirror: Path | None = None, settings: Mapping[str, Any] | None = None
) -> bool:
    """Run an action in a child that dies as planned; True if it was acknowledged before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(60)

        async def main() -> None:
            async with CrashingOpening(root, plan, mirror, settings) as files:
                await action(files)
                os.write(writing, b"done")
                # Dies without a farewell: no marks flushed, no journal closed.
                os._exit(EXIT_CODE)

        try:
            asyncio.run(main())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        acknowledged = pipe.read() == b"done"
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == EXIT_CODE, f"child ended with {status}"
    return acknowledged


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """What a dead process has left."""

    root: Path
    mirror: Path | None
    acknowledged: bool
    """Whether its action was, before it died."""
    where: str


def deaths(
    model: Path,
    action: Action,
    *,
    most: int,
    has_mirror: bool = False,
    settings: Mapping[str, Any] | None = None,
    about: str = "",
) -> Iterator[Death]:
    """Let an action die on copies of a root, each at another moment.

    Args:
        model: A root, or the folder of the two that are called "root" and "mirror".
        action: What dies.
        most: At how many of the moments, times the dose.
        has_mirror: Whether the model is such a folder.
        settings: Of the process that dies.
        about: What led to the model, for the seed and the messages.
    """

    def copied(name: object) -> tuple[Path, Path | None]:
        place = model.with_name(f"{model.name}-{name}")
        subprocess.run(("cp", "-a", model, place), check=True)
        inside.adopt_state(place / "root" if has_mirror else place)
        return (place / "root", place / "mirror") if has_mirror else (place, None)

    root, mirror = copied("counted")
    calls = count_calls(root, action, mirror, settings).calls
    for at, moment in sampled(moments_of(calls), most, model.name, about):
        root, mirror = copied(f"{at}-{moment}")
        acknowledged = die_at(root, action, Plan.die(at, moment, exits=True), mirror, settings)
        where = f"{about} {moment} {calls[at - 1]}"
        yield Death(root=root, mirror=mirror, acknowledged=acknowledged, where=where)
        shutil.rmtree(root.parent if has_mirror else root)


@asynccontextmanager
async def recovered(root: Path, mirror: Path | None = None, **settings: Any) -> AsyncIterator[FileToolsFacade]:
    """Open a root again and wait until nothing of the dead is left; the journal must agree with what stands there then."""
    async with filetools.open(root, mirror=mirror, settings={**BUSY, **settings}) as files:
        async with asyncio.timeout(60):
            while not await is_settled(files, root, mirror):
                await asyncio.sleep(0.005)
        for path, version in heads_below(files._parts.journal, ""):
            assert (await files.read_file(path, view="disk")).version == version, path
        yield files


async def is_settled(files: FileToolsFacade, root: Path, mirror: Path | None = None) -> bool:
    """Whether nothing is pending or left over, and the mirror has everything."""
    if files._parts.journal.marks.unfinished("pending") or leftovers(root):
        return False
    if mirror is None:
        return True
    state = (await files.status())["mirrors"]["mirror"]
    return (state["behind"], state["state"], leftovers(mirror)) == (0, "ready", [])


def recover(root: Path, mirror: Path | None = None) -> None:
    """Open a root again, and close it when it has recovered."""

    async def main() -> None:
        async with recovered(root, mirror):
            pass

    asyncio.run(main())


def reopened(root: Path, mirror: Path | None = None) -> Tree:
    """Recover a root, and return what stands there."""
    recover(root, mirror)
    return snapshot(root)


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


def files_in(root: Path) -> dict[str, bytes]:
    """Return the files below a root, without the state directory."""
    return {path: content for path, content in snapshot(root).items() if content is not None}


def leftovers(root: Path) -> list[str]:
    """Return temporary files that nobody will come back for."""
    private = root / ".filetools/state"
    hidden = [place.name for folder in ("tmp", "displaced") for place in (private / folder).glob("*")]
    # `os.walk` passes over a folder that goes meanwhile; `rglob` fails.
    return hidden + [name for _, *found in os.walk(root) for names in found for name in names if name[:4] == ".ft-"]
