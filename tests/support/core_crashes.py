"""Processes that die or fail at a chosen call of their store or at a commit, and what settling makes of it."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Final, cast

from filetools.errors import FileToolsError, PathExistsError
from filetools.journal.contents import hash_of, version_from
from filetools.journal.core.log import LogRecord
from filetools.journal.database import Database
from filetools.models.records import Operation
from filetools.paths.workspace import Workspace
from filetools.stores.local import LocalStore
from filetools.stores.store import Store
from filetools.tree.agenda import Due
from filetools.writer.cleanup import Cleanup
from filetools.writer.operations import Call, Decided, Move, Seen, TreeOperation, Want
from filetools.writer.settle import settle, settle_at_opening
from filetools.writer.state import WriterState
from filetools.writer.turn import CallOutcome, Turn
from filetools.writer.writer import Writer
from tests.support.core import ALICE, close_state, open_state
from tests.support.faulty import EXIT_CODE, FaultyStore, Moment, Plan

Entry = bytes | str | None
"""Bytes of a file, target of a link; None for a folder."""
Tree = dict[str, Entry]
Delta = Mapping[str, Entry | Operation]
"""What a call changes; `GONE` for what it removes."""
GONE: Final = Operation.DELETE
Stranger = Callable[[Path], object]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Calls of one turn, and what a stranger does in the very instant of a store's call."""

    before: Tree
    calls: Sequence[tuple[Sequence[TreeOperation], Delta]]
    acts: Mapping[str, Stranger] = field(default_factory=dict)
    saved: Mapping[str, bytes] = field(default_factory=dict)
    """What the stranger saved, by path: never to be lost."""

    def trees(self, *, acknowledged: bool) -> list[Tree]:
        """Return what may be there: all calls, or each of them wholly or not."""
        deltas = [delta for _, delta in self.calls]
        fewest = len(deltas) if acknowledged else 0
        chosen = [some for count in range(fewest, len(deltas) + 1) for some in combinations(deltas, count)]
        return [self._with(some) for some in chosen]

    def _with(self, deltas: Sequence[Delta]) -> Tree:
        tree: dict[str, Entry | Operation] = dict(self.before)
        for delta in deltas:
            tree |= delta
        return cast(Tree, {path: entry for path, entry in tree.items() if entry is not GONE})


class PlannedDatabase(Database):
    """A database whose commits are moments of a plan."""

    plan = Plan()

    @contextmanager
    def transaction(self, *, durable: bool, is_mark: bool = False) -> Iterator[sqlite3.Connection]:
        with super().transaction(durable=durable, is_mark=is_mark) as connection:
            yield connection
            self.plan.run("journal", "commit", "", lambda: None)
        self.plan.run("journal", "committed", "", lambda: None)


def opened(root: Path, plan: Plan) -> WriterState:
    """Open a root whose store and database follow a plan."""
    workspace = Workspace.open(root)
    (root / ".filetools/state").mkdir(parents=True, exist_ok=True)
    store = cast(Store, FaultyStore(LocalStore(workspace, private_directory=root / ".filetools/state"), plan))
    planned = type("Planned", (PlannedDatabase,), {"plan": plan})
    return open_state(root, store, workspace, lambda directory: planned(directory, durability="commit"))


def call_of(operations: Sequence[TreeOperation]) -> Call:
    wants = [Want(path=each.path, whole=True) for each in operations]
    wants += [Want(path=to) for each in operations if (to := getattr(each, "to", None)) is not None]

    def decide(seen: Seen) -> Decided:
        first = operations[0]
        if isinstance(first, Move) and seen.at(first.to).kind is not None:
            raise PathExistsError(first.to)
        return Decided(operations=operations)

    return Call(actor=ALICE, wants=wants, decide=decide)


def grow(root: Path, tree: Tree) -> None:
    """Make what a literal says."""
    root.mkdir(exist_ok=True)
    for path, entry in tree.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry is None:
            place.mkdir(exist_ok=True)
        elif isinstance(entry, str):
            place.symlink_to(entry)
        else:
            place.write_bytes(entry)


def disk_tree(root: Path) -> Tree:
    """Return what is below a root, without the state directory."""
    found: Tree = {}
    for place in sorted(root.rglob("*")):
        path = place.relative_to(root).as_posix()
        if path.split("/")[0] != ".filetools":
            found[path] = (
                str(place.readlink()) if place.is_symlink() else None if place.is_dir() else place.read_bytes()
            )
    return found


async def run_calls(state: WriterState, case: Case) -> list[CallOutcome | BaseException]:
    """Do the calls of a case in one turn of a writer, and end it."""
    writer = Writer(state, published=0)
    tasks = [asyncio.ensure_future(writer.run(call_of(operations))) for operations, _ in case.calls]
    await asyncio.sleep(0)
    writer.start()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert writer.close()
    return done


def look(state: WriterState) -> Sequence[LogRecord]:
    """Compare the whole tree with the rows; the caller holds the lock."""
    first = Turn(state, [], Due(whole_tree=True)).run()
    # What is gone counts as deleted once it is missed again.
    return [*first.records, *Turn(state, [], Due(whole_tree=True, doubtful=first.missing)).run().records]


@contextmanager
def locked(root: Path, plan: Plan | None = None) -> Iterator[WriterState]:
    state = opened(root, plan or Plan(is_armed=False))
    try:
        with state.database.gate:
            yield state
    finally:
        close_state(state)


def tidy(state: WriterState) -> None:
    tidying = Cleanup(state, trash_seconds=0)
    tidying.next_at = 0.0
    tidying.work()


def arm(plan: Plan, case: Case, root: Path) -> None:
    plan.acts.update({method: lambda act=act: act(root) for method, act in case.acts.items()})  # type: ignore[misc]
    plan.is_armed = True


def in_child(work: Callable[[Callable[[], object]], object]) -> bool:
    """Run something in a child that dies on the way; True if it said before that it was done."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(60)
        try:
            work(lambda: os.write(writing, b"done"))
            os._exit(EXIT_CODE)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        was_done = pipe.read() == b"done"
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (EXIT_CODE, -signal.SIGKILL), f"the child ended with {status}"
    return was_done


def prepare(root: Path, case: Case) -> None:
    """Make the root of a case, known to filetools."""
    grow(root, case.before)
    with locked(root) as state:
        settle_at_opening(state)
        look(state)


def act_out(
    root: Path, case: Case, plan: Plan, say: Callable[[], object] = lambda: None
) -> list[CallOutcome | BaseException]:
    """Do the calls of a case under a plan, in this process."""
    plan.is_armed = False
    state = opened(root, plan)
    try:
        arm(plan, case, root)
        done = asyncio.run(run_calls(state, case))
        if not any(isinstance(each, BaseException) for each in done):
            say()
        plan.is_armed = False
    finally:
        close_state(state)
    return done


def settle_and_tidy(root: Path, plan: Plan) -> None:
    """What the first turn of the next process does, under a plan."""
    plan.is_armed = False
    with locked(root, plan) as state:
        plan.is_armed = True
        settle_at_opening(state)
        tidy(state)
        plan.is_armed = False


def moments_of(plan: Plan) -> list[tuple[int, Moment]]:
    """Return every moment to die at that leaves something else than the others."""
    telling = [call for call in plan.calls if call.is_changing or call.store == "journal"]
    moments = [(call.number, moment) for call in telling for moment in call.moments if moment != "after"]
    return [*moments, *((call.number, "after") for call in telling[-1:])]


def moments(top: Path, case: Case) -> list[tuple[int, Moment]]:
    """Return every moment of a case to die at."""
    prepare(top / "counted", case)
    counted = Plan.record()
    act_out(top / "counted", case, counted)
    return moments_of(counted)


def die(root: Path, case: Case, at: int, moment: Moment, bug: Callable[[], object] = lambda: None) -> bool:
    """Let a case die at a call, at a fresh root; True if it was acknowledged before."""
    prepare(root, case)

    def work(say: Callable[[], object]) -> None:
        bug()
        act_out(root, case, Plan.die(at, moment, exits=True), say)

    return in_child(work)


def die_settling(root: Path, at: int) -> bool:
    """Let the next process die at a call of settling; True if it came to the end."""

    def work(say: Callable[[], object]) -> None:
        settle_and_tidy(root, Plan.die(at, exits=True))
        say()

    return in_child(work)


def faults_after(root: Path, case: Case, *, acknowledged: bool) -> list[str]:
    """Settle and return all that is not as promised."""
    found: list[str] = []
    with locked(root) as state:
        settle_at_opening(state)
        if case.acts:
            look(state)  # what a stranger did after the marks were set
        tree, newest = disk_tree(root), state.log.newest()
        found += _wrong_rows(state, tree)
        if settle(state) or settle_at_opening(state) or state.log.newest() != newest or disk_tree(root) != tree:
            found.append("settling twice changes something")
        if look(state):
            found.append("settling has not seen everything")
        records = state.log.after(0)
        found += _wrong_log(records, case, tree)
        if not case.acts:
            if tree not in case.trees(acknowledged=acknowledged):
                found.append(f"half done: {tree}")
            found += [f"taken for a stranger's: {each.path} {each.origin}" for each in records if each.origin != "call"]
        elif acknowledged:
            wanted = case.trees(acknowledged=True)[0]
            found += [f"acknowledged and gone: {each}" for each in wanted.items() if tree.get(each[0], GONE) != each[1]]
        for path, content in [*case.before.items(), *case.saved.items()]:
            if isinstance(content, bytes) and (path not in case.saved or (root / ".filetools/saved").exists()):
                found += _lost(state, path, content, records, tree)
        tidy(state)
        found += [f"left behind: {each}" for each in leftovers(root)]
        if state.log.newest() != newest and not case.acts:
            found.append("tidying recorded something")
    return found


def faults_after_failure(root: Path, case: Case, done: Sequence[CallOutcome | BaseException]) -> list[str]:
    """Return all that is not as promised where calls were answered, and one of their steps had failed."""
    succeeded = [call for call, each in zip(case.calls, done, strict=True) if isinstance(each, CallOutcome)]
    found = faults_after(root, replace(case, calls=succeeded), acknowledged=True)
    return [each for each in found if not each.startswith("taken for") or "set_back" not in each]


def leftovers(root: Path) -> list[str]:
    private = root / ".filetools/state"
    hidden = [
        f"{folder}/{place.name}" for folder in ("tmp", "trash", "limbo") for place in (private / folder).glob("*")
    ]
    return hidden + [place.name for place in root.rglob(".ft-*")]


def _hash(entry: Entry) -> bytes | None:
    return None if entry is None else hash_of(entry.encode() if isinstance(entry, str) else entry)


def _wrong_rows(state: WriterState, tree: Tree) -> list[str]:
    rows = {row.path: row for row in state.rows.below("")}
    found = [f"row and disk differ: {path}" for path in rows.keys() ^ tree.keys()]
    for path in rows.keys() & tree.keys():
        row, entry = rows[path], tree[path]
        kind = "directory" if entry is None else "symlink" if isinstance(entry, str) else "file"
        stat = state.store.stat(state.workspace.resolve(path))
        if row.kind != kind or (row.version is not None and row.version != _hash(entry)):
            found.append(f"row and disk differ: {path}")
        if not row.applied or (kind == "file" and stat is not None and row.mode != stat.mode):
            found.append(f"row is not marked, or has another mode: {path}")
    return found


def _wrong_log(records: Sequence[LogRecord], case: Case, tree: Tree) -> list[str]:
    """Follow the log from the beginning: it must lead to what is on the disk."""
    found = [] if [each.number for each in records] == list(range(1, len(records) + 1)) else ["numbers have gaps"]
    followed = {path: _hash(entry) for path, entry in case.before.items()}
    for record in records:
        try:
            follow(followed, record)
        except KeyError:
            found.append(f"the log cannot be followed: {record.number} {record.kind} {record.path}")
    if followed != {path: _hash(entry) for path, entry in tree.items()}:
        found.append(f"the log leads elsewhere: {sorted(followed)}")
    return found


def follow(tree: dict[str, bytes | None], record: LogRecord) -> None:
    """Apply one record to hashes by path."""
    match record.kind:
        case Operation.MOVE | Operation.MOVE_DIRECTORY:
            old = record.old_path or ""
            tree[record.path] = tree.pop(old)
            for path in [path for path in tree if path.startswith(f"{old}/")]:
                tree[record.path + path[len(old) :]] = tree.pop(path)
        case Operation.DELETE | Operation.DELETE_DIRECTORY:
            del tree[record.path]
        case Operation.LINK if record.after is None:
            del tree[record.path]
        case _:
            tree[record.path] = record.after


def _lost(state: WriterState, path: str, content: bytes, records: Sequence[LogRecord], tree: Tree) -> list[str]:
    digest = hash_of(content)
    if content in tree.values():
        return []
    names = {path}  # that the file has had, with the folders that it was in
    for each in records:
        if each.old_path is not None:
            names |= {each.path + name[len(each.old_path) :] for name in names if name.startswith(f"{each.old_path}/")}
    reached = [each for each in records if names & {each.path, each.old_path} and digest in (each.before, each.after)]
    try:
        if reached and state.contents.get(str(version_from(digest))) == content:
            return []
    except FileToolsError:
        pass
    return [f"lost: {path} {content[:20]!r}"]
