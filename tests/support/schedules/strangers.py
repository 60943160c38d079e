"""A program of a schedule that knows nothing of filetools, and saves in every way that programs do."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from tests.support.schedules.ledger import NONE, Deed
from tests.support.schedules.tokens import tokens_in
from tests.support.schedules.town import Town

WAYS = ("in place", "in place", "truncate", "rename", "rename", "anew", "delete", "load")


@dataclass
class Stranger:
    """One such program; what it loaded it may save much later."""

    town: Town
    letter: str = "X"
    loaded: dict[str, str] = field(default_factory=dict)

    async def begin(self) -> Deed:
        """Load the file where all meet, to save it much later."""
        path = self.town.paths[0]
        self.loaded[path] = self.town.text(path) or ""
        return Deed(who=self.letter, what=f"load {path}", is_foreign=True)

    def lie_in_wait(self) -> Deed:
        """Save in the instant in which filetools next exchanges a file, or moves or removes one."""

        way = self.town.chance.choice(("rename", "rename", "delete"))

        def save() -> None:
            path = self.town.paths[0]
            before, line = self.town.text(path), self.town.mint.line("Y")
            if way == "delete" and before is None:
                return
            self._save(path, way, None if way == "delete" else f"{line}\n{before or ''}")
            if before is not None and not self.town.has_version(before):
                self.town.ledger.overlook(tokens_in(before))
            adds = NONE if way == "delete" else tokens_in(line)
            what = f"{way} {path} in the instant of the next: {line!r}"
            deed = Deed(who="Y", what=what, adds=adds, displaces=adds | tokens_in(before), is_foreign=True)
            self.town.ledger.note(deed)

        if self.town.plan is not None:
            method = self.town.chance.choice(("Prepared.exchange", "Prepared.exchange", "move", "remove"))
            self.town.plan.acts[method] = save
        return Deed(who="Y", what="wait for an exchange", is_foreign=True)

    async def act(self) -> Deed:
        """Do something."""
        if self.town.plan is not None and self.town.chance.random() < 0.25:
            return self.lie_in_wait()
        path, way = self.town.path(), self.town.chance.choice(WAYS)
        before = self.town.text(path)
        if way == "load":
            self.loaded[path] = before or ""
            return Deed(who=self.letter, what=f"load {path}", is_foreign=True)
        if way == "delete" and before is None:
            way = "anew"
        text = None if way == "delete" else self._text(path, before)
        self._save(path, way, text)
        had, has = tokens_in(before), tokens_in(text)
        return Deed(
            who=self.letter, what=f"{way} {path}", adds=has - had, removes=NONE, displaces=had - has, is_foreign=True,
            carries=has,
        )  # fmt: skip

    def _text(self, path: str, before: str | None) -> str:
        chance = self.town.chance
        base = self.loaded.pop(path, before or "") if chance.random() < 0.5 else before or ""
        lines = base.splitlines()
        at = chance.randint(0, len(lines))
        lines[at : at + chance.choice((0, 0, 1))] = [self.town.mint.line(self.letter)]
        return "\n".join(lines) + "\n"

    def _save(self, path: str, way: str, text: str | None) -> None:
        place = self.town.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            place.unlink(missing_ok=True)  # in a crowd somebody may have been quicker
        elif way == "rename":
            beside = place.with_name(f"{place.name}.{self.town.mint.token(self.letter)}")
            beside.write_bytes(text.encode())
            os.replace(beside, place)
        elif way == "in place" and place.exists():
            with place.open("r+b") as file:
                file.write(text.encode())
                file.truncate()
        elif way == "anew":
            place.unlink(missing_ok=True)
            place.write_bytes(text.encode())
        else:
            place.write_bytes(text.encode())
