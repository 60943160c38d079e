"""Power cuts under writers: a workload on a `ForgetfulDisk`, a cut at any call, and what settling makes of it.

Runs as a program of its own, in its own mount namespace, and prints one JSON line a cut:
`python -m tests.support.core_power_cuts --seed 1 --cuts 10`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from filetools.journal import blobs, database
from filetools.stores.local import LocalStore
from filetools.writer import settle
from filetools.writer.operations import Call, Decided, MakeFolder, Move, Put, Remove, RemoveFolder, TreeOperation, Want
from filetools.writer.syncing import BackgroundSync
from filetools.writer.writer import Writer
from tests.support.core import ALICE, at, open_state
from tests.support.core_crashes import disk_tree, leftovers, locked, look, tidy
from tests.support.power_cuts import Machine, Say, need_mounts

CLIENTS: Final = 4
SIZES: Final = (0, 30, 700, 5_000, 40_000, 200_000)
MOST_CALLS: Final = 40
"""Of one client before a cut."""
Model = dict[str, str | None]
"""Hashes of files by path; None for a folder."""


def _commit_without_sync(transaction: Any) -> Any:
    return lambda opened, *, durable: transaction(opened, durable=False)


BUGS: Final[dict[str, Callable[[], object]]] = {
    "durable commits are not synced": lambda: setattr(
        database.Database, "transaction", _commit_without_sync(database.Database.transaction)
    ),
    "names of large contents are not synced": lambda: setattr(blobs, "sync_directory", lambda path: None),
    "folders above are not synced": lambda: setattr(LocalStore, "_sync_names", lambda store, folder: None),
    "torn files are saves": lambda: setattr(settle, "is_torn", lambda found, content: False),
    "the start of the machine is not noticed": lambda: setattr(settle, "boot_id", lambda: "the same"),
}


class Client:
    """One actor that works in a folder of its own, and says what must be there."""

    def __init__(self, number: int, writer: Writer, chance: random.Random, say: Say) -> None:
        self._number = number
        self._writer = writer
        self._chance = chance
        self._say = say
        self._model: Model = {}
        self._durable = 1.0 if number < CLIENTS - 1 else 0.3

    async def work(self) -> None:
        folder = MakeFolder(path=at(f"client{self._number}"))
        await self._do([folder], {folder.path: None}, durable=True)
        for _ in range(MOST_CALLS):
            operations, after = self._change(dict(self._model))
            if operations:
                await self._do(operations, after, durable=self._chance.random() < self._durable)
                await asyncio.sleep(self._chance.choice((0, 0, 0.01, 0.05)))

    async def _do(self, operations: Sequence[TreeOperation], after: Model, *, durable: bool) -> None:
        wants = [Want(path=each.path, whole=True) for each in operations]
        call = Call(actor=ALICE, wants=wants, decide=lambda _: Decided(operations=operations), durable=durable)
        self._say([self._number, "try", after])
        await self._writer.run(call)
        self._model = after
        self._say([self._number, "durable" if durable else "done", after])

    def _change(self, model: Model) -> tuple[list[TreeOperation], Model]:
        """Return what to do, and what is there after it."""
        chance, top = self._chance, f"client{self._number}"
        files = [path for path, content in model.items() if content is not None]
        folders = [path for path, content in model.items() if content is None and path != top]
        act = chance.choice(("put", "put", "put", "put", "remove", "move", "make", "move folder", "remove folder"))
        parent = chance.choice([top, *folders])
        path = f"{parent}/{chance.choice('abc')}"
        if act == "put" and model.get(path, "") is not None:
            content = chance.randbytes(chance.choice(SIZES))
            return [Put(path=at(path), content=content)], {**model, path: hashlib.sha256(content).hexdigest()}
        if act == "remove" and files:
            del model[gone := chance.choice(files)]
            return [Remove(path=at(gone))], model
        if act == "move" and files and path not in model:
            source = chance.choice(files)
            model[path] = model.pop(source)
            return [Move(path=at(source), to=at(path))], model
        if act == "make" and path not in model:
            inside = f"{path}/{chance.choice('abc')}"
            content = chance.randbytes(chance.choice(SIZES))
            operations: list[TreeOperation] = [MakeFolder(path=at(path)), Put(path=at(inside), content=content)]
            return operations, {**model, path: None, inside: hashlib.sha256(content).hexdigest()}
        folder = chance.choice(folders or [""])
        if act == "remove folder" and folder:
            return [RemoveFolder(path=at(folder))], {each: model[each] for each in model if not _is_in(each, folder)}
        if act == "move folder" and folder and path not in model and not _is_in(path, folder):
            moved = {path + each[len(folder) :] if _is_in(each, folder) else each: model[each] for each in model}
            return [Move(path=at(folder), to=at(path))], moved
        return [], model


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


async def work(root: Path, chance: random.Random, say: Say) -> None:
    """Have clients work until the power goes, or they have done enough."""
    prepare_folders(root)
    with locked(root) as state:
        settle.settle_at_opening(state)
        look(state)
    state = open_state(root)
    writer = Writer(state, on_records=lambda records: sync.notice())
    sync = BackgroundSync(state, writer.submit, chance.choice((0.02, 0.1, 60.0)))
    writer.start()
    sync.start()
    clients = [Client(number, writer, random.Random(chance.random()), say) for number in range(CLIENTS)]
    await asyncio.gather(*(client.work() for client in clients))
    await asyncio.sleep(chance.choice((0, 0.2)))
    os.kill(os.getpid(), signal.SIGKILL)


def prepare_folders(root: Path) -> None:
    """Make the state directory durable, as opening a workspace does."""
    state = root / ".filetools/state"
    state.mkdir(parents=True, exist_ok=True)
    for folder in (state, state.parent, root):
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


async def check(root: Path, _chance: random.Random, say: Say) -> None:
    """Settle, and say what is there and what the journal says of it."""
    prepare_folders(root)
    with locked(root) as state:
        settle.settle_at_opening(state)
        tidy(state)
        look(state)
        tree = {path: _hash(entry) for path, entry in disk_tree(root).items()}
        rows = {row.path: row.version and row.version.hex() for row in state.rows.below("")}
        records = state.log.after(0, limit=1_000_000)
        numbers = [record.number for record in records]
        kept = state.database.rows("SELECT hex(hash) FROM contents")
        say({
            "tree": tree, "astray": sorted(f"{path} {(each or chr(45))[:6]}" for path, each in tree.items() ^ rows.items()),
            "adopted": sorted({record.path for record in records if record.origin == "foreign"}),
            "gaps": numbers != list(range(1, len(numbers) + 1)), "left": leftovers(root),
            "kept": [digest.lower() for (digest,) in kept], "unapplied": len(state.rows.unapplied()),
        })  # fmt: skip


def _hash(entry: bytes | str | None) -> str | None:
    return None if entry is None else hashlib.sha256(entry if isinstance(entry, bytes) else entry.encode()).hexdigest()


class Heard:
    """What clients have said: the states that may be there, the oldest one durable."""

    def __init__(self) -> None:
        self.states: dict[int, list[Model]] = {}
        self.said: Any = None
        self._rest = b""

    def hear(self, descriptor: int) -> bool:
        """Take what is said; True at the end."""
        said = os.read(descriptor, 1 << 20)
        *lines, self._rest = (self._rest + said).split(b"\n")
        for line in lines:
            self.said = json.loads(line)
            if isinstance(self.said, list):
                number, what, model = self.said
                states = self.states.setdefault(number, [{}])
                self.states[number] = [model] if what == "durable" else states if what == "done" else [*states, model]
        return not said

    def faults(self, found: Any) -> dict[str, list[str]]:
        """Compare with what settling after the cut has made."""
        told: dict[str, list[str]] = {"lost": [], "torn": [], "adopted": []}
        for number, states in self.states.items():
            top = f"client{number}"
            own = {path: content for path, content in found["tree"].items() if _is_in(path, top)}
            if number == CLIENTS - 1:
                told["lost"] += _lost_relaxed(own, states, set(found["kept"]))
            elif own not in states:
                allowed = {item for state in states for item in state.items()}
                odd = [path for path, _ in own.items() - allowed]
                told["torn" if odd else "lost"] += odd or [f"{top}: {sorted(own.items() ^ states[-1].items())}"]
            told["adopted"] += [path for path in found["adopted"] if _is_in(path, top) and number < CLIENTS - 1]
        others = {name: found[name] for name in ("astray", "left", "gaps", "unapplied") if found[name]}
        return {**told, **others}


def _lost_relaxed(own: Model, states: Sequence[Model], kept: set[str]) -> list[str]:
    """Return what was durable, and is neither there nor changed by a later call, nor kept as a version."""
    durable, later = states[0], states[1:]
    untouched = [path for path in durable if all(state.get(path, "") == durable[path] for state in later)]
    there = set(own.values())
    lost = [path for path in untouched if own.get(path, "") != durable[path]]
    return lost + [path for path, each in durable.items() if each is not None and each not in kept | there]


def cut_once(seed: int, top: Path, kind: str) -> dict[str, Any]:
    """Cut the power once, or once more while the next opening settles; returns the faults found."""
    chance = random.Random(seed)
    machine: Any = Machine(chance, top)
    machine.known = heard = Heard()
    calls = machine.run(work, calls=chance.randrange(*chance.choice(((150, 300), (300, 1000), (300, 3000)))))
    failures = [heard.said] if isinstance(heard.said, dict) else []
    machine.disk.cut_power(chance)
    for _ in range(3 if kind == "again" else 0):
        machine.run(check, calls=chance.randrange(1, 60))
        machine.disk.cut_power(chance)
    found = machine.say(check)
    failures += [found] if "failed" in found else []
    result: dict[str, Any] = {"seed": seed, "kind": kind, "calls": calls, "clients": len(heard.states)}
    faults = {"failed": failures} if failures else heard.faults(found)
    return result | {name: told for name, told in faults.items() if told}


def main() -> None:
    """Cut as often as the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--kind", choices=("once", "again"), default="once")
    parser.add_argument("--bug", choices=BUGS)
    chosen = parser.parse_args()
    if chosen.bug is not None:
        BUGS[chosen.bug]()
    need_mounts()
    with tempfile.TemporaryDirectory() as top:
        for seed in range(chosen.seed, chosen.seed + chosen.cuts):
            sys.stdout.write(f"{json.dumps(cut_once(seed, Path(top), chosen.kind))}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
