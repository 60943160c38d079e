"""Trees of files, folders and links with their modes: as they are on the disk, grown at random, changed as programs do."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import filetools
from filetools import Actor

Tree = dict[str, tuple[str, int, bytes]]
"""By path: kind, permission bits (0 of a link), and bytes or target."""

NAMES: Final = ("a", "b", "c", "d e", "ü")
DEPTH: Final = 3
FILE_MODES: Final = (0o644, 0o600, 0o755, 0o444, 0, 0o4711)
FOLDER_MODES: Final = (0o755, 0o700, 0o555, 0, 0o2775, 0o1777)
TARGETS: Final = (b"a", b"../b", b"nowhere/at/all", b"/etc/passwd", b".", b"c/a", b"odd \xff")

ANN: Final = Actor(kind="editor", id="ann")
ALONE: Final[dict[str, Any]] = {"watch": False, "durability": "relaxed", "sync_after_seconds": 0.05}
"""Settings under which nobody hears what programs do between two openings."""


def run(root: Path, command: str) -> None:
    """Do something in a root with a shell, as other programs do."""
    subprocess.run(["sh", "-ec", command], cwd=root, check=True)


async def opened_once(root: Path, work: Any, **settings: Any) -> Any:
    """Do one thing in a separately opened workspace, as a short command does."""
    async with filetools.open(root, settings=ALONE | settings) as files:
        return await work(files.for_actor(ANN))


def on_disk(root: Path) -> Tree:
    """Return all that stands below a root, links not followed, without the state directory."""
    found: Tree = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        folders[:] = [name for name in folders if name != b".filetools"]
        for name in (*folders, *files):
            place = os.path.join(folder, name)
            facts = os.lstat(place)
            path = os.fsdecode(os.path.relpath(place, os.fsencode(root)))
            if stat.S_ISLNK(facts.st_mode):
                found[path] = ("link", 0, os.readlink(place))
            elif stat.S_ISDIR(facts.st_mode):
                found[path] = ("folder", stat.S_IMODE(facts.st_mode), b"")
            else:
                found[path] = ("file", stat.S_IMODE(facts.st_mode), Path(os.fsdecode(place)).read_bytes())
    return found


def differences(one: Tree, other: Tree) -> dict[str, tuple[object, object]]:
    """Return where two trees differ: for each path what either has there."""
    return {
        path: (one.get(path), other.get(path)) for path in sorted({*one, *other}) if one.get(path) != other.get(path)
    }


class Program:
    """Something that changes a tree at random, as shells and build tools do. Needs the rights of the superuser."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._random = random.Random(seed)

    def grow(self, count: int) -> None:
        """Make a tree."""
        for _ in range(count):
            self._random.choice([self._write, self._write, self._link, self._make_folder, self._set_mode])()

    def change(self, count: int) -> list[str]:
        """Change it; returns what was done, for people."""
        deeds: list[Callable[[], str]] = [
            self._write, self._link, self._make_folder, self._set_mode, self._remove, self._move, self._move,
            self._replace, self._swap,
        ]  # fmt: skip
        return [self._random.choice(deeds)() for _ in range(count)]

    def _write(self) -> str:
        place = self._free() if self._random.random() < 0.6 else self._existing("file")
        if place is None:
            return "-"
        place.write_bytes(self._random.choice([b"", b"one\n", b"two\n", b"\x00binary", self._random.randbytes(40)]))
        return f"write {place}"

    def _link(self) -> str:
        if (place := self._free()) is None:
            return "-"
        os.symlink(os.fsdecode(self._random.choice(TARGETS)), place)
        return f"link {place}"

    def _make_folder(self) -> str:
        if (place := self._free()) is None:
            return "-"
        place.mkdir()
        return f"mkdir {place}"

    def _set_mode(self) -> str:
        kind = self._random.choice(["file", "folder"])
        if (place := self._existing(kind)) is None:
            return "-"
        mode = self._random.choice(FILE_MODES if kind == "file" else FOLDER_MODES)
        place.chmod(mode)
        return f"chmod {mode:o} {place}"

    def _remove(self) -> str:
        if (place := self._existing()) is None:
            return "-"
        _take(place)
        return f"rm {place}"

    def _move(self) -> str:
        place, free = self._existing(), self._free()
        if place is None or free is None or place in (free, *free.parents):
            return "-"
        place.rename(free)
        return f"mv {place} {free}"

    def _replace(self) -> str:
        """Put something else, often of another kind, where something stands."""
        if (place := self._existing()) is None:
            return "-"
        _take(place)
        kind = self._random.choice(["file", "link", "folder"])
        if kind == "file":
            place.write_bytes(b"another\n")
        elif kind == "link":
            os.symlink(os.fsdecode(self._random.choice(TARGETS)), place)
        else:
            place.mkdir()
            (place / self._random.choice(NAMES)).write_bytes(b"inside\n")
        return f"replace {place} by a {kind}"

    def _swap(self) -> str:
        one, other = self._existing(), self._existing()
        if one is None or other is None or one in (other, *other.parents) or other in one.parents:
            return "-"
        aside = self._root / "aside"
        one.rename(aside)
        other.rename(one)
        aside.rename(other)
        return f"swap {one} {other}"

    def _existing(self, kind: str | None = None) -> Path | None:
        tree = on_disk(self._root)
        places = [path for path in sorted(tree) if kind in (None, tree[path][0])]
        return self._root / self._random.choice(places) if places else None

    def _free(self) -> Path | None:
        tree = on_disk(self._root)
        folders = [
            "",
            *(path for path, (kind, *_) in sorted(tree.items()) if kind == "folder" and path.count("/") < DEPTH),
        ]
        place = self._root / self._random.choice(folders) / self._random.choice(NAMES)
        return None if os.path.lexists(place) else place


def _take(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()
