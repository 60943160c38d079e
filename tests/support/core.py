"""A root with a writer of its own: what the facade will stand on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filetools.content.version import version_of
from filetools.journal.blobs import BlobFolder
from filetools.journal.contents import Contents
from filetools.journal.core.log import Log, LogRecord
from filetools.journal.core.tree_rows import TreeTable
from filetools.journal.database import Database
from filetools.journal.schema import create_core_tables
from filetools.models.records import Actor
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local import LocalStore
from filetools.stores.store import Store
from filetools.writer.operations import Call, Decided, Put, Seen, TreeOperation, Want
from filetools.writer.state import WriterState
from filetools.writer.turn import CallOutcome
from filetools.writer.writer import Writer

ALICE = Actor(kind="agent", id="alice", session="s1")
Decide = Callable[[Seen], Decided]


def at(path: str) -> WorkspacePath:
    return WorkspacePath(path)


def nothing_left_out(_path: str, _is_folder: bool) -> bool:
    return False


@dataclass
class Core:
    """A root, its state and its writer."""

    root: Path
    state: WriterState
    writer: Writer
    heard: list[LogRecord] = field(default_factory=list)

    async def do(self, *operations: TreeOperation, durable: bool = False, actor: Actor = ALICE) -> CallOutcome:
        """Do operations as they are, whatever is there."""
        wants = [Want(path=path) for each in operations for path in (each.path, getattr(each, "to", each.path))]
        return await self.decide(lambda seen: Decided(operations=operations), *wants, durable=durable, actor=actor)

    async def decide(self, decide: Decide, *wants: Want, durable: bool = False, actor: Actor = ALICE) -> CallOutcome:
        return await self.writer.run(Call(actor=actor, wants=wants, decide=decide, durable=durable))

    async def write(self, path: str, text: str) -> CallOutcome:
        return await self.do(Put(path=at(path), content=text.encode()))

    def content(self, version: str) -> bytes:
        return self.state.contents.get(version)


def open_database(directory: Path) -> Database:
    return Database(directory, durability="commit")


def contents_of(database: Database) -> Contents:
    return Contents(database, BlobFolder(database.directory / "blobs", durable=True))


def open_state(
    root: Path,
    store: Store | None = None,
    workspace: Workspace | None = None,
    open_database: Callable[[Path], Database] = open_database,
) -> WriterState:
    """Open the state of a root, making what is missing; the store is a plain one unless it is given."""
    directory = root / ".filetools" / "state"
    directory.mkdir(parents=True, exist_ok=True)
    workspace = workspace or Workspace.open(root)
    store = store or LocalStore(workspace, private_directory=directory)
    database = open_database(directory)
    database.write(create_core_tables)
    return WriterState(
        workspace=workspace, store=store, database=database, log=Log(database),
        contents=contents_of(database), rows=TreeTable(database.connection, workspace.key_of),
        is_left_out=nothing_left_out,
    )  # fmt: skip


def close_state(state: WriterState) -> None:
    state.database.close()
    state.store.close()
    state.workspace.close()


@asynccontextmanager
async def opened_core(root: Path, store: Store | None = None) -> AsyncIterator[Core]:
    """Open a root with a running writer."""
    state = open_state(root, store)
    heard: list[LogRecord] = []

    def hear(records: Sequence[LogRecord]) -> None:
        heard.extend(records)

    core = Core(root, state, Writer(state, on_records=hear, published=0), heard)
    core.writer.start()
    try:
        yield core
    finally:
        assert core.writer.close()
        close_state(state)


def versions(texts: dict[str, str]) -> dict[str, str]:
    return {path: version_of(text.encode()) for path, text in texts.items()}
