"""An agent of a schedule: it reads, and works from what it read last, however old that is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import filetools
from filetools import Edit
from filetools.changes.requests import View
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import BatchResult, ReadResult, WriteResult
from filetools.models.result import Result
from tests.support.schedules.ledger import NONE, Deed, Tokens
from tests.support.schedules.tokens import tokens_in
from tests.support.schedules.town import Town

Act = Callable[[str], Awaitable[Deed]]


@dataclass
class Agent:
    """One agent."""

    town: Town
    letter: str
    files: FileToolsFacade
    known: dict[str, str] = field(default_factory=dict)
    """The last whole text that it read, or sent, of each path."""
    versions: dict[str, list[str]] = field(default_factory=dict)
    """Versions that it may name as expected with a text made from the known one."""
    edited: dict[str, Tokens] = field(default_factory=dict)
    """Tokens that it has put into a path by edits since."""
    is_gentle: bool = False
    """Whether it never replaces or deletes what it has not read, nor anybody's unsaved text on purpose."""

    async def begin(self) -> Deed:
        """Get to know the file where all meet."""
        return await self.read(self.town.paths[0])

    async def act(self) -> Deed:
        """Do something."""
        acts: list[tuple[Act, int]] = [
            (self.read, 4), (self.read_part, 1), (self.write, 6), (self.edit, 4), (self.insert, 2), (self.append, 2),
            (self.patch, 2), (self.write_two, 1), (self.move, 1), (self.delete, 1), (self.create, 1),
        ]  # fmt: skip
        choice = self.town.chance.choices([act for act, _ in acts], [weight for _, weight in acts])[0]
        return await choice(self.town.path())

    async def read(self, path: str) -> Deed:
        view: View = "disk" if self.town.chance.random() < 0.25 else "auto"
        call = self.files.read_file(path, view=view)
        result, refusal = await answered(call)
        if isinstance(result, ReadResult):
            self._saw(path, result)
        elif self.is_gentle and refusal == "FILE_NOT_FOUND":
            self.known.pop(path, None)  # what somebody makes there next has not been read, whatever was there before
        return Deed(who=self.letter, what=f"read {path} view={view}", refusal=refusal)

    async def read_part(self, path: str) -> Deed:
        """See a line; what is known as a whole stays what it was, unless that line is all there is."""
        result, refusal = await answered(self.files.read_file(path, offset=1, limit=1))
        if isinstance(result, ReadResult) and not result.truncated:
            self._saw(path, result)
        return Deed(who=self.letter, what=f"read line 1 of {path}", refusal=refusal)

    async def write(self, path: str) -> Deed:
        chance = self.town.chance
        if path not in self.known and (self.is_gentle or chance.random() < 0.7):
            return await self.read(path)
        options: dict[str, Any] = {}
        if self.versions.get(path) and chance.random() < 0.4:
            options["expected_version"] = chance.choice(self.versions[path])
            options["on_stale"] = chance.choice((None, "merge", "refuse"))
        choices = ("merge", "merge", "merge", "cancel") if self.is_gentle else ("merge", "merge", "cancel", "allow")
        options["on_conflict"] = chance.choice(choices)
        text, deed = self._proposed(path, options.get("on_conflict") == "allow")
        result, refusal = await answered(self.files.write_file(path, text, **options))
        shown = {name: value[7:15] if name == "expected_version" else value for name, value in options.items() if value}
        if isinstance(result, WriteResult):
            self._sent(path, text, result)
        return told(deed, f"write {path} {shown}", refusal, {path: result})

    async def edit(self, path: str) -> Deed:
        lines = self._lines(path)
        if not lines:
            return await self.read(path)
        old = self.town.chance.choice(lines)
        new = self.town.mint.line(self.letter) if self.town.chance.random() < 0.7 else ""
        if self.town.chance.random() < 0.5:
            new = f"{old}\n{new}"
        result, refusal = await answered(self.files.edit_file(path, [Edit(old=old, new=new)]))
        deed = self._edited(path, tokens_in(old), tokens_in(new), refusal)
        return told(deed, f"edit {path} {old!r} -> {new!r}", refusal, {path: result})

    async def insert(self, path: str) -> Deed:
        line = self.town.mint.line(self.letter)
        at = self.town.chance.randint(0, max(len(self._lines(path)), 1))
        result, refusal = await answered(self.files.insert_lines(path, at, line + "\n"))
        deed = self._edited(path, NONE, tokens_in(line), refusal)
        return told(deed, f"insert {line!r} at {at} of {path}", refusal, {path: result})

    async def append(self, path: str) -> Deed:
        line = self.town.mint.line(self.letter)
        result, refusal = await answered(self.files.append_file(path, line + "\n"))
        deed = self._edited(path, NONE, tokens_in(line), refusal)
        return told(deed, f"append {line!r} to {path}", refusal, {path: result})

    async def patch(self, path: str) -> Deed:
        """A patch that changes one file, and adds, deletes or changes another one."""
        lines = self._lines(path)
        other = self.town.chance.choice([one for one in self.town.paths if one != path])
        if not lines:
            return await self.read(path)
        at = self.town.chance.randrange(len(lines))
        new = self.town.mint.line(self.letter)
        body = [f"*** Update File: {path}", "@@", *(f" {line}" for line in lines[max(0, at - 1) : at])]
        body += [f"-{lines[at]}", f"+{new}"]
        removes, added = {path: tokens_in(lines[at])}, {path: tokens_in(new)}
        displaces = NONE
        second = self.town.chance.choice(("nothing", "add", "delete"))
        if second == "add":
            line = self.town.mint.line(self.letter)
            body += [f"*** Add File: {other}", f"+{line}"]
            added[other] = tokens_in(line)
        elif second == "delete" and (other in self.known or not self.is_gentle):
            body.append(f"*** Delete File: {other}")
            removes[other], displaces = self._gone(other)
        text = "\n".join(["*** Begin Patch", *body, "*** End Patch", ""])
        _result, refusal = await answered(self.files.apply_patch(text))
        adds = NONE.union(*added.values())
        if refusal is None:
            for name, tokens in added.items():
                self.edited[name] = self.edited.get(name, NONE) | tokens
            if second == "delete" and other in removes:
                self._forget(other)
        return Deed(
            who=self.letter, what=f"patch {body}", refusal=refusal, adds=adds,
            removes=NONE.union(*removes.values()), displaces=displaces,
        )  # fmt: skip

    async def write_two(self, path: str) -> Deed:
        other = self.town.chance.choice([one for one in self.town.paths if one != path])
        if path not in self.known or other not in self.known:
            return await self.read(path if path not in self.known else other)
        (first, one), (second, two) = self._proposed(path, False), self._proposed(other, False)
        items = [{"path": path, "content": first}, {"path": other, "content": second}]
        result, refusal = await answered(self.files.write_multiple(items))
        results: dict[str, Result | None] = {}
        if isinstance(result, BatchResult):
            results = dict(zip((path, other), result.results, strict=True))
            for name, text, written in ((path, first, results[path]), (other, second, results[other])):
                assert isinstance(written, WriteResult)
                self._sent(name, text, written)
        deed = Deed(
            who=self.letter, what="", adds=one.adds | two.adds, removes=one.removes | two.removes,
            landing={path: one.adds, other: two.adds},
        )  # fmt: skip
        return told(deed, f"write {path} and {other}", refusal, results)

    async def move(self, path: str) -> Deed:
        other = self.town.chance.choice([one for one in self.town.paths if one != path])
        overwrite = other in self.known or not self.is_gentle
        removes, displaces = self._gone(other)
        _, refusal = await answered(self.files.move_file(path, other, overwrite=overwrite))
        if refusal is None:
            self._forget(path, other)
        saves = NONE if refusal is not None else tokens_in(self.town.text(other))
        return Deed(
            who=self.letter, what=f"move {path} to {other} overwrite={overwrite}", refusal=refusal,
            removes=removes, displaces=displaces, saves=saves & NONE,
        )  # fmt: skip

    async def delete(self, path: str) -> Deed:
        if self.is_gentle and path not in self.known:
            return await self.read(path)
        removes, displaces = self._gone(path)
        _, refusal = await answered(self.files.delete_file(path))
        if refusal is None:
            self._forget(path)
        return Deed(
            who=self.letter, what=f"delete {path}", refusal=refusal, removes=removes, displaces=displaces
        )  # fmt: skip

    async def create(self, path: str) -> Deed:
        text = self.town.mint.line(self.letter) + "\n"
        result, refusal = await answered(self.files.create_file(path, text))
        if isinstance(result, WriteResult):
            self._sent(path, text, result)
        deed = Deed(who=self.letter, what="", adds=tokens_in(text))
        return told(deed, f"create {path}", refusal, {path: result})

    def _lines(self, path: str) -> list[str]:
        return [line for line in self.known.get(path, "").splitlines() if line.strip()]

    def _proposed(self, path: str, takes_all: bool) -> tuple[str, Deed]:
        """Return a text made from the known one, and what it adds and leaves out."""
        chance, known = self.town.chance, self.known.get(path)
        lines = ["one", "two", "three"] if known is None else known.splitlines()
        for _ in range(chance.randint(1, 2)):
            at = chance.randint(0, len(lines))
            kind = chance.choice(("insert", "insert", "replace", "remove"))
            new = [] if kind == "remove" else [self.town.mint.line(self.letter)]
            lines[at : at + (kind != "insert")] = new
        text = "\n".join(lines) + "\n"
        had, has = tokens_in(known) | self.edited.get(path, NONE), tokens_in(text)
        unread = known is None or takes_all
        displaces = self.town.standing().live if unread else NONE
        return text, Deed(
            who=self.letter, what="", adds=has - had, removes=had - has, displaces=displaces,
            saves=has if takes_all else NONE,
        )  # fmt: skip

    def _gone(self, path: str) -> tuple[Tokens, Tokens]:
        """Return what its taking a file away removes knowingly, and what it displaces unread."""
        if path not in self.known:
            return NONE, tokens_in(self.town.text(path))
        return tokens_in(self.known[path]) | self.edited.get(path, NONE), NONE

    def _saw(self, path: str, result: ReadResult) -> None:
        self.known[path] = result.content
        self.versions[path] = [version for version in (result.version, result.disk_version) if version]
        self.edited.pop(path, None)

    def _sent(self, path: str, text: str, result: WriteResult) -> None:
        self.known[path] = text
        self.versions[path] = [version for version in (result.version, result.disk_version) if version]
        self.edited.pop(path, None)

    def _edited(self, path: str, removes: Tokens, adds: Tokens, refusal: str | None) -> Deed:
        if refusal is None:
            self.edited[path] = self.edited.get(path, NONE) | adds
        return Deed(who=self.letter, what="", adds=adds - removes, removes=removes - adds)

    def _forget(self, *paths: str) -> None:
        for path in paths:
            for facts in (self.known, self.versions, self.edited):
                facts.pop(path, None)


async def answered(call: Awaitable[Result]) -> tuple[Result | None, str | None]:
    """Return the result of a call, or the code of its refusal."""
    try:
        return await call, None
    except filetools.FileToolsError as exc:
        return None, exc.code


def told(deed: Deed, what: str, refusal: str | None, results: dict[str, Any]) -> Deed:
    """Return a deed with what it was answered, and where its tokens must stand by that."""
    lands = {
        path: "document" if result.in_buffer else "disk"
        for path, result in results.items()
        if result is not None and hasattr(result, "in_buffer")
    }
    return Deed(
        who=deed.who, what=what, refusal=refusal, adds=deed.adds, removes=deed.removes, displaces=deed.displaces,
        saves=deed.saves, lands=lands, landing=deed.landing,
    )  # fmt: skip
