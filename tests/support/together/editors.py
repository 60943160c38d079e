"""Editors before two doors: the live protocol, with connections that are cut, and tools over MCP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from filetools.content.text_edits import TextEdit, apply_text_edits, in_utf16
from filetools.content.wire import in_characters
from tests.support.live_clients import Editor, Frame, LiveClient, SocketWire, live
from tests.support.schedules.ledger import Tokens
from tests.support.schedules.tokens import tokens_in
from tests.support.together.doors import called
from tests.support.together.scene import CUT_OFF, Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class Typing:
    """What a person types: one edit, its places in characters."""

    edit: TextEdit
    adds: Tokens
    removes: Tokens


def typing(scene: Scene, chance: Random, letter: str, text: str) -> Typing:
    """Return a new line put into a text, in place of another one now and then."""
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    start = sum(map(len, lines[:at]))
    end = start + (len(lines[at]) if chance.random() < 0.2 else 0)
    line = scene.mint.line(letter) + "\n"
    return Typing(edit=TextEdit(start, end, line), adds=tokens_in(line), removes=tokens_in(text[start:end]))


@dataclass
class LiveEditor:
    """A person before the live protocol; its connection is cut now and then, in the middle of what was typed."""

    scene: Scene
    since: str
    """Position after which it wants to hear events."""
    letter: str = "P"
    numbers: list[int] = field(default_factory=list)
    """Of the events that it has heard, in the order in which they came."""
    chance: Random = field(init=False)
    client: LiveClient = field(init=False)
    cuts: int = 0
    _sheets: dict[str, Editor] = field(default_factory=dict)
    _pending: list[tuple[str, Typing]] = field(default_factory=list)
    """What was typed and not acknowledged yet."""
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def begin(self) -> None:
        """Connect, and open the files."""
        self.chance = self.scene.chance(self.letter)
        await self._connect()
        self._sheets = {path: await self.client.edit(path) for path in self.scene.paths}

    async def act(self) -> None:
        """Do something."""
        acts = (self._type, self._save, self._cut)
        await self.chance.choices(acts, (9, 3, 1))[0](self.scene.path(self.chance))

    async def finish(self) -> None:
        """Save everything, whatever stands on the disk."""
        for path in self.scene.paths:
            await self._settle()
            answer = await self._ask_save(path, "merge")
            if answer["type"] == "error" and self.scene.has_stranger:
                self.scene.displace(
                    self.letter, f"save {path} all the same", tokens_in(self.scene.place(path).read_bytes())
                )
                answer = await self._ask_save(path, "allow")
            if answer["type"] == "error" or answer["dirty"]:
                self.scene.faults.append(f"{self.letter}: {path} cannot be saved in the end: {answer}")

    async def close(self) -> None:
        """Give the documents up; all must be in the files."""
        for path, editor in self._sheets.items():
            on_disk = self.scene.place(path).read_bytes().decode()
            # What others did may still be on its way.
            try:
                await self.client.until(partial(_shows, editor, on_disk))
            except TimeoutError:
                frames = [frame for frame in self.client.heard if frame.get("handle") == editor.handle]
                self.scene.faults.append(
                    f"{self.letter}: {editor.version} {editor.text!r} of {path}, not {on_disk!r}: {frames}"
                )
            closed = await self.client.do("close", handle=editor.handle)
            if closed.get("kept_version") is not None or editor.resyncs:
                self.scene.faults.append(f"{self.letter}: {path} was closed after {editor.resyncs} resyncs: {closed}")

    async def hear(self, number: int) -> None:
        """Wait until the event of this number has come."""
        await self.client.until(lambda: max(self.numbers + self._heard(), default=0) >= number)
        self.numbers += self._heard()

    async def aclose(self) -> None:
        """End the connection."""
        await self._stack.aclose()

    def _heard(self) -> list[int]:
        return [number_of(each["position"]) for each in self.client.events()]

    def _is_answered(self, editor: Editor) -> bool:
        return editor.is_settled or bool(self._refusals())

    def _refusals(self) -> list[Frame]:
        return [each for each in self.client.of("error") if "id" not in each]

    async def _connect(self) -> None:
        address = self.scene.doors.server.address
        self.client = await self._stack.enter_async_context(live(address, since=self.since, session=self.scene.folder))

    async def _type(self, path: str) -> None:
        editor = self._sheets[path]
        one = typing(self.scene, self.chance, self.letter, editor.text)
        units = in_utf16(editor.text, [one.edit])[0]
        self._pending.append((path, one))
        editor.type(units.start, units.end, units.text)
        if self.chance.random() < 0.5:
            await self._settle()

    async def _settle(self) -> None:
        for editor in self._sheets.values():
            # A change that is refused is answered by an error that answers no frame of ours by its id.
            await self.client.until(partial(self._is_answered, editor))
        assert not self._refusals(), self._refusals()
        self._note_pending(lambda _path, _one: True)

    def _note_pending(self, has_arrived: Callable[[str, Typing], bool]) -> None:
        for path, one in self._pending:
            what = f"type into {path}: {one.edit}"
            if has_arrived(path, one):
                self.scene.note(self.letter, what, None, one.adds, one.removes)
            else:
                # It may have arrived, and been replaced by somebody else since.
                self.scene.ledger.overlook(one.removes)
                self.scene.note(self.letter, what, CUT_OFF, one.adds)
        self._pending.clear()

    async def _save(self, path: str) -> None:
        answer = await self._ask_save(path, "merge")
        self.scene.note(self.letter, f"save {path}", answer.get("error_code"))

    async def _ask_save(self, path: str, on_conflict: str) -> Frame:
        return await self.client.ask("save", handle=self._sheets[path].handle, on_conflict=on_conflict)

    async def _cut(self, _path: str) -> None:
        """Cut the connection, come back with the position and the handles, and look what has arrived."""
        self.cuts += 1
        await self.client.aclose()
        self.numbers += self._heard()
        known = [frame["position"] for frame in self.client.heard if "position" in frame]
        self.since = known[-1]
        assert isinstance(self.client.wire, SocketWire)
        self.client.wire.connection.transport.abort()
        await self._stack.aclose()
        await self._connect()
        for path, editor in list(self._sheets.items()):
            self._sheets[path] = await self.client.edit(path, handle=editor.handle)
        self._note_pending(lambda path, one: one.adds <= tokens_in(self._sheets[path].text))


@dataclass
class Sheet:
    """A document as an editor with tools has it."""

    handle: str
    text: str
    version: int


@dataclass
class ToolEditor:
    """A person whose editor calls the tools of the group `editor` over MCP."""

    scene: Scene
    letter: str = "Q"
    chance: Random = field(init=False)
    _sheets: dict[str, Sheet] = field(default_factory=dict)

    async def begin(self) -> None:
        """Open the files."""
        self.chance = self.scene.chance(self.letter)
        for path in self.scene.paths:
            await self._open(path)

    async def act(self) -> None:
        """Do something."""
        acts = (self._type, self._save, self._open_anew)
        await self.chance.choices(acts, (9, 3, 1))[0](self.scene.path(self.chance))

    async def finish(self) -> None:
        """Save everything; somebody else has done that already."""
        for path in self.scene.paths:
            saved = await self._save(path)
            if saved is None or saved["dirty"]:
                self.scene.faults.append(f"{self.letter}: {path} cannot be saved in the end: {saved}")

    async def close(self) -> None:
        """Give the documents up; all must be in the files."""
        for path, sheet in self._sheets.items():
            closed = await called(self.scene.doors.editor, "buffer_close", handle=sheet.handle)
            on_disk = self.scene.place(path).read_bytes().decode()
            if closed.refusal or closed.data.get("kept_version") is not None or sheet.text != on_disk:
                self.scene.faults.append(f"{self.letter}: {sheet.text!r}, {on_disk!r} in {path}: {closed}")

    async def _open(self, path: str) -> None:
        opened = await called(self.scene.doors.editor, "buffer_open", path=path)
        assert opened.refusal is None, opened
        self._sheets[path] = Sheet(opened.data["handle"], opened.data["text"], opened.data["buffer_version"])

    async def _type(self, path: str) -> None:
        sheet = self._sheets[path]
        one = typing(self.scene, self.chance, self.letter, sheet.text)
        mine = apply_text_edits(sheet.text, [one.edit])
        new: dict[str, Any] = {"text": mine}
        if self.chance.random() < 0.7:
            units = in_utf16(sheet.text, [one.edit])
            new = {"edits": [{"start": each.start, "end": each.end, "text": each.text} for each in units]}
        answer = await called(
            self.scene.doors.editor, "buffer_change", handle=sheet.handle, buffer_version=sheet.version, **new
        )
        what = f"buffer_change {path} at {sheet.version}: {one.edit}"
        if self.scene.note(self.letter, what, answer.refusal, one.adds, one.removes):
            _take(sheet, mine, answer.data)

    async def _save(self, path: str) -> dict[str, Any] | None:
        sheet = self._sheets[path]
        answer = await called(self.scene.doors.editor, "buffer_save", handle=sheet.handle, buffer_version=sheet.version)
        if not self.scene.note(self.letter, f"buffer_save {path}", answer.refusal):
            return None
        _take(sheet, sheet.text, answer.data)
        return dict(answer.data)

    async def _open_anew(self, path: str) -> None:
        """Save, close and open again; what others typed in between stays with them, or in a version that is named."""
        if await self._save(path) is None:
            return
        sheet = self._sheets[path]
        closed = await called(self.scene.doors.editor, "buffer_close", handle=sheet.handle)
        assert closed.refusal is None, closed
        self.scene.note(self.letter, f"buffer_close {path}: {closed.data.get('kept_version')}", None)
        await self._open(path)


def _take(sheet: Sheet, mine: str, answer: Mapping[str, Any]) -> None:
    """Apply what others did to the editor's own text."""
    others = [TextEdit(one["start"], one["end"], one["text"]) for one in answer["edits"]]
    sheet.text = apply_text_edits(mine, in_characters(mine, others))
    sheet.version = answer["buffer_version"]


def _shows(editor: Editor, text: str) -> bool:
    return editor.text == text


def number_of(position: str) -> int:
    """Return the number in a position."""
    return int(position.rpartition(":")[2])
