"""A program that knows nothing of filetools: it appends, and it writes anew and renames."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from random import Random

from tests.support.schedules.tokens import tokens_in
from tests.support.together.scene import Scene


@dataclass
class Stranger:
    """One program; what it reads, it saves at once with a line more."""

    scene: Scene
    letter: str = "X"
    chance: Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = self.scene.chance(self.letter)

    async def act(self) -> None:
        """Do something."""
        path = self.scene.path(self.chance)
        line = self.scene.mint.line(self.letter) + "\n"
        way = self.chance.choice(("append", "rename"))
        await asyncio.to_thread(self._append if way == "append" else self._rename, path, line)
        self.scene.note(self.letter, f"{way} {path} {line!r}", None, tokens_in(line))

    def _append(self, path: str, line: str) -> None:
        with self.scene.place(path).open("ab", buffering=0) as file:
            file.write(line.encode())

    def _rename(self, path: str, line: str) -> None:
        place = self.scene.place(path)
        beside = place.with_name(f".{place.name}.swp")  # what programs call such files is not recorded
        beside.write_bytes(place.read_bytes() + line.encode())
        os.replace(beside, place)
