"""The files of one storm before all doors, who adds what to them, and what stands in them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from tests.support.schedules.ledger import NONE, Deed, Ledger, Standing, Tokens
from tests.support.schedules.tokens import Mint, tokens_in

START: Final = "one\ntwo\nthree\nfour\nfive\nsix\n"
CUT_OFF: Final = "cut off"
"""What a change is called that was on its way when the connection ended, and did not arrive."""
EXPECTED: Final = frozenset(
    (CUT_OFF, "EDIT_NOT_FOUND", "EDIT_CONFLICT", "EDIT_AMBIGUOUS", "VERSION_MISMATCH", "CHANGED_MEANWHILE", "RESYNC")
)
"""Refusals that go with several who work at one place; the last one tells an editor to take the text anew."""


@dataclass
class Scene:
    """Two files, and the ledger of what was acknowledged."""

    root: Path
    seed: int
    has_stranger: bool
    """Whether a program that knows nothing of filetools takes part."""
    mint: Mint = field(default_factory=Mint)
    ledger: Ledger = field(default_factory=Ledger)
    faults: list[str] = field(default_factory=list)
    is_over: bool = False

    @property
    def paths(self) -> tuple[str, str]:
        """Its files; all meet at the first one."""
        return f"scene-{self.seed}/a.txt", f"scene-{self.seed}/b.txt"

    def chance(self, letter: str) -> Random:
        """Return what a party draws from, whatever the others do meanwhile."""
        return Random(f"{self.seed} {letter}")

    def path(self, chance: Random) -> str:
        """Return one of the files."""
        return self.paths[chance.random() < 0.25]

    def text(self, path: str) -> str:
        """Return what stands on the disk."""
        return (self.root / path).read_bytes().decode()

    def note(
        self,
        letter: str,
        what: str,
        refusal: str | None,
        adds: Tokens = NONE,
        removes: Tokens = NONE,
        *,
        may_be_done: bool = False,
    ) -> bool:
        """Enter what a party was told; returns whether it was done, as far as it knows."""
        if refusal is not None and refusal not in EXPECTED:
            self.faults.append(f"{letter}: {what} was refused: {refusal}")
        # A line that is replaced by itself and another one is neither added nor removed.
        carries = adds if may_be_done else NONE
        deed = Deed(
            who=letter, what=what, refusal=refusal, adds=adds - removes, removes=removes - adds, carries=carries
        )  # fmt: skip
        self.ledger.note(deed)
        return refusal is None

    def standing(self) -> Standing:
        """Return what is on the disk."""
        return Standing(disk={path: tokens_in(self.text(path)) for path in self.paths}, documents={}, content={})


@dataclass
class Stranger:
    """A program that knows nothing of filetools: it appends, and it writes anew and renames."""

    scene: Scene
    chance: Random

    async def act(self) -> None:
        """Save what stands there with a line more, all in one step of the loop."""
        path, line = self.scene.path(self.chance), self.scene.mint.line("X") + "\n"
        place = self.scene.root / path
        if self.chance.random() < 0.5:
            with place.open("ab", buffering=0) as file:
                file.write(line.encode())
        else:
            beside = place.with_name(f".{place.name}.swp")  # what programs call such files is not recorded
            beside.write_bytes(place.read_bytes() + line.encode())
            os.replace(beside, place)
        self.scene.note("X", f"save {path} {line!r}", None, tokens_in(line))


def changed_lines(scene: Scene, chance: Random, letter: str, text: str) -> str:
    """Return a text with a line put in, and sometimes one replaced."""
    lines = text.splitlines()
    at = chance.randint(0, len(lines))
    lines[at : at + (chance.random() < 0.2)] = [scene.mint.line(letter)]
    return "\n".join(lines) + "\n"


def number_of(position: str) -> int:
    """Return the number in a position."""
    return int(position.rpartition(":")[2])
