"""Journals to test with: drafts of changes in a line each, and journals opened in processes of their own."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from msgspec import structs

from filetools.descriptors.descriptors import Descriptors
from filetools.journal.checkpoints import Checkpoint, Comparison, Tree
from filetools.journal.journal import Journal
from filetools.journal.records import Change
from filetools.journal.tree_rows import TREE_COLUMNS, TreeRow, row_from
from filetools.models.records import Actor, ChangeRecord, Operation
from tests.support import journal_worker
from tests.support.inside import database_of, see_connections

ALICE: Final = Actor(kind="agent", id="alice", session="s", call="c")
REPOSITORY: Final = Path(__file__).resolve().parents[2]


MakeDescriptors = Callable[..., Descriptors]
"""Takes the settings and, optionally, the owner."""


class OpenJournal(Protocol):
    """Opens another instance on the same journal; all are closed at the end of the test."""

    def __call__(self, *, on_visible: Callable[[], None] = ...) -> Journal:
        """Return an open journal."""


def version(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def draft(journal: Journal, key: str, content: bytes | None, /, **options: Any) -> Change:
    """Return the change that brings a path from its head to a content; None deletes it."""
    view = journal.view(key)
    before = view.head.version if view.head is not None else None
    operation = Operation.DELETE if content is None else Operation.CREATE if before is None else Operation.MODIFY
    fields: dict[str, Any] = {
        "operation": operation, "path": key, "key": key, "before": before,
        "after": None if content is None else version(content), "content": content,
        "size": None if content is None else len(content), "mode": None if content is None else 0o644,
    }  # fmt: skip
    return Change(**(fields | options))


def put(journal: Journal, key: str, content: bytes | None, /, *, noted: bool = True, **options: Any) -> ChangeRecord:
    """Commit one change and, unless told otherwise, note and write that the file carries it."""
    for place in options.pop("mirrors", ()):
        journal.mirrors.register(place)
    (record,) = journal.commit([draft(journal, key, content, **options)], ALICE)
    if noted:
        journal.marks.applied([record.number])
    return record


def save(journal: Journal, name: str, tree: Tree, number: int, **options: Any) -> Checkpoint | None:
    """Save a checkpoint of a tree, whatever the journal knows of the disk."""

    def compare() -> Comparison:
        return structs.replace(journal.checkpoints.compare(""), now=tree, position=number)

    return journal.checkpoints.save(name, compare, **options)


def tree_of(journal: Journal) -> dict[str, TreeRow]:
    """Return the rows of all entries in the tree, by key."""
    rows = database_of(journal).rows(f"SELECT {TREE_COLUMNS} FROM tree WHERE kind <> 'absent'")
    return {row[0]: row_from(row) for row in rows}


def rebooted(state: Path) -> None:
    """Make a closed journal believe that the machine was restarted while it was open."""
    with closing(sqlite3.connect(state / "journal.db")) as database, database:
        database.execute("UPDATE meta SET value = 'another' WHERE name = 'boot'")
    os.truncate(state / "position", 8)


def folder(operation: Operation, key: str, old_key: str | None = None, **options: Any) -> Change:
    """Return a change of a whole folder."""
    return Change(operation=operation, path=key, key=key, old_path=old_key, old_key=old_key, **options)


def move_folder(source: str, destination: str, **options: Any) -> Change:
    return folder(Operation.MOVE_DIRECTORY, destination, source, **options)


def delete_folder(key: str, **options: Any) -> Change:
    return folder(Operation.DELETE_DIRECTORY, key, **options)


def head_version(journal: Journal, key: str) -> str | None:
    head = journal.view(key).head
    return None if head is None else head.version


def is_applied(journal: Journal, key: str) -> bool:
    head = journal.view(key).head
    return head is not None and head.applied


def damage(place: Path, *offsets: int) -> None:
    """Flip one bit of each of these bytes; negative offsets count from the end."""
    with place.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for offset in offsets:
            at = offset if offset >= 0 else size + offset
            file.seek(at)
            (byte,) = file.read(1)
            file.seek(at)
            file.write(bytes([byte ^ 0x10]))


class Worker:
    """A process that runs a task of `journal_worker.py` and talks in lines."""

    def __init__(self, state: Path, arguments: Sequence[str]) -> None:
        hears, self._tell = os.pipe()
        self._hear, says = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._tell)
            os.close(self._hear)
            journal_worker.run_as_child(state, arguments, hears, says)
        os.close(hears)
        os.close(says)
        self._lines = os.fdopen(self._hear, encoding="utf-8")

    def said(self) -> str:
        """Return its next line; an empty one if it is dead."""
        return self._lines.readline().strip()

    def tell(self) -> None:
        """Let it go on."""
        os.write(self._tell, b"\n")

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def end(self) -> None:
        """Kill it, whatever it does."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._lines.close()
        os.close(self._tell)


@contextmanager
def worker(state: Path, *arguments: str) -> Iterator[Worker]:
    """Run a task in a forked child; it is killed at the end."""
    process = Worker(state, arguments)
    try:
        yield process
    finally:
        process.end()


def traced(state: Path, trace: Path, *arguments: str, inject: str | None = None) -> str:
    """Run a task under strace; returns the trace of its syncs and of what it said."""
    options = ["-e", f"inject={inject}"] if inject else []
    command = [
        "strace", "-f", "-qq", "-s", "80", "-o", str(trace), "-e", "trace=fsync,fdatasync,write", *options,
    ]  # fmt: skip
    program = [sys.executable, "-m", "tests.support.journal_worker", str(state), *arguments]
    subprocess.run([*command, *program], check=True, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
    return trace.read_text()


class _Meter:
    """Counts what the connections of one journal do, while somebody looks. Lives as long as the journal."""

    def __init__(self) -> None:
        self._connections: list[sqlite3.Connection] = []
        self.statements: list[str] | None = None
        self.steps = [0]

    def watch(self, journal: Journal) -> None:
        """See all connections from now on: those for reading when they are lent, however busy they are now."""
        see_connections(database_of(journal), self._attach)

    def _attach(self, connection: sqlite3.Connection) -> None:
        # Once and for good: replacing a callback waits, with the interpreter's lock held, for the statement that another
        # thread is in, which may itself be waiting for that lock to call it.
        if connection not in self._connections:
            self._connections.append(connection)
            connection.set_trace_callback(self._trace)
            connection.set_progress_handler(self._step, 10)

    def _trace(self, statement: str) -> None:
        if self.statements is not None:
            self.statements.append(statement)

    def _step(self) -> int:
        self.steps[0] += 1
        return 0


_METERS: WeakKeyDictionary[Journal, _Meter] = WeakKeyDictionary()


@contextmanager
def watched(journal: Journal) -> Iterator[tuple[list[str], list[int]]]:
    """Note every statement of every connection, and how many steps SQLite's machine takes for them, in tens."""
    if journal not in _METERS:
        _METERS[journal] = _Meter()
        _METERS[journal].watch(journal)
    meter = _METERS[journal]
    meter.statements, meter.steps = [], [0]
    try:
        yield meter.statements, meter.steps
    finally:
        meter.statements, meter.steps = None, [0]
