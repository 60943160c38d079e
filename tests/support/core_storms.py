"""Storms: foreign programs beside own writers, judged at rest by what the rows, the log and the disk say.

    result = await storm(tmp_path, Storm(seed=7, steps=60))
    assert result.faults == []

Run as a program, this module is one foreign program, or a second process with a writer of its own:
`program ROOT SEED STEPS` and `own ROOT SEED STEPS`; each prints what it did as a JSON object.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from filetools.errors import FileToolsError, PathExistsError, PathNotFoundError
from filetools.journal.core.log import LogRecord
from filetools.models.records import Operation
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local import LocalStore
from filetools.stores.system import RENAME_EXCHANGE, Capabilities, rename_with_flags
from filetools.tree.watching import TreeWatcher
from filetools.writer.operations import Decided, MakeFolder, Move, Put, Remove, RemoveFolder, Seen, TreeOperation, Want
from tests.support import inside
from tests.support.core import Core, at, opened_core
from tests.support.forked import forked

Noticing = Literal["inotify", "polling", "nothing"]
Tree = dict[str, str]
"""What is at each path: "directory", a version of a file, or "-> " and the version of a link's target; "?" if unread."""
REST_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.05
MOVES: Final = (Operation.MOVE, Operation.MOVE_DIRECTORY)


@dataclass(frozen=True, kw_only=True)
class Storm:
    """What happens at once."""

    seed: int
    steps: int
    noticing: Noticing = "inotify"
    programs: int = 2
    own_steps: int = 40
    others: int = 0
    """Further processes with writers of their own."""
    fine_times: bool = True
    """Whether each change of a file has a time of its own, as the store is told."""
    only: tuple[str, ...] = ()
    """What programs do, by the names of `Program.actions`; everything if empty."""


@dataclass
class Result:
    """What came of a storm."""

    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    records: list[LogRecord] = field(default_factory=list)
    late: list[LogRecord] = field(default_factory=list)
    """Told only by the last look at everything."""


# -- foreign programs ------------------------------------------------------------------------------------------------


class Program:
    """A program that knows nothing of filetools. All its errors are those of anybody who meets others at work."""

    def __init__(self, root: Path, seed: int, only: Sequence[str] = ()) -> None:
        self.root = root
        self.only = only
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.serial = 0
        self.seed = seed

    def run(self, steps: int) -> None:
        for _ in range(steps):
            with suppress(OSError):  # somebody else was there first
                actions = [each for each in self.actions() if not self.only or each[0] in self.only]
                name, action = self.random.choice(actions)
                action()
                self.counts[name] += 1
            if self.random.random() < 0.25:
                time.sleep(self.random.random() * 0.006)

    def actions(self) -> Sequence[tuple[str, Callable[[], object]]]:
        often: list[tuple[str, Callable[[], object]]] = [
            ("create", lambda: self.new("f").write_text(self.text())), ("append", self.append),
            ("save over", self.save_over), ("move file", self.move_file), ("make folder", self.make_folder),
            ("move folder", self.move_folder),
        ]  # fmt: skip
        return [
            *often, *often, *often, ("save in place", lambda: self.file().write_text(self.text())), ("backup", self.backup),
            ("remove", lambda: self.file().unlink()), ("remove", lambda: self.file().unlink()), ("rmtree", self.rmtree),
            ("exchange", self.exchange), ("hard link", lambda: self.new("h").hardlink_to(self.file())),
            ("link", lambda: self.new("l").symlink_to(f"f{self.random.randrange(40)}")), ("flatten", self.flatten),
            ("file for folder", self.file_for_folder), ("folder for file", self.folder_for_file),
            ("make again", self.make_again), ("turn around", self.turn_around),
        ]  # fmt: skip

    def text(self) -> str:
        self.serial += 1
        return f"{self.seed} {self.serial}\n"

    def all(self) -> Iterator[tuple[Path, list[str], list[str]]]:
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name != ".filetools")
            yield Path(folder), folders, sorted(files)

    def folder(self, *, below: bool = False) -> Path:
        found = [folder for folder, _, _ in self.all()][1 if below else 0 :]
        return self.random.choice(found or [self.root / "none"])

    def file(self) -> Path:
        found = [folder / name for folder, _, files in self.all() for name in files]
        return self.random.choice(found or [self.root / "none"])

    def new(self, letter: str) -> Path:
        return self.folder() / f"{letter}{self.random.randrange(30)}"

    def append(self) -> None:
        with open(self.file(), "r+") as file:
            file.seek(0, os.SEEK_END)
            file.write(self.text())

    def save_over(self) -> None:
        path = self.file()
        temporary = path.with_name(f"{path.name}.tmp")
        temporary.write_text(self.text())
        temporary.replace(path)

    def backup(self) -> None:
        path = self.file()
        path.rename(f"{path}~")
        path.write_text(self.text())

    def move_file(self) -> None:
        self.file().replace(self.new("m"))
        self.counts["moved"] += 1

    def make_folder(self) -> None:
        (self.new("d") / ("e" if self.random.random() < 0.3 else "")).mkdir(parents=True)

    def move_folder(self) -> None:
        self.folder(below=True).rename(self.new("n"))  # also over an empty folder
        self.counts["moved"] += 1

    def rmtree(self) -> None:
        shutil.rmtree(self.folder(below=True))

    def make_again(self) -> None:
        """`rm -rf dist && build`."""
        folder = self.folder(below=True)
        shutil.rmtree(folder)
        (folder / "e").mkdir(parents=True)
        (folder / "e" / f"f{self.random.randrange(5)}").write_text(self.text())

    def exchange(self) -> None:
        one, other = (self.random.choice([self.folder(below=True), self.file()]) for _ in range(2))
        rename_with_flags((0, str(one)), (0, str(other)), RENAME_EXCHANGE)

    def flatten(self) -> None:
        """A child takes the place of its emptied parent, as after unpacking an archive."""
        child = self.folder(below=True)
        if child.parent != self.root:
            aside = self.new("n")
            child.rename(aside)
            shutil.rmtree(child.parent)
            aside.rename(child.parent)

    def turn_around(self) -> None:
        """A folder and the one in it change places: a/b becomes b'/a'."""
        child = self.folder(below=True)
        if child.parent != self.root:
            aside = self.new("n")
            child.rename(aside)
            child.parent.rename(aside / "turned")

    def file_for_folder(self) -> None:
        folder = self.folder(below=True)
        shutil.rmtree(folder)
        folder.write_text(self.text())

    def folder_for_file(self) -> None:
        path = self.file()
        path.unlink()
        path.mkdir()
        (path / "inside").write_text(self.text())


# -- own writes ------------------------------------------------------------------------------------------------------


class OwnWrites:
    """Calls through a writer; each one that was acknowledged is remembered."""

    def __init__(self, core: Core, seed: int) -> None:
        self.core = core
        self.random = random.Random(seed)
        self.seed = seed
        self.done: list[tuple[int, str]] = []
        """Number and version, in hex, of each acknowledged write."""
        self.refused: Counter[str] = Counter()

    async def run(self, steps: int) -> None:
        for step in range(steps):
            try:
                await self._one(step)
            except FileToolsError as exc:
                self.refused[exc.code] += 1
            await asyncio.sleep(self.random.random() * 0.006)

    async def _one(self, step: int) -> None:
        paths = self._paths()
        folders = ["", *(path for path, kind in paths if kind == "directory")]
        files = [path for path, kind in paths if kind != "directory"] or ["w0"]
        chance = self.random.random()
        new = _below(self.random.choice(folders), f"w{self.random.randrange(20)}")
        if chance < 0.7:
            path = self.random.choice(files) if self.random.random() < 0.6 else new
            path = f"{path}x/y/z" if self.random.random() < 0.1 else path
            text = f"own {self.seed} {step}\n".encode()
            done = await self.core.decide(_putting(path, text), Want(path=at(path)))
            digest = hashlib.sha256(text).hexdigest()
            number = next(record.number for record in done.records if record.after == bytes.fromhex(digest))
            self.done.append((number, digest))
        elif chance < 0.8:
            path = self.random.choice(files)
            await self.core.decide(_removing(path), Want(path=at(path)))
        elif chance < 0.9:
            path, to = self.random.choice(files + folders[1:]), f"{new}m"
            await self.core.decide(_moving(path, to), Want(path=at(path)), Want(path=at(to)))
        elif len(folders) > 1:
            path = self.random.choice(folders[1:])
            await self.core.decide(_removing(path), Want(path=at(path), whole=True))

    def _paths(self) -> list[tuple[str, str]]:
        return [(str(path), str(kind)) for path, kind in self.core.state.database.rows(_THERE)]


_THERE: Final = "SELECT path, kind FROM tree WHERE kind <> 'absent' AND path <> '' ORDER BY path"


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _putting(path: str, content: bytes) -> Callable[[Seen], Decided]:
    def decide(seen: Seen) -> Decided:
        if seen.at(at(path)).kind not in (None, "file"):
            raise PathExistsError(path)
        return Decided(operations=[*_folders_above(path, seen), Put(path=at(path), content=content)])

    return decide


def _folders_above(path: str, seen: Seen) -> list[TreeOperation]:
    made: list[TreeOperation] = []
    for folder in at(path).folders:
        kind = seen.at(folder).kind
        if kind not in (None, "directory"):
            raise PathExistsError(folder)
        if kind is None:
            made.append(MakeFolder(path=folder))
    return made


def _removing(path: str) -> Callable[[Seen], Decided]:
    def decide(seen: Seen) -> Decided:
        kind = seen.at(at(path)).kind
        if kind is None:
            raise PathNotFoundError(path)
        return Decided(operations=[RemoveFolder(path=at(path)) if kind == "directory" else Remove(path=at(path))])

    return decide


def _moving(path: str, to: str) -> Callable[[Seen], Decided]:
    def decide(seen: Seen) -> Decided:
        if seen.at(at(path)).kind is None:
            raise PathNotFoundError(path)
        if seen.at(at(to)).kind is not None or at(to).is_below(at(path)):
            raise PathExistsError(to)
        return Decided(operations=[*_folders_above(to, seen), Move(path=at(path), to=at(to))])

    return decide


# -- judging ---------------------------------------------------------------------------------------------------------


class FollowError(AssertionError):
    """A follower of the log cannot apply a record."""


class Follower:
    """Applies records one by one, and refuses each that does not fit what the ones before have left."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def apply(self, record: LogRecord) -> None:
        path, kind = record.path, record.kind
        if record.origin == "displaced":
            return  # history: bytes that were covered before anybody saw them, and what covers them
        if record.after is not None or kind in (Operation.CREATE_DIRECTORY, *MOVES):
            parent = path.rpartition("/")[0]
            self._need(record, parent == "" or self.tree.get(parent) == "directory", "its folder is missing")
        if kind in MOVES:
            assert record.old_path is not None
            self._move(record, record.old_path)
        elif kind in (Operation.CREATE, Operation.CREATE_DIRECTORY):
            self._need(record, path not in self.tree, "something is there")
            self.tree[path] = "directory" if record.after is None else record.after.hex()
        elif kind == Operation.MODIFY:
            self._need(record, self.tree.get(path, "directory") != "directory", "no file is there")
            assert record.after is not None
            self.tree[path] = record.after.hex()
        elif kind == Operation.LINK and record.after is not None:
            self._need(record, self.tree.get(path, "-> ").startswith("-> "), "something else is there")
            self.tree[path] = f"-> {record.after.hex()}"
        elif kind in (Operation.DELETE, Operation.LINK, Operation.DELETE_DIRECTORY):
            self._need(record, path in self.tree, "it is missing")
            self._need(record, (self.tree[path] == "directory") == (kind == Operation.DELETE_DIRECTORY), "another kind")
            for gone in [path, *self._below(path)]:
                del self.tree[gone]

    def _move(self, record: LogRecord, old: str) -> None:
        self._need(record, old in self.tree, "nothing to move")
        moved = {found: self.tree.pop(found) for found in [old, *self._below(old)]}
        # A move replaces one file, or an empty folder, or the folders that have held what is moved.
        replaced = [found for found in self.tree if f"{found}/".startswith(f"{record.path}/")]
        spared = [found for found in replaced if found != record.path and not old.startswith(f"{found}/")]
        self._need(record, not spared, "what it replaces is not empty")
        for found in replaced:
            del self.tree[found]
        self.tree.update({record.path + found[len(old) :]: what for found, what in moved.items()})

    def _below(self, path: str) -> list[str]:
        return [found for found in self.tree if found.startswith(f"{path}/")]

    def _need(self, record: LogRecord, holds: bool, otherwise: str) -> None:
        if not holds:
            raise FollowError(f"{otherwise}: {shown(record)}")


def shown(record: LogRecord) -> str:
    old = f"{record.old_path} -> " if record.old_path else ""
    return f"{record.number} {record.origin} {record.kind} {old}{record.path}"


def tree_on_disk(root: Path) -> Tree:
    """Return what is at each path, without the state directory."""
    found: Tree = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".filetools"]
        for name in (*folders, *files):
            place = Path(folder, name)
            if place.is_symlink():
                what = f"-> {hashlib.sha256(os.fsencode(os.readlink(place))).hexdigest()}"
            else:
                what = "directory" if place.is_dir() else hashlib.sha256(place.read_bytes()).hexdigest()
            found[str(place.relative_to(root))] = what
    return found


def tree_in_rows(core: Core) -> Tree:
    """Return what the rows say is at each path."""
    query = "SELECT path, kind, version FROM tree WHERE kind <> 'absent' AND path <> ''"
    return {path: _what(kind, version) for path, kind, version in core.state.database.rows(query)}


def _what(kind: str, version: bytes | None) -> str:
    if kind == "directory":
        return kind
    return ("-> " if kind == "symlink" else "") + ("?" if version is None else version.hex())


def differences(name: str, found: Tree, disk: Tree) -> list[str]:
    """Return where a tree is not the disk; an unread file may have any bytes."""
    return [
        f"{name}: {path} is {found.get(path)}, on the disk {disk.get(path)}"
        for path in sorted(found.keys() | disk.keys())
        if found.get(path) != disk.get(path) and not (found.get(path) == "?" and disk.get(path, "").isalnum())
    ]


def judge(core: Core, before: Tree | None = None, own: Sequence[tuple[int, str]] = ()) -> list[str]:
    """Return all that is wrong at rest."""
    disk, rows, log = tree_on_disk(core.root), tree_in_rows(core), core.state.log
    records: list[LogRecord] = []
    while more := log.after(records[-1].number if records else 0):
        records += more
    faults = differences("rows", rows, disk)
    faults += _follow(Follower(dict(before or {})), records, disk, {version for _, version in own})
    by_number = {record.number: record for record in records}
    for number, version in own:
        record = by_number.get(number)
        if record is None or record.after is None or record.after.hex() != version or record.origin != "call":
            faults.append(f"lost: own write {number}")
    for path, what in disk.items():
        unread = rows.get(path) == "?"
        if what != "directory" and not unread and not core.state.database.rows(_HAS, (bytes.fromhex(what[-64:]),)):
            faults.append(f"unknown bytes: {path}")
    if [record.number for record in core.heard] != [record.number for record in records]:
        faults.append("heard: not each record once and in order")
    return faults


_HAS: Final = "SELECT 1 FROM contents WHERE hash = ?"


def _follow(follower: Follower, records: Sequence[LogRecord], disk: Tree, own: set[str]) -> list[str]:
    faults = []
    try:
        for record in records:
            version = "" if record.after is None else record.after.hex()
            if record.origin == "foreign" and record.kind not in MOVES and follower.tree.get(record.path) == version:
                faults.append(f"{'own told as foreign' if version in own else 'told twice'}: {shown(record)}")
            follower.apply(record)
    except FollowError as exc:
        return [*faults, f"feed: {exc}"]
    return faults + differences("feed", follower.tree, disk)


# -- the storm -------------------------------------------------------------------------------------------------------


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = REST_SECONDS) -> None:
    """Return once something holds; fail after a bounded time."""
    end = time.monotonic() + seconds
    while not await holds():
        assert time.monotonic() < end, "it never came true"
        await asyncio.sleep(0.01)


async def in_turn(core: Core, look: Callable[[], bool]) -> bool:
    """Ask something in a turn of the writer."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bool] = loop.create_future()

    def task() -> None:
        loop.call_soon_threadsafe(answer.set_result, look())

    core.writer.submit(task)
    return await answer


async def rest(core: Core) -> None:
    """Wait until nothing is hinted at, nor to be looked at again, three times in a row."""
    calm = 0

    async def is_calm() -> bool:
        nonlocal calm
        calm = calm + 1 if await in_turn(core, lambda: inside.is_calm(core.writer)) else 0
        return calm >= 3

    await until(is_calm)


async def heard_all(core: Core) -> None:
    """Make a file, and wait until it is known: notices come in order, so all earlier ones were looked at."""
    (core.root / "mark").touch()

    async def is_known() -> bool:
        return "mark" in tree_in_rows(core)

    await until(is_known)
    await rest(core)


async def look_at_everything(core: Core) -> None:
    """Compare the whole tree, and whatever that leaves to be looked at again."""
    core.writer.look_at_everything()
    await rest(core)


@contextmanager
def watched(core: Core) -> Iterator[None]:
    """Have hints from inotify, as the leading process does."""
    watcher = TreeWatcher(core.state.workspace, core.writer.agenda.hints)
    inside.on_folders(core.writer, lambda paths: watcher.watch(map(WorkspacePath, paths)))
    assert watcher.start()
    assert watcher.status().method == "inotify"
    try:
        yield
    finally:
        inside.on_folders(core.writer, lambda _: None)
        watcher.close()


async def _poll(core: Core) -> None:
    while True:
        core.writer.look_at_everything()
        await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def noticing_core(root: Path) -> AsyncIterator[Core]:
    """Open an empty root whose changes are noticed by inotify."""
    root.mkdir()
    async with opened_core(root) as core:
        with watched(core):
            await look_at_everything(core)
            yield core


async def storm(root: Path, told: Storm) -> Result:
    """Run a storm, wait until it has calmed down, and judge."""
    root.mkdir()
    Program(root, told.seed - 1).run(12)
    before = {
        path: "?" if what.isalnum() and what != "directory" else what for path, what in tree_on_disk(root).items()
    }
    result = Result()
    async with opened_core(root, _store(root, fine_times=told.fine_times)) as core:
        with watched(core) if told.noticing == "inotify" else nullcontext():
            await look_at_everything(core)
            own = OwnWrites(core, told.seed)
            polling = asyncio.create_task(_poll(core)) if told.noticing == "polling" else None
            written = await _rage(root, told, own, result)
            if polling is not None:
                polling.cancel()
            await (heard_all(core) if told.noticing == "inotify" else rest(core))
            seen = core.state.log.newest()
            await look_at_everything(core)
            result.late = core.state.log.after(seen)
            result.counts["told late"] = len(result.late)
            result.faults += judge(core, before, written)
        result.records = core.state.log.after(0, 100_000)
        result.counts["records"] = len(result.records)
        result.counts["own"] = len(written)
        foreign = [record for record in result.records if record.origin == "foreign"]
        result.counts["told as moves"] = sum(record.kind in MOVES for record in foreign)
    return result


def _store(root: Path, *, fine_times: bool) -> LocalStore:
    directory = root / ".filetools" / "state"
    directory.mkdir(parents=True)
    capabilities = None if fine_times else Capabilities(fine_times=False)
    return LocalStore(Workspace.open(root), private_directory=directory, capabilities=capabilities)


async def _rage(root: Path, told: Storm, own: OwnWrites, result: Result) -> list[tuple[int, str]]:
    """Have everybody at work at once, and return all acknowledged own writes."""
    parts = [("program", number) for number in range(told.programs)]
    parts += [("own", number) for number in range(100, 100 + told.others)]
    processes = [
        forked("tests.support.core_storms", part, root, str(told.seed * 1000 + number), str(told.steps), *told.only)
        for part, number in parts
    ]
    written: list[tuple[int, str]] = []
    await own.run(told.own_steps)
    for process in processes:
        with process:
            said = await asyncio.to_thread(process.hear)
            result.counts.update(said["counts"])
            written += [(number, version) for number, version in said["written"]]
    return [*own.done, *written]


async def _write_as_other(root: Path, seed: int, steps: int) -> list[tuple[int, str]]:
    async with opened_core(root) as core:
        own = OwnWrites(core, seed)
        await own.run(steps)
        return own.done


def _main(part: str, root: str, seed: str, steps: str, *only: str) -> None:
    counts: dict[str, int] = {}
    written: list[tuple[int, str]] = []
    if part == "own":
        written = asyncio.run(_write_as_other(Path(root), int(seed), int(steps)))
    else:
        program = Program(Path(root), int(seed), only)
        program.run(int(steps))
        counts = dict(program.counts)
    sys.stdout.write(json.dumps({"counts": counts, "written": written}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main(*sys.argv[1:])
