"""A workspace with a mirror and no facade: writes go through the real journal, primary and locks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs

from filetools.content.version import version_of
from filetools.events.types import Event
from filetools.facade.facade import FileToolsFacade
from filetools.journal.journal import Journal
from filetools.journal.records import Change
from filetools.journal.tree_rows import Looked
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
from filetools.models.words import MirrorStatus
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.stores.local import LocalStore
from filetools.stores.store import Store
from filetools.sync.manager import SyncManager
from filetools.sync.mirror_files import MARKER, MirrorFiles
from filetools.writer.worker_pool import WorkerPool
from tests.support.faulty import Died, FaultyStore, Plan

T = TypeVar("T")
ALICE = Actor(kind="agent", id="alice")
PATIENCE_SECONDS = 60.0
"""How long calls wait for a mirror that answers: on a busy machine a thread may get its turn late."""
WAIT_SECONDS = 0.25
"""How long they wait for one that hangs."""
FOR_EVER_SECONDS = 3600.0
"""Longer than any test: who waits so long has failed."""


def at(path: str) -> WorkspacePath:
    return WorkspacePath(path)


@dataclass
class Script(Plan):
    """Lets a test look at, hold up or fail every call of a store."""

    before: Callable[[str, str], None] = lambda method, path: None
    after: Callable[[str, str], None] = lambda method, path: None

    def run(
        self, store: str, method: str, path: str, action: Callable[[], T], half: Callable[[], object] | None = None
    ) -> T:
        self.before(method, path)
        result = action()
        self.after(method, path)
        return result


class Hang:
    """Holds up every call of some methods while it is on. Turn it off at the end of a test, for the threads to end."""

    def __init__(self, *methods: str) -> None:
        self._methods = methods
        self._free = threading.Event()
        self._free.set()
        self.reached = threading.Event()

    def on(self) -> None:
        self.reached.clear()
        self._free.clear()

    def off(self) -> None:
        self._free.set()

    def __call__(self, method: str, path: str) -> None:
        is_held = not self._methods or method in self._methods
        if is_held and not self._free.is_set():  # whoever came before `on` is not held up, unseen
            self.reached.set()
            self._free.wait()


def hurry(manager: SyncManager, seconds: float = WAIT_SECONDS) -> None:
    """Let calls wait for mirrors only so long from now on."""
    settings = replace(manager.context.settings, mirror_wait_seconds=seconds)
    manager.context = structs.replace(manager.context, settings=settings)


def ignore(method: str, path: str) -> None:
    """Do nothing before or after a call."""


def scripted(
    inner: Store, *, before: Callable[[str, str], None] = ignore, after: Callable[[str, str], None] = ignore
) -> FaultyStore:
    return FaultyStore(inner, Script(before=before, after=after))


QUICK: dict[str, Any] = {
    "watch": False, "durability": "relaxed", "mirror_probe_seconds": 0.02, "sync_after_seconds": 0.01,
    "lock_timeout_seconds": 60.0, "mirror_wait_seconds": PATIENCE_SECONDS,
}  # fmt: skip
"""Settings of a workspace whose mirror is looked after at once."""


async def caught_up(files: FileToolsFacade) -> None:
    """Wait until the mirror of a workspace has everything."""
    async with asyncio.timeout(60):
        while (status := (await files.status())["mirrors"]["mirror"])["behind"] or status["state"] == "filling":
            await asyncio.sleep(0.005)


def local_store(root: Path, name: str = "mirror") -> LocalStore:
    root.mkdir(exist_ok=True)
    return LocalStore(Workspace.open(root), name=name, private_directory=root / ".filetools")


@dataclass
class World:
    """One opened workspace. `write` and the like do what the facade does, in a worker thread under the path's lock."""

    root: Path
    workspace: Workspace
    primary: LocalStore
    journal: Journal
    workers: WorkerPool
    mirror: Store
    events: list[Event] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    manager: SyncManager = field(init=False)
    tending: asyncio.Task[None] | None = None

    async def begin(self, look: Callable[[], Awaitable[object]]) -> None:
        """Start the manager, and have it look at the tree, which nobody has looked at, where a mirror waits for that."""

        async def looked() -> None:
            await look()
            self.note_look()

        async def tend() -> None:
            while True:
                await self.manager.tend(looked)

        await self.manager.start()
        self.tending = asyncio.create_task(tend())

    def note_look(self) -> None:
        """Note that somebody has looked at the whole tree."""
        self.journal.observe(str, lambda _, rows: rows.note_whole_look(Looked(0, 1.5, "rules")))

    def fill(self) -> None:
        """Take the mirror, which is as empty as the primary, for filled."""
        row, store = self.journal.mirrors.register("mirror"), self.mirror
        if not row.is_filled:
            store = store.inner if isinstance(store, FaultyStore) else store
            store.make_directory(MARKER.parent)
            store.prepare(MARKER, row.identity.encode(), new=True).exchange()
            self.journal.mirrors.filled(row)

    def build(self, **options: Any) -> SyncManager:
        self.manager = SyncManager(
            self.journal,
            primary=options.pop("primary", self.primary),
            mirrors=[(self.journal.mirrors.register("mirror"), self.mirror)],
            directory=self.root / ".filetools/state",
            publish=self.events.append,
            workers=self.workers,
            key=self.workspace.key,
            **{name: options.pop(name) for name in ("notify", "excluded", "open_added") if name in options},
            settings=Settings(**{
                "mirror_wait_seconds": PATIENCE_SECONDS, "mirror_probe_seconds": 0.05, "sync_after_seconds": 0.01,
                **options,
            }),
        )  # fmt: skip
        return self.manager

    def mirror_files(self) -> MirrorFiles:
        """The mirror's folder, as nobody else uses it."""
        return MirrorFiles(self.journal.mirrors.register("mirror"), self.mirror, self.manager.context)

    @property
    def kept(self) -> list[tuple[str, bytes]]:
        """Foreign bytes of the mirror that became versions, with their paths."""
        aside = [record for record in self.journal.records(limit=1000) if record.state is RecordState.ABORTED]
        return [(each.path, self.journal.contents.get(each.after)) for each in aside if each.after is not None]

    async def run(self, work: Callable[[], T], /) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.workers, work)

    async def locked(self, work: Callable[[], T]) -> T:
        async with self.lock:
            return await self.run(work)

    async def write(self, path: str, content: bytes) -> MirrorStatus:
        return await self.followed(lambda: self.put(path, content))

    async def delete(self, path: str) -> MirrorStatus:
        return await self.followed(lambda: self.remove(path))

    async def move(self, source: str, destination: str) -> MirrorStatus:
        return await self.followed(lambda: self.rename(source, destination))

    async def make_directory(self, path: str) -> MirrorStatus:
        return await self.followed(lambda: self.make(path))

    async def followed(self, change: Callable[[], ChangeRecord]) -> MirrorStatus:
        async with self.lock:
            record = await self.run(change)
            self.manager.wake()
            return await self.manager.follow([record])

    def put(self, path: str, content: bytes, mode: int | None = None) -> ChangeRecord:
        place, version = at(path), version_of(content)
        stat = self.primary.stat(place)
        self._make_parents(place)
        operation = Operation.CREATE if stat is None else Operation.MODIFY
        prepared = self.primary.prepare(place, content, new=stat is None)
        change = Change(
            operation=operation, path=path, key=path, after=version, content=content, size=len(content), mode=mode
        )
        (record,) = self.commit(change)
        displaced = prepared.exchange()
        if displaced is not None:
            displaced.discard()
        self._applied(record)
        return record

    def remove(self, path: str) -> ChangeRecord:
        stat = self.primary.stat(at(path))
        assert stat is not None
        operation = Operation.DELETE if stat.type == "file" else Operation.DELETE_DIRECTORY
        (record,) = self.commit(Change(operation=operation, path=path, key=path))
        self.primary.remove(at(path)).discard()
        self._applied(record)
        return record

    def rename(self, source: str, destination: str) -> ChangeRecord:
        stat = self.primary.stat(at(source))
        assert stat is not None
        head = self.journal.view(source).head
        is_file = stat.type == "file"
        change = Change(
            operation=Operation.MOVE if is_file else Operation.MOVE_DIRECTORY, path=destination, key=destination,
            old_path=source, old_key=source, after=head.version if is_file and head is not None else None,
            size=stat.size if is_file else None,
        )  # fmt: skip
        (record,) = self.commit(change)
        self._make_parents(at(destination))
        displaced = self.primary.move(at(source), at(destination), overwrite=is_file)
        if displaced is not None:
            displaced.discard()
        self._applied(record)
        return record

    def make(self, path: str) -> ChangeRecord:
        (record,) = self.commit(Change(operation=Operation.CREATE_DIRECTORY, path=path, key=path))
        self._make_parents(at(path))
        self.primary.make_directory(at(path))
        self._applied(record)
        return record

    def commit(self, change: Change) -> tuple[ChangeRecord, ...]:
        return self.journal.commit([change], ALICE)

    def owed(self) -> int:
        return self.journal.backlog.count("mirror")

    def lacking(self) -> set[str]:
        backlog, mirrors = self.journal.backlog, self.journal.mirrors
        followed = backlog.since(mirrors.register("mirror").position)[0]
        return {entry.path for entry in (*followed, *backlog.behind("mirror"))}

    def _applied(self, record: ChangeRecord) -> None:
        self.journal.marks.applied([record.number])

    async def until(self, condition: Callable[[], bool]) -> None:
        """Poll a condition for a bounded time."""
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.005)

    async def until_paid(self) -> None:
        await self.until(lambda: self.owed() == 0)

    def named(self, name: str) -> list[Event]:
        return [event for event in self.events if event.name == name]

    def _make_parents(self, path: WorkspacePath) -> None:
        for depth in range(1, len(path.parts)):
            self.primary.make_directory(at("/".join(path.parts[:depth])))


@asynccontextmanager
async def world(
    tmp_path: Path,
    mirror: Store,
    *,
    is_looked: bool = True,
    is_filled: bool = True,
    is_started: bool = True,
    **options: Any,
) -> AsyncIterator[World]:
    """Open a workspace in `tmp_path`, with a manager that follows it unless the test starts it later."""
    root = tmp_path / "primary"
    state = root / ".filetools/state"
    state.mkdir(parents=True, exist_ok=True)
    workspace = Workspace.open(root)
    primary = LocalStore(workspace, private_directory=state)
    workers = WorkerPool(4)
    opened = World(
        root=root,
        workspace=workspace,
        primary=primary,
        journal=Journal(state, durability="relaxed"),
        workers=workers,
        mirror=mirror,
    )
    if is_looked:
        opened.note_look()
    if is_filled:
        opened.fill()
    opened.build(**options)
    if is_started:
        await opened.manager.start()
    try:
        yield opened
    finally:
        if opened.tending is not None:
            opened.tending.cancel()
        with suppress(Died):  # what a test lets die in the background may die once more
            await opened.manager.aclose()
        workers.shutdown()
        opened.journal.close()
        primary.close()
        workspace.close()


def tree(store: Store, top: str = "") -> dict[str, bytes | None]:
    """Return everything in a store: the bytes of files, None for directories."""
    found: dict[str, bytes | None] = {}
    pending = [at(top)]
    while pending:
        folder = pending.pop()
        for entry in store.scan(folder):
            path = folder.child(entry.name)
            if entry.type == "directory":
                found[path] = None
                pending.append(path)
            elif entry.type == "file":
                found[path] = store.read(path)[0]
    return found
