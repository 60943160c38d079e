"""Opened workspaces for tests of the facade: refusals as values, events kept, stores that do as a script says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.app.opening import Opening
from filetools.app.state import prepare_state
from filetools.app.trust import own_folder
from filetools.content.version import version_of
from filetools.events.types import Event
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import ChangeRecord
from filetools.paths.workspace import Workspace
from filetools.stores.store import PrimaryStore, Store
from tests.support import inside
from tests.support.crashing import QUIET, leftovers
from tests.support.faulty import FaultyStore
from tests.support.inside import heads_below
from tests.support.mirror_worlds import Script, ignore

Hook = Callable[[str, str], None]
"""Called with method and path of a store's call; may act or raise."""


async def refused(code: str, call: Awaitable[object]) -> filetools.FileToolsError:
    """Await a call that must be refused with this code; returns the error."""
    with pytest.raises(filetools.FileToolsError) as caught:
        await call
    assert caught.value.code == code, caught.value
    return caught.value


async def outcome_of(call: Awaitable[object]) -> str:
    """Return "done" or the code of the refusal."""
    try:
        await call
    except filetools.FileToolsError as exc:
        return exc.code
    return "done"


def told(files: FileToolsFacade, pattern: str = "*") -> list[Event]:
    """Return a list that grows by every event from now on."""
    events: list[Event] = []
    files.on(pattern, events.append)
    return events


def names_of(events: list[Event]) -> list[tuple[str, str]]:
    """Return name and path of each event."""
    return [(event.name, getattr(event, "path", "")) for event in events]


def version(content: bytes | str) -> str:
    """Return the version of these bytes, or of this text in UTF-8."""
    return version_of(content if isinstance(content, bytes) else content.encode())


async def recorded(files: FileToolsFacade) -> list[tuple[str, str, str]]:
    """Return operation, path and kind of actor of every change that the feed tells."""
    return [_fact(record) for record in (await files.changes()).records]


def _fact(record: ChangeRecord) -> tuple[str, str, str]:
    return (record.operation.value, record.path, record.actor.kind)


async def assert_at_rest(files: FileToolsFacade, root: Path) -> None:
    """Fail unless nothing is pending or left over and every head is what stands on the disk."""
    journal = files._parts.journal
    assert journal.marks.unfinished("pending") == []
    assert leftovers(root) == []
    for path, head in heads_below(journal, ""):
        assert version((root / path).read_bytes()) == head, path


async def until_watched(files: FileToolsFacade, root: Path) -> None:
    """Wait until what other programs do in a root is told; it begins in the background."""
    heard: list[Event] = []
    subscription = files.on("file:*", heard.append)
    async with asyncio.timeout(60):
        while not heard:
            (root / "probe.tmp").write_text(str(time.monotonic()))
            await asyncio.sleep(0.05)
        (root / "probe.tmp").unlink()
        while heard[-1].name != "file:deleted":
            await asyncio.sleep(0.01)
    subscription.unsubscribe()
    await until_looked_back(files)


async def until_looked_back(files: FileToolsFacade) -> None:
    """Wait until what happened before the root was watched is recorded."""
    await steps_until(lambda: inside.is_watching(files) and inside.is_calm(files))


@asynccontextmanager
async def watched(
    root: Path, mirror: Path | None = None, **settings: Any
) -> AsyncIterator[tuple[FileToolsFacade, list[Any]]]:
    """Open a root and wait until it is watched; gives the facade and the events of files and folders."""
    given = {"durability": "relaxed", "sync_after_seconds": 0.05, **settings}
    async with filetools.open(root, mirror=mirror, settings=given) as files:
        await until_watched(files, root)
        told: list[Any] = []
        files.on("file:*", told.append)
        files.on("directory:*", told.append)
        yield files, told


async def all_seen(files: FileToolsFacade, root: Path, told: list[Any]) -> None:
    """Wait until everything is told that other programs did before this."""
    marker = root / f"marker-{time.monotonic_ns()}"
    marker.write_text("")
    await steps_until(lambda: any(event.path == marker.name for event in told))
    marker.unlink()
    await steps_until(lambda: any((event.name, event.path) == ("file:deleted", marker.name) for event in told))
    # A name that is gone is looked for once more.
    await steps_until(lambda: inside.is_calm(files))
    told[:] = [event for event in told if event.path != marker.name]


def names_in(root: Path) -> list[str]:
    """Return what stands in a tree, without what filetools keeps there."""
    names = (path.relative_to(root).as_posix() for path in root.rglob("*"))
    return sorted(name for name in names if not name.startswith(".filetools"))


def lapse_leases(files: FileToolsFacade, left_seconds: float = 0.0) -> None:
    """Let the time of every editor be over, or nearly over, that does not use its documents any more."""
    database = files._parts.journal._database
    until = time.time() + left_seconds
    database.write(lambda connection: connection.execute("UPDATE document_handles SET leased_until = ?", (until,)))


class ScriptedOpening(Opening):
    """Opens a root whose store does something, or fails, before or after the calls that a test chooses."""

    def __init__(
        self,
        root: Path,
        *,
        before: Hook = ignore,
        after: Hook = ignore,
        mirror: Path | Store | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(root, mirror, None, {**QUIET, **(settings or {})})
        self.script = Script(before=before, after=after)

    def _open_store(self, workspace: Workspace, private_directory: Path) -> PrimaryStore:
        return FaultyStore(super()._open_store(workspace, private_directory), self.script)


class Once:
    """A hook that acts at the N-th call of one method, and at no other."""

    def __init__(self, method: str, act: Callable[[], None], *, at: int = 1, path: str | None = None) -> None:
        self._method = method
        self._act = act
        self._left = at
        self._path = path

    def __call__(self, method: str, path: str) -> None:
        if method == self._method and self._path in (None, path):
            self._left -= 1
            if self._left == 0:
                self._act()


def failing(error: Callable[[], Exception]) -> Callable[[], None]:
    """Return an act that raises."""

    def act() -> None:
        raise error()

    return act


async def steps_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Let the loop run until a condition, plain or async, holds; fails after a bounded time."""
    async with asyncio.timeout(seconds):
        while not (await holds if isawaitable(holds := condition()) else holds):
            await asyncio.sleep(0.002)


def own_settings(root: Path, text: str) -> None:
    """Give a root a state, and settings of its user."""
    own = own_folder(prepare_state(root, None).directory)
    assert own is not None
    (own / "settings.toml").write_text(text)
