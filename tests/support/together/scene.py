"""The files of one schedule, who adds what to them, and what stands in them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from tests.support.schedules.ledger import NONE, Deed, Ledger, Standing, Tokens
from tests.support.schedules.tokens import Mint, tokens_in
from tests.support.together.doors import Doors

START: Final = "one\ntwo\nthree\nfour\nfive\nsix\n"
LONGEST_PAUSE_SECONDS: Final = 0.004
CUT_OFF: Final = "cut off"
"""What a change is called that was on its way when the connection ended, and did not arrive."""
EXPECTED: Final = frozenset(
    (CUT_OFF, "EDIT_NOT_FOUND", "EDIT_CONFLICT", "EDIT_AMBIGUOUS", "VERSION_MISMATCH", "CHANGED_MEANWHILE", "RESYNC")
)
"""Refusals that go with several who work at one place; the last one tells an editor to take the text anew."""


@dataclass
class Scene:
    """One schedule: two files, and the ledger of what was acknowledged."""

    doors: Doors
    seed: int
    has_stranger: bool
    """Whether a program that knows nothing of filetools takes part."""
    mint: Mint = field(default_factory=Mint)
    ledger: Ledger = field(default_factory=Ledger)
    faults: list[str] = field(default_factory=list)
    is_over: bool = False

    @property
    def folder(self) -> str:
        """The folder of its files."""
        return f"scene-{self.seed}"

    @property
    def paths(self) -> tuple[str, str]:
        """Its files; all meet at the first one."""
        return f"{self.folder}/a.txt", f"{self.folder}/b.txt"

    def chance(self, letter: str) -> Random:
        """Return what a party draws from, whatever the others do meanwhile."""
        return Random(f"{self.seed} {letter}")

    def path(self, chance: Random) -> str:
        """Return one of the files."""
        return self.paths[chance.random() < 0.25]

    def place(self, path: str) -> Path:
        """Return where a file is on the disk."""
        return self.doors.root / path

    def note(self, letter: str, what: str, refusal: str | None, adds: Tokens = NONE, removes: Tokens = NONE) -> bool:
        """Enter what a party was told; returns whether it was done."""
        if refusal is not None and refusal not in EXPECTED:
            self.faults.append(f"{letter}: {what} was refused: {refusal}")
        # A line that is replaced by itself and another one is neither added nor removed.
        deed = Deed(who=letter, what=what, refusal=refusal, adds=adds - removes, removes=removes - adds)
        self.ledger.note(deed)
        return refusal is None

    def displace(self, letter: str, what: str, tokens: Tokens) -> None:
        """Enter what somebody was told to be in a kept version alone."""
        self.ledger.note(Deed(who=letter, what=what, displaces=tokens))

    def standing(self) -> Standing:
        """Return what is on the disk."""
        content: dict[str, bytes | None] = {path: self.place(path).read_bytes() for path in self.paths}
        return Standing(
            disk={path: tokens_in(one) for path, one in content.items()}, documents={}, content=content
        )  # fmt: skip


async def pause(chance: Random) -> None:
    """Let some time pass, so that the parties meet in other ways with every seed."""
    await asyncio.sleep(chance.random() * LONGEST_PAUSE_SECONDS)


def changed_lines(scene: Scene, chance: Random, letter: str, text: str) -> str:
    """Return a text with a line put in, and sometimes one replaced or taken out."""
    lines = text.splitlines()
    at = chance.randint(0, len(lines))
    count = 1 if chance.random() < 0.2 else 0
    lines[at : at + count] = [scene.mint.line(letter)]
    return "\n".join(lines) + "\n"
