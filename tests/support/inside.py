"""The one place where tests reach what is private in the product, each reach a small function with a name."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from filetools.app import trust
from filetools.app.registration import Registration
from filetools.changes.foreign import ForeignChanges
from filetools.changes.parts import Parts
from filetools.events.notifier import Notifier
from filetools.facade.facade import FileToolsFacade
from filetools.journal.journal import Journal
from filetools.journal.storage.birth import DATABASE_NAME, connect, keep_mark
from filetools.journal.storage.contents import VERSION_TEXT
from filetools.journal.storage.database import Database
from filetools.journal.tree_rows import bounds_below
from filetools.models.words import STATE_PATH
from filetools.paths import library
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions import rules
from filetools.sessions.agent_process import AgentProcess
from filetools.sync.manager import SyncManager
from filetools.sync.mirror import Mirror
from filetools.tree.inotify import InotifyThread
from filetools.writer.turn_calls import TurnCall, TurnTask
from filetools.writer.worker_pool import Hop

if TYPE_CHECKING:  # most tests need no HTTP
    from starlette.types import Receive, Scope, Send

    from filetools.servers.http.application import ServerApplication


def parts(files: FileToolsFacade) -> Parts:
    """Return what an open workspace is made of."""
    return files._parts


def refuse_library_call(patch: pytest.MonkeyPatch, name: str) -> None:
    """Make the C library answer a call as a kernel does that does not have it."""

    def refuse(*_arguments: object) -> int:
        ctypes.set_errno(errno.ENOSYS)
        return -1

    patch.setattr(library._library(), name, refuse, raising=False)


@asynccontextmanager
async def at_work(files: FileToolsFacade, path: str, owner: str = "somebody") -> AsyncIterator[None]:
    """Have somebody of this process be at work on a path, with a turn that lasts as long as the block."""
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        ended.wait(60)

    turns = files._runner.turns
    key = files._parts.workspace.key(WorkspacePath(path))
    call = TurnCall(TurnTask(work), [key], path=path, owner=owner, timeout_seconds=60)
    task = asyncio.create_task(turns.run(call))
    while not begun.is_set():
        await asyncio.sleep(0.001)
    try:
        yield
    finally:
        ended.set()
        await task


def busy_threads(files: FileToolsFacade) -> tuple[list[Hop[bool]], threading.Event]:
    """Keep all threads of a workspace at work until the event is set."""
    is_over, workers = threading.Event(), files._parts.workers
    deadline = time.monotonic() + 10  # else a thread that is about to be idle makes room for another one
    while len(workers._idle) < len(workers._threads) and time.monotonic() < deadline:
        time.sleep(0.001)
    return [workers.start(lambda: is_over.wait(60)) for _ in workers._threads], is_over


def is_at_work(files: FileToolsFacade) -> bool:
    """Whether any call of this process waits for its turn, or has one."""
    turns = files._runner.turns
    return bool(turns._queue or turns._at_work)


def waiting_calls(files: FileToolsFacade) -> int:
    """How many calls of this process wait for their turn."""
    return len(files._runner.turns._queue._waiting)


def is_locked(files: FileToolsFacade, path: str) -> bool:
    """Whether anybody is at work on a path."""
    return files._runner.turns.holder_of(files._parts.workspace.key(WorkspacePath(path))) is not None


def lose_version(files: FileToolsFacade, version: str) -> None:
    """Have the journal not keep a version any more."""
    query, gone = "DELETE FROM contents WHERE hash = ?", bytes.fromhex(version.removeprefix("sha256:"))
    files._parts.journal._database.write(lambda connection: connection.execute(query, (gone,)))


def damage_version(files: FileToolsFacade, version: str) -> None:
    """Have the bytes that the journal keeps of a version be others."""
    query, digest = "UPDATE contents SET bytes = ? WHERE hash = ?", bytes.fromhex(version.removeprefix("sha256:"))
    files._parts.journal._database.write(lambda connection: connection.execute(query, (b"damaged", digest)))


def patterns_of_rules() -> list[str]:
    """Return the patterns that sort what a person said, the boilerplate last."""
    return [found.pattern for found in (*rules._CATEGORIES.values(), rules._BOILERPLATE)]


async def end_of(agent: AgentProcess) -> None:
    """Wait until an agent has ended, whether or not anybody took its lines."""
    await asyncio.shield(agent._life)


def exit_code_of(agent: AgentProcess) -> int | None:
    return agent._process.returncode


def known_watches(thread: InotifyThread) -> int:
    """Return how many watches a thread remembers."""
    return len(thread._folders)


def adopt_state(root: Path) -> None:
    """Have the copy of a root keep its state, as if its user had accepted it."""
    state = root / STATE_PATH
    if state.is_dir():
        trust._make_own(state)
        with closing(connect(state / DATABASE_NAME)) as connection:
            keep_mark(connection, state)


async def written_notes(registration: Registration) -> None:
    """Wait until a server is registered, and has written what it has to note."""
    while not registration._ids or registration._has_news.is_set():
        await asyncio.sleep(0.01)


def is_told_of(files: FileToolsFacade, *, listens: bool) -> bool:
    """Whether the journal says that somebody answers in this process, or that nobody does."""
    table = files._parts.gatekeeper.approvals._book
    row = files._parts.journal.approvals.get(table._process)
    return row is not None and row.value["listens"] == listens


def end_leases_of_others(files: FileToolsFacade) -> None:
    """Let the time be over that other processes, which are dead, had said they would be there to answer."""
    table, own = files._parts.journal.approvals, files._parts.gatekeeper.approvals._book._process
    for row in table.scan("process "):
        assert row.key == own or table.put([structs.replace(row, used=0.0)])


def database_of(journal: Journal) -> Database:
    return journal._database


def foreign_of(files: FileToolsFacade) -> ForeignChanges:
    """Return what has the changes of other programs recorded."""
    return files._runner.foreign


def hint(files: FileToolsFacade, folder: tuple[int, int], *names: str) -> None:
    """Note that names in a folder, given by device and inode, may have changed."""
    for name in names:
        foreign_of(files)._agenda.hint(folder, name)


def is_calm(files: FileToolsFacade) -> bool:
    """Whether there is nothing to look at of what other programs do, neither now nor soon."""
    foreign = foreign_of(files)
    return foreign._agenda.due_at() is None and not (foreign._working.locked() or foreign._is_whole_due)


def is_look_asked(files: FileToolsFacade) -> bool:
    """Whether a call waits for a look at the whole tree that has not begun."""
    return "asked" in foreign_of(files)._agenda._reasons


def is_polling(notifier: Notifier) -> bool:
    """True if a notifier has to poll at the moment."""
    return notifier._timer is not None


async def follow_files(files: FileToolsFacade) -> None:
    """Update all open documents from their files."""
    await files._runner.news.follow()


def is_watching(files: FileToolsFacade) -> bool:
    """Whether all that others do from now on is noticed by this process."""
    foreign = foreign_of(files)
    watcher = parts(files).observer.watcher
    return watcher is not None and watcher.method is not None and foreign._finished is not None


def heads_below(journal: Journal, key: str) -> list[tuple[str, str]]:
    """Return (path, version) of every file recorded below a folder; the empty key is the root."""
    query = f"SELECT path, {VERSION_TEXT} FROM heads WHERE key >= ? AND key < ? AND version IS NOT NULL ORDER BY key"
    return database_of(journal).rows(query, bounds_below(key))


def idle_connections(files: FileToolsFacade) -> Sequence[sqlite3.Connection]:
    """Return the connections that queries of an open workspace will use next."""
    journal = parts(files).journal
    return database_of(journal)._idle


def see_connections(database: Database, see: Callable[[sqlite3.Connection], object]) -> None:
    """Show the connection that writes, and from now on each that is lent for reading."""
    take = database._take

    def taken() -> sqlite3.Connection:
        connection = take()
        see(connection)
        return connection

    database._take = taken  # type: ignore[method-assign]
    see(database.connection)


def commit_without_sync() -> None:
    """Break the promise of durable commits, for all databases of this process."""
    once = Database._once

    def unsynced(database: Database, work: Callable[[sqlite3.Connection], object], _durable: bool) -> object:
        return once(database, work, False)

    setattr(Database, "_once", unsynced)  # noqa: B010  # mypy refuses the assignment


def is_synchronising(files: FileToolsFacade) -> bool:
    """True if a call makes the mirrors equal now."""
    return files._parts.sync._is_synchronising


@contextmanager
def hanging_mirror(files: FileToolsFacade) -> Iterator[Callable[[], int]]:
    """Have the only mirror write nothing; gives what counts the calls that wait for it."""
    (mirror,) = files._parts.sync._mirrors
    begun, going_on, bring = threading.Event(), threading.Event(), mirror.worker.round

    def hanging() -> float:
        begun.set()
        going_on.wait(30)
        return bring()

    mirror.worker.round = hanging  # type: ignore[method-assign]
    mirror.wake()
    assert begun.wait(30)  # until then a round may be under way that follows what comes now
    try:
        yield lambda: len(mirror._waiters)
    finally:
        going_on.set()


def mirror_of(manager: SyncManager) -> Mirror:
    """The only mirror."""
    (mirror,) = manager._mirrors
    return mirror


def send_the_token(application: ServerApplication) -> None:
    """Add a server's own token to every request, for clients that cannot send one."""
    guarded, token = application._guarded, application.shared.options.token
    header = (b"authorization", f"Bearer {token}".encode())

    async def sent(scope: Scope, receive: Receive, send: Send) -> None:
        await guarded({**scope, "headers": [*scope["headers"], header]}, receive, send)

    application._guarded = sent  # type: ignore[assignment]
