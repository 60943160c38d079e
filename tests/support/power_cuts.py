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
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import filetools
from filetools.facade import FileToolsFacade, syncer
from filetools.journal.writer import Writer
from filetools.models import Actor
from filetools.sync import recovery
from tests.support.crashing import snapshot
from tests.support.forgetful_disk import ForgetfulDisk
from tests.support.fuse import PowerCutError, Server

CLIENTS: Final = 4
SIZES: Final = (0, 30, 700, 5_000, 40_000, 200_000)
MOST_CALLS: Final = 40
"""Of one client before a cut."""
ACTS: Final = ("write", "write", "write", "delete", "move", "folder", "both", "move folder", "delete folder")
_BOOT_ID: Final = b"/proc/sys/kernel/random/boot_id"
_NEW_NAMESPACE, _BIND, _PRIVATE = 0x00020000, 4096, 16384 | 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)
Model = dict[str, str | None]
"""Hashes of files by path; None for a folder."""


def _without_sync(writer: Writer, _synchronous: str) -> None:
    writer._connection.execute("PRAGMA synchronous = OFF")


BUGS: Final[dict[str, Callable[[], object]]] = {
    # A folder counts as durable without a sync of the folder that holds its name.
    "no sync of folders above": lambda: setattr(filetools.stores.LocalStore, "_sync_names", lambda self, folder: None),
    "marked without a sync": lambda: setattr(syncer, "_sync", lambda parts, path: None),
    "the journal is not synced": lambda: setattr(Writer, "_use", _without_sync),
    "torn files are saves": lambda: setattr(recovery, "is_left_by_power_cut", lambda found, versions: False),
}


class Client:
    """One agent that works in a folder of its own, and knows what must stand there."""

    def __init__(self, number: int, files: FileToolsFacade, chance: random.Random, say: Callable[[Any], None]) -> None:
        self._number = number
        self._files = files.for_actor(Actor(kind="agent", id=f"client-{number}"))
        self._chance = chance
        self._say = say
        self._model: Model = {}

    async def work(self) -> None:
        for _ in range(MOST_CALLS):
            call, after = self._next()
            self._say([self._number, "begins", after])
            await call
            self._model = after
            self._say([self._number, "done", after])
            await asyncio.sleep(self._chance.choice((0, 0, 0.01, 0.05)))

    def _next(self) -> tuple[Awaitable[object], Model]:
        chance, files, model = self._chance, self._files, dict(self._model)
        known = [path for path, content in model.items() if content is not None]
        folders = [path for path, content in model.items() if content is None and "/" in path]
        act = chance.choice(ACTS)
        content = chance.randbytes(chance.choice(SIZES))
        path, target = self._new_path(), self._new_path()
        if act == "delete" and known:
            del model[gone := chance.choice(known)]
            return files.delete_file(gone), model
        if act == "move" and known and not self._is_taken(target):
            source = chance.choice(known)
            model[target] = model.pop(source)
            return files.move_file(source, target, overwrite=True), self._with_folders(model)
        if act == "folder" and path not in model and not self._is_taken(path):
            model[path] = None
            return files.create_directory(path), self._with_folders(model)
        if act == "delete folder" and folders:
            folder = chance.choice(folders)
            return files.delete_directory(folder, recursive=True), _without(model, folder)
        if act == "move folder" and folders and target not in model and not self._is_taken(target):
            folder = chance.choice(folders)
            if not f"{target}/".startswith(f"{folder}/"):
                below = {f"{target}{each[len(folder) :]}": what for each, what in model.items() if _is_in(each, folder)}
                return files.move_file(folder, target), self._with_folders({**_without(model, folder), **below})
        places = [place for place in (path, target) if not self._is_taken(place)][: 2 if act == "both" else 1]
        if not places or (len(places) == 2 and (_is_in(path, target) or _is_in(target, path))):
            return asyncio.sleep(0), model
        model |= dict.fromkeys(places, hashlib.sha256(content).hexdigest())
        items = [{"path": place, "content": content} for place in places]
        return files.write_multiple(items), self._with_folders(model)

    def _new_path(self) -> str:
        names = [self._chance.choice("abcd") for _ in range(self._chance.choice((1, 2, 2, 3)))]
        return "/".join([f"client{self._number}", *(f"{name}{depth}" for depth, name in enumerate(names))])

    def _is_taken(self, path: str) -> bool:
        """Whether a folder stands there, or a file where one is needed."""
        if path in self._model and self._model[path] is None:
            return True
        return any(self._model.get(path[:at]) is not None for at, mark in enumerate(path) if mark == "/")

    def _with_folders(self, model: Model) -> Model:
        above = {path[:at]: None for path in model for at, mark in enumerate(path) if mark == "/"}
        return {**above, **model}


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _without(model: Model, folder: str) -> Model:
    return {path: content for path, content in model.items() if not _is_in(path, folder)}


async def work(root: Path, chance: random.Random, say: Callable[[Any], None]) -> None:
    """Have clients work until the power goes, or they have done enough."""
    settings = {"sync_after_seconds": chance.choice((0.02, 0.1, 60.0))}
    async with filetools.open(root, settings=settings) as files:
        clients = [Client(number, files, random.Random(chance.random()), say) for number in range(CLIENTS)]
        await asyncio.gather(*(client.work() for client in clients))
        await asyncio.sleep(chance.choice((0, 0.2)))
        os.kill(os.getpid(), signal.SIGKILL)


async def check(root: Path, _chance: random.Random, say: Callable[[Any], None]) -> None:
    """Open the root and say what stands there, and what the journal says of it."""
    async with filetools.open(root, settings={"watch": False}) as files:
        position, foreign = "", set()
        while True:
            page = await files.changes(position) if position else await files.changes()
            foreign |= {
                record.path
                for record in page.records
                if record.actor.kind == "external" and record.operation != "create_directory"
            }
            if not page.records:
                break
            position = page.position
        tree = {path: content if content is None else hashlib.sha256(content).hexdigest() for path, content in
                snapshot(root).items()}  # fmt: skip
        heads = {path: version.removeprefix("sha256:") for path, version in files._parts.journal.heads_below("")}
        unrestored = (await files.status())["unrestored"]
        say({"tree": tree, "heads": heads, "foreign": sorted(foreign), "unrestored": unrestored})


@dataclass
class Known:
    """What clients have said."""

    done: dict[int, Model] = field(default_factory=dict)
    begun: dict[int, Model] = field(default_factory=dict)
    said: Any = None
    rest: bytes = b""

    def hear(self, descriptor: int) -> bool:
        """Take what is said; True at the end."""
        said = os.read(descriptor, 1 << 20)
        *lines, self.rest = (self.rest + said).split(b"\n")
        for line in lines:
            self.said = json.loads(line)
            if isinstance(self.said, list):
                number, what, model = self.said
                (self.begun if what == "begins" else self.done)[number] = model
        return not said

    def faults(self, found: Any) -> dict[str, list[str]]:
        """Compare with what an opening found after the cut."""
        tree: Model = found["tree"]
        lost, torn = [], []
        for number in range(CLIENTS):
            own = {path: content for path, content in tree.items() if _is_in(path, f"client{number}")}
            before, after = self.done.get(number, {}), self.begun.get(number, {})
            if not any(_fits(own, wanted, before, after) for wanted in (before, after)):
                texts = {*before.values(), *after.values()}
                odd = [path for path, content in own.items() if content not in texts and content is not None]
                torn += odd
                lost += [f"client{number}: {_difference(own, before)} | {_difference(own, after)}"] if not odd else []
        files = {path: content for path, content in tree.items() if content is not None}
        astray = sorted(f"{path} is not as its head" for path, _ in files.items() ^ found["heads"].items())
        return {"lost": lost, "torn": torn, "adopted": found["foreign"], "astray": astray, "left": found["unrestored"]}


def _fits(own: Model, wanted: Model, before: Model, after: Model) -> bool:
    """Whether all files are as wanted; of folders, a call that was not acknowledged may have made some."""
    if {path: each for path, each in own.items() if each} != {path: each for path, each in wanted.items() if each}:
        return False
    folders = {path for path, each in own.items() if each is None}
    known = [{path for path, each in model.items() if each is None} for model in (before, after)]
    return known[0] & known[1] <= folders <= known[0] | known[1]


def _difference(own: Model, wanted: Model) -> list[str]:
    paths = sorted({path for path, _ in own.items() ^ wanted.items()})
    return [f"{path}: {_short(own, path)}, not {_short(wanted, path)}" for path in paths]


def _short(model: Model, path: str) -> str:
    return "nothing" if path not in model else (model[path] or "a folder")[:8]


Act = Callable[[Path, random.Random, Callable[[Any], None]], Coroutine[Any, Any, None]]


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
    except BaseException as exc:  # noqa: BLE001  # told to whoever reads
        _say(writing, {"failed": f"{type(exc).__name__}: {exc}"})
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
    machine.known.said = None
    machine.run(check)
    found = machine.known.said
    if not isinstance(found, dict) or "failed" in found:
        return {"seed": seed, "kind": kind, "calls": calls, "refused": [str(found)]}
    acknowledged = len(machine.known.done)
    faults = {name: told for name, told in machine.known.faults(found).items() if told}
    return {"seed": seed, "kind": kind, "calls": calls, "clients": acknowledged, **faults}


def _mount(source: bytes, target: bytes, flags: int) -> None:
    if _libc.mount(source, target, None, flags, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


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
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or _libc.unshare(_NEW_NAMESPACE) != 0:
        sys.exit("no power can be cut here: it takes /dev/fuse, and the right to mount")
    _mount(b"none", b"/", _PRIVATE)
    with tempfile.TemporaryDirectory() as top:
        for seed in range(chosen.seed, chosen.seed + chosen.cuts):
            sys.stdout.write(f"{json.dumps(cut_once(seed, Path(top), chosen.kind))}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
