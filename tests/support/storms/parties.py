"""The parties of a storm: each does one random deed after the other and says what it did."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol

import filetools
from filetools import Edit, TextEdit
from filetools.facade.facade import FileToolsFacade
from tests.support.storms.pictures import HIDDEN

EXPECTED = {
    "FILE_NOT_FOUND", "DIR_NOT_FOUND",
    "FILE_EXISTS", "VERSION_MISMATCH", "EDIT_CONFLICT", "EDIT_NOT_FOUND", "EDIT_AMBIGUOUS", "FILE_BUSY",
    "CHANGED_MEANWHILE", "INVALID_ARGUMENT", "DIRECTORY_NOT_FOUND", "DIRECTORY_NOT_EMPTY", "NOT_A_DIRECTORY",
    "PATH_IS_DIRECTORY", "PATH_NOT_DIRECTORY", "BUFFER_CLOSED", "NOTHING_TO_UNDO", "HARD_LINKED", "IS_A_DIRECTORY",
}  # fmt: skip
"""Refusals that a crowd may meet; any other is a fault."""
NAMES = ("a.py", "b.py", "note.md", "data.txt", "run.sh")
FOLDERS = ("src", "lib", "docs", "src/deep", "lib/deep", "old")


@dataclass
class Place:
    """The tree of a storm and the chance that rules it. Lives as long as the storm."""

    root: Path
    chance: Random
    deeds: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def files(self) -> list[str]:
        """Return the files that stand there now."""
        return self._walk()[0]

    def folders(self) -> list[str]:
        """Return the folders that stand there now."""
        return self._walk()[1]

    def file(self) -> str:
        """Return a file that stands there, or now and then a name that may be new."""
        found = self.files()
        return self.chance.choice(found) if found and self.chance.random() < 0.8 else self.new_file()

    def new_file(self) -> str:
        return f"{self.chance.choice(FOLDERS)}/{self.chance.choice(NAMES)}"

    def folder(self) -> str:
        found = self.folders()
        return self.chance.choice(found) if found and self.chance.random() < 0.8 else self.chance.choice(FOLDERS)

    def line(self) -> str:
        return f"line {self.chance.randrange(10**9)}\n"

    async def tried(self, who: str, what: str, call: Awaitable[object]) -> bool:
        """Await a call; a refusal that a crowd may meet is part of the story, another one is a fault."""
        try:
            await call
        except filetools.FileToolsError as exc:
            self.deeds.append(f"{who} {what}: {exc.code}")
            if exc.code not in EXPECTED:
                self.faults.append(f"{who} {what}: {exc.code} {exc}")
            return False
        self.deeds.append(f"{who} {what}")
        return True

    def _walk(self) -> tuple[list[str], list[str]]:
        files, folders = [], []
        for folder, below, names in os.walk(self.root):
            below[:] = sorted(name for name in below if name not in HIDDEN)
            above = Path(folder).relative_to(self.root)
            folders += [(above / name).as_posix() for name in below]
            files += [(above / name).as_posix() for name in sorted(names)]
        return files, folders


class Party(Protocol):
    """One of those who act at once."""

    async def act(self) -> None:
        """Do something."""


@dataclass
class Agent:
    """An agent with its own session; changes files and folders in every way that the facade has."""

    place: Place
    name: str
    files: FileToolsFacade

    async def act(self) -> None:
        place, files = self.place, self.files
        one, two, folder, other = place.file(), place.new_file(), place.folder(), place.chance.choice(FOLDERS)
        deeds: list[tuple[int, str, Callable[[], Awaitable[object]]]] = [
            (4, f"write {one}", lambda: files.write_file(one, place.line() * 3)),
            (4, f"append {one}", lambda: files.append_file(one, place.line())),
            (4, f"edit {one}", lambda: files.edit_file(one, [Edit(old="line", new="LINE", replace_all=True)])),
            (2, f"move {one} {two}", lambda: files.move_file(one, two)),
            (2, f"move {folder} {other}", lambda: files.move_file(folder, other)),
            (2, f"delete {one}", lambda: files.delete_file(one)),
            (1, f"delete folder {folder}", lambda: files.delete_directory(folder, recursive=True)),
            (1, f"make {other}/empty", lambda: files.create_directory(f"{other}/empty")),
            (2, f"transaction {one} {two}", lambda: self._transaction(one, two)),
            (2, "undo", lambda: files.undo(partial=True)),
        ]
        _, what, call = place.chance.choices(deeds, [weight for weight, _, _ in deeds])[0]
        await place.tried(self.name, what, call())

    async def _transaction(self, one: str, two: str) -> None:
        async with self.files.transaction() as tx:
            await tx.append_file(one, self.place.line())
            await tx.write_file(f"{two}.new", self.place.line())


@dataclass
class Person:
    """A person who types into documents, saves most of them, and leaves some open for a while."""

    place: Place
    files: FileToolsFacade
    handles: list[tuple[str, str]] = field(default_factory=list)

    async def act(self) -> None:
        if len(self.handles) < 2:
            path = self.place.file()
            await self.place.tried("person", f"open {path}", self._open(path))
            return
        path, handle = self.place.chance.choice(self.handles)
        deed = self.place.chance.choices(("type", "save", "close"), (3, 3, 1))[0]
        await self.place.tried("person", f"{deed} {path}", getattr(self, f"_{deed}")(path, handle))

    async def leave(self) -> None:
        """Save what can be saved, and close everything."""
        for path, handle in list(self.handles):
            await self.place.tried("person", f"save {path}", self._save(path, handle))
            await self.place.tried("person", f"close {path}", self._close(path, handle))

    async def _open(self, path: str) -> None:
        opened = await self.files.buffers.open(path)
        self.handles.append((path, opened.handle))

    async def _type(self, _path: str, handle: str) -> None:
        shown = await self.files.buffers.read(handle)
        edit = TextEdit(0, 0, self.place.line())
        await self.files.buffers.change(handle, buffer_version=shown.buffer_version, edits=[edit])

    async def _save(self, _path: str, handle: str) -> None:
        shown = await self.files.buffers.read(handle)
        await self.files.buffers.save(handle, buffer_version=shown.buffer_version)

    async def _close(self, path: str, handle: str) -> None:
        self.handles.remove((path, handle))
        await self.files.buffers.close(handle)


@dataclass
class Shell:
    """Programs that know nothing of filetools."""

    place: Place

    async def act(self) -> None:
        one, two = shlex.quote(self.place.file()), shlex.quote(self.place.new_file())
        folder, other = shlex.quote(self.place.folder()), shlex.quote(self.place.chance.choice(FOLDERS))
        commands = (
            f"sed -i s/line/sed/ {one}", f"sed -i.bak s/line/bak/ {one}", f"echo appended >> {one}", f"mv -T {one} {two}",
            f"mv -T {folder} {other}", f"rm -r {folder}", f"rm {one}", f"chmod 755 {one}", f"chmod 600 {one}",
            f"cp {one} {two}", f"cp -rT {folder} {other}", f"mkdir -p {other}/made", f"rmdir {folder}",
            f"mv {one} {one}.old && cp {one}.old {one}", "git checkout -q -f other", "git checkout -q -f main",
            "git stash -q", "git stash pop -q", "git clean -fdq",
        )  # fmt: skip
        await self.run(self.place.chance.choice(commands))

    async def run(self, command: str) -> None:
        """Run one command line in the root; what it refuses is no matter."""
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", command, cwd=self.place.root, env=environment,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        code = await process.wait()
        self.place.deeds.append(f"$ {command}" + (f" [{code}]" if code else ""))


@dataclass
class Rewinder:
    """A person who names moments, goes back to them, and changes their mind."""

    place: Place
    files: FileToolsFacade
    names: list[str] = field(default_factory=lambda: ["first"])

    async def act(self) -> None:
        chance = self.place.chance
        deed = chance.choices(("checkpoint", "restore", "undo", "redo"), (3, 3, 2, 3))[0]
        name = chance.choice(self.names)
        if deed == "checkpoint":
            self.names.append(name := f"moment {len(self.names)}")
            await self.place.tried("rewinder", f"checkpoint {name}", self.files.checkpoint(name))
        elif deed == "restore":
            await self.place.tried("rewinder", f"restore {name}", self.files.restore(name, partial=True))
        elif deed == "undo":
            await self.place.tried("rewinder", "undo", self.files.undo(actor="*", partial=True))
        else:
            await self.place.tried("rewinder", "redo", self.files.redo(partial=True))
