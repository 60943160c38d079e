"""Power cuts under live clients: a workload on a `ForgetfulDisk`, a cut at any call, and what the next opening makes of it.

Runs as a program of its own, in its own mount namespace, and prints one JSON line a cut:
`python -m tests.support.power_cuts --seed 1 --cuts 10`.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import traceback
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial, partialmethod
from pathlib import Path
from typing import Any, Final

import filetools
import filetools.stores.local
from filetools.changes.steps import folders
from filetools.errors import EditConflictError
from filetools.facade.facade import FileToolsFacade
from filetools.journal.storage.contents import BlobFolder
from filetools.models.records import Actor, ChangeRecord
from filetools.writer import recovery
from tests.support.crashing import snapshot
from tests.support.forgetful_disk import ForgetfulDisk
from tests.support.fuse import PowerCutError, Server
from tests.support.inside import commit_without_sync, heads_below

CLIENTS: Final = 4
SIZES: Final = (0, 30, 700, 5_000, 40_000, 200_000)
CANNOT: Final = 77
"""Exit code where no power can be cut: it takes /dev/fuse, and the right to mount."""
MOST_CALLS: Final = 40
"""Of one client before a cut."""
ACTS: Final = ("write", "write", "write", "delete", "move", "folder", "both", "move folder", "delete folder")
UNDOS: Final = 0.15
"""Part of the calls that are undos."""
_BOOT_ID: Final = b"/proc/sys/kernel/random/boot_id"
_NEW_NAMESPACE, _BIND, _PRIVATE = 0x00020000, 4096, 16384 | 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)
Model = dict[str, str | None]
"""Hashes of files by path; None for a folder."""
Say = Callable[[Any], None]


BUGS: Final[dict[str, Callable[[], object]]] = {
    # A folder counts as durable without a sync of the folder that holds its name.
    "no sync of folders above": lambda: setattr(
        filetools.stores.local.LocalStore, "_sync_names", lambda self, folder: None
    ),
    "the journal is not synced": commit_without_sync,
    "large contents are not synced": lambda: setattr(
        BlobFolder, "put_all", partialmethod(BlobFolder.put_all, is_synced=False)
    ),
    "moved folders are not synced": lambda: setattr(folders.MoveFolder, "sync", lambda self, parts: None),
    "torn files are saves": lambda: setattr(recovery, "is_left_by_power_cut", lambda found, versions: False),
}


class Client:
    """One agent that works in a folder of its own, and knows what must stand there."""

    def __init__(self, number: int, files: FileToolsFacade, chance: random.Random, say: Say) -> None:
        self._number = number
        self._files = files.for_actor(_actor(number))
        self._chance = chance
        self._say = say
        self._past: list[Model] = [{}]
        """What stands there, at the end, and what each further undo would leave."""

    async def work(self) -> None:
        for _ in range(MOST_CALLS):
            call, after = self._change(dict(self._past[-1]))
            past = [*self._past, after]
            if self._chance.random() < UNDOS and len(self._past) > 1:
                call, past = self._files.undo, self._past[:-1]
            elif after == self._past[-1]:
                continue
            self._say([self._number, [self._past[-2:], past[-2:]]])
            try:
                await call()
            except EditConflictError:
                past = self._past[-1:]  # a refused undo changes nothing; whether rightly, other tests ask
            self._past = past
            self._say([self._number, [past[-2:]]])
            await asyncio.sleep(self._chance.choice((0, 0, 0.01, 0.05)))

    def _change(self, model: Model) -> tuple[Callable[[], Awaitable[object]], Model]:
        """Return a call and what is there after it."""
        chance, files = self._chance, self._files
        known = [path for path, content in model.items() if content is not None]
        folders = [path for path, content in model.items() if content is None and "/" in path]
        act, path, target = chance.choice(ACTS), self._new_path(), self._new_path()
        if act == "delete" and known:
            del model[gone := chance.choice(known)]
            return partial(files.delete_file, gone), model
        if act == "move" and known and not _is_taken(model, target):
            source = chance.choice(known)
            model[target] = model.pop(source)
            return partial(files.move_file, source, target, overwrite=True), _with_folders(model)
        if act == "folder" and path not in model and not _is_taken(model, path):
            return partial(files.create_directory, path), _with_folders({**model, path: None})
        if act == "delete folder" and folders:
            folder = chance.choice(folders)
            return partial(files.delete_directory, folder, recursive=True), _without(model, folder)
        if act == "move folder" and folders and target not in model and not _is_taken(model, target):
            folder = chance.choice(folders)
            if not _is_in(target, folder):
                below = {f"{target}{each[len(folder) :]}": what for each, what in model.items() if _is_in(each, folder)}
                return partial(files.move_file, folder, target), _with_folders({**_without(model, folder), **below})
        places = {each for each in (path, target)[: 2 if act == "both" else 1] if not _is_taken(model, each)}
        if len(places) == 2 and (_is_in(path, target) or _is_in(target, path)):
            return files.status, model
        content = chance.randbytes(chance.choice(SIZES))
        items = [{"path": place, "content": content} for place in sorted(places)]
        model |= dict.fromkeys(places, hashlib.sha256(content).hexdigest())
        return partial(files.write_multiple, items), _with_folders(model)

    def _new_path(self) -> str:
        names = [self._chance.choice("abcd") for _ in range(self._chance.choice((1, 2, 2, 3)))]
        return "/".join([f"client{self._number}", *(f"{name}{depth}" for depth, name in enumerate(names))])


def _actor(number: int) -> Actor:
    return Actor(kind="agent", id=f"client-{number}")


def _is_taken(model: Model, path: str) -> bool:
    """Whether a folder stands there, or a file where one is needed."""
    return model.get(path, "") is None or any(model.get(folder) is not None for folder in _above(path))


def _above(path: str) -> list[str]:
    return [path[:at] for at, mark in enumerate(path) if mark == "/"]


def _with_folders(model: Model) -> Model:
    return {**dict.fromkeys(folder for path in model for folder in _above(path)), **model}


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _without(model: Model, folder: str) -> Model:
    return {path: content for path, content in model.items() if not _is_in(path, folder)}


async def work(root: Path, chance: random.Random, say: Say) -> None:
    """Have clients work until the power goes, or they have done enough."""
    settings = {"sync_after_seconds": chance.choice((0.02, 0.1, 60.0))}
    async with filetools.open(root, settings=settings) as files:
        clients = [Client(number, files, random.Random(chance.random()), say) for number in range(CLIENTS)]
        await asyncio.gather(*(client.work() for client in clients))
        await asyncio.sleep(chance.choice((0, 0.2)))
        os.kill(os.getpid(), signal.SIGKILL)


async def check(root: Path, _chance: random.Random, say: Say) -> None:
    """Open the root and say what stands there, and what the journal says of it."""
    async with filetools.open(root, settings={"watch": False}) as files:
        records: list[ChangeRecord] = []
        page = await files.changes()
        while page.records:
            records += page.records
            page = await files.changes(page.position)
        foreign = {one.path for one in records if one.actor.kind == "external" and one.operation != "create_directory"}
        heads = {path: version.removeprefix("sha256:") for path, version in heads_below(files._parts.journal, "")}
        left = (await files.status())["unrestored"]
        say({"tree": _tree(root), "heads": heads, "foreign": sorted(foreign), "left": left})


async def take_back(root: Path, _chance: random.Random, say: Say) -> None:
    """Undo what each client did last, and say what stands there."""
    async with filetools.open(root, settings={"watch": False}) as files:
        refused = []
        for number in range(CLIENTS):
            try:
                await files.for_actor(_actor(number)).undo()
            except EditConflictError:
                refused.append(number)
        say({"tree": _tree(root), "refused": refused})


def _tree(root: Path) -> Model:
    return {path: each if each is None else hashlib.sha256(each).hexdigest() for path, each in snapshot(root).items()}


class Known:
    """What clients have said."""

    def __init__(self) -> None:
        self.states: dict[int, list[list[Model]]] = {}
        """What may stand in the folder of each client: before its last call and after it, or, once that was acknowledged,
        after it alone; each behind what an undo would make of it."""
        self.said: Any = None
        self._rest = b""

    def hear(self, descriptor: int) -> bool:
        """Take what is said; True at the end."""
        said = os.read(descriptor, 1 << 20)
        *lines, self._rest = (self._rest + said).split(b"\n")
        for line in lines:
            self.said = json.loads(line)
            if isinstance(self.said, list):
                self.states[self.said[0]] = self.said[1]
        return not said

    def faults(self, found: Any, undone: Any) -> dict[str, list[str]]:
        """Compare with what an opening found after the cut, and with what an undo of each client's last call left."""
        told: dict[str, list[str]] = {"lost": [], "torn": [], "not undone": []}
        for number, states in self.states.items():
            models = [model for state in states for model in state]
            own, taken_back = (_in_folder(each["tree"], f"client{number}") for each in (found, undone))
            fitting = [state for state in states if _fits(own, state[-1], models)]
            odd = [path for path, content in own.items() if all(content not in model.values() for model in models)]
            if not fitting:
                told["torn" if odd else "lost"] += odd or [_differences(own, [state[-1] for state in states])]
            elif number not in undone["refused"] and not any(_fits(taken_back, one[0], models) for one in fitting):
                told["not undone"].append(_differences(taken_back, [state[0] for state in fitting]))
        files = {path: content for path, content in found["tree"].items() if content is not None}
        astray = sorted({path for path, _ in files.items() ^ found["heads"].items()})
        return {**told, "adopted": found["foreign"], "astray": astray, "left": found["left"]}


def _in_folder(tree: Model, folder: str) -> Model:
    return {path: content for path, content in tree.items() if _is_in(path, folder)}


def _fits(own: Model, wanted: Model, models: Sequence[Model]) -> bool:
    """Whether all is there that is wanted, and nothing else but folders that a call makes before it is recorded."""
    folders = {path for model in models for path, each in model.items() if each is None}
    others = own.items() - wanted.items()
    return wanted.items() <= own.items() and all(each is None and path in folders for path, each in others)


def _differences(own: Model, several: Sequence[Model]) -> str:
    return " | ".join(
        ", ".join(f"{path}: {_short(own, path)}, not {_short(wanted, path)}" for path in sorted(own.keys() | wanted)
                  if _short(own, path) != _short(wanted, path)) for wanted in several
    )  # fmt: skip


def _short(model: Model, path: str) -> str:
    return "nothing" if path not in model else (model[path] or "a folder")[:8]


Act = Callable[[Path, random.Random, Say], Coroutine[Any, Any, None]]


class Machine:
    """A disk, and a computer that starts, works and loses its power."""

    def __init__(self, chance: random.Random, top: Path) -> None:
        self.chance = chance
        self.disk = ForgetfulDisk()
        self.known = Known()
        self._place = top / "disk"
        self._place.mkdir(exist_ok=True)
        self._boot = top / "boot_id"

    def run(self, act: Act, *, calls: int = -1) -> int:
        """Start, act until it ends or the power goes after so many changing calls; returns how many there were."""
        _libc.umount2(_BOOT_ID, 2)
        self._boot.write_text(f"{uuid.UUID(int=self.chance.getrandbits(128))}\n")
        _mount(os.fsencode(self._boot), _BOOT_ID, _BIND)
        server = Server(self.disk, self._place)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _act(act, self._place, self.chance.random(), writing, server.descriptor)
        os.close(writing)
        server.changes_left = calls
        try:
            server.serve({reading: lambda: self.known.hear(reading)})
        except PowerCutError:
            pass
        finally:
            os.kill(child, signal.SIGKILL)
            server.close()
            os.waitpid(child, 0)
        while not self.known.hear(reading):
            pass
        os.close(reading)
        return server.changes

    def say(self, act: Act) -> Any:
        """Return what an act says last."""
        self.known.said = None
        self.run(act)
        return self.known.said


def _act(act: Act, disk: Path, seed: float, writing: int, served: int) -> None:
    try:
        os.close(served)
        root = disk / "root"
        if not root.exists():
            root.mkdir()
            for folder in (root, disk):
                descriptor = os.open(folder, os.O_RDONLY)
                os.fsync(descriptor)
                os.close(descriptor)
        asyncio.run(act(root, random.Random(seed), lambda said: _say(writing, said)))
    except BaseException:  # noqa: BLE001  # told to whoever reads
        _say(writing, {"failed": traceback.format_exc(), "act": act.__name__})
    finally:
        os._exit(0)


def _say(writing: int, said: Any) -> None:
    rest = json.dumps(said).encode() + b"\n"
    while rest:
        rest = rest[os.write(writing, rest) :]


def cut_once(seed: int, top: Path, kind: str) -> dict[str, Any]:
    """Cut the power once, or once more while the next opening restores; returns the faults found."""
    chance = random.Random(seed)
    machine = Machine(chance, top)
    calls = machine.run(
        work, calls=chance.randrange(*chance.choice(((60, 300), (300, 1000), (300, 3000), (300, 3000))))
    )
    found = [machine.known.said]
    machine.disk.cut_power(chance)
    if kind == "again":
        for _ in range(3):
            machine.run(check, calls=chance.randrange(1, 60))
            machine.disk.cut_power(chance)
    elif kind == "full":
        machine.disk.capacity = machine.disk.used + chance.choice((0, 10_000, 60_000))
        machine.run(check)
        machine.disk.capacity = 1 << 40
        if chance.random() < 0.5:
            machine.disk.cut_power(chance)
    result: dict[str, Any] = {"seed": seed, "kind": kind, "calls": calls, "clients": len(machine.known.states)}
    found += [machine.say(act) for act in (check, take_back)]
    refused = [str(said) for said in found if isinstance(said, dict) and "failed" in said]
    faults = {"refused": refused} if refused else machine.known.faults(*found[1:])
    return result | {name: told for name, told in faults.items() if told}


def _mount(source: bytes, target: bytes, flags: int) -> None:
    if _libc.mount(source, target, None, flags, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def need_mounts() -> None:
    """Go on in a mount namespace of one's own, or end."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or _libc.unshare(_NEW_NAMESPACE) != 0:
        sys.exit(CANNOT)
    _mount(b"none", b"/", _PRIVATE)


def main() -> None:
    """Cut as often as the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--kind", choices=("once", "again", "full"), default="once")
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
