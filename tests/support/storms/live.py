"""A person before the live protocol, whose connection is cut now and then in the middle of what was typed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from random import Random

from filetools.content.editing.text_edits import TextEdit, in_utf16
from tests.support.live_clients import Editor, Frame, LiveClient, SocketWire, live
from tests.support.schedules.ledger import Deed, Tokens
from tests.support.schedules.tokens import tokens_in
from tests.support.storms.scene import CUT_OFF, Scene, number_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Typing:
    """What a person types, and has not been acknowledged."""

    path: str
    edit: TextEdit
    adds: Tokens
    removes: Tokens


@dataclass
class LiveEditor:
    """One person with both files open."""

    scene: Scene
    address: str
    since: str
    """Position after which it wants to hear events."""
    letter: str
    numbers: list[int] = field(default_factory=list)
    """Of the events that it has heard, in the order in which they came."""
    chance: Random = field(init=False)
    client: LiveClient = field(init=False)
    _sheets: dict[str, Editor] = field(default_factory=dict)
    _pending: list[Typing] = field(default_factory=list)
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
            answer = await self._ask_save(path, "merge")
            if answer["type"] == "error" and self.scene.has_stranger:
                displaced = tokens_in(self.scene.text(path))
                self.scene.ledger.note(Deed(who=self.letter, what=f"save {path} all the same", displaces=displaced))
                answer = await self._ask_save(path, "allow")
            if answer["type"] == "error" or answer["dirty"]:
                self.scene.faults.append(f"{self.letter}: {path} cannot be saved in the end: {answer}")

    async def close(self) -> None:
        """Give the documents up; all must be in the files."""
        for path, editor in self._sheets.items():
            on_disk = self.scene.text(path)
            try:  # what others did may still be on its way
                await self.client.until(partial(_shows, editor, on_disk))
            except TimeoutError:
                self.scene.faults.append(f"{self.letter}: {editor.version} {editor.text!r} of {path}, not {on_disk!r}")
            closed = await self.client.do("close", handle=editor.handle)
            if closed.get("kept_version") is not None or editor.resyncs:
                self.scene.faults.append(f"{self.letter}: {path} was closed after {editor.resyncs} resyncs: {closed}")

    async def hear(self, number: int) -> None:
        """Wait until the event of this number has come."""
        await self.client.until(lambda: max(self.numbers + self._heard(), default=0) >= number)
        self.numbers += self._heard()

    async def settle(self) -> None:
        """Wait until all that was typed is answered."""
        for editor in self._sheets.values():
            # A change that is refused is answered by an error that answers no frame of ours by its id.
            await self.client.until(partial(self._is_answered, editor))
        assert not self._refusals(), self._refusals()
        self._note_pending(lambda _: True)

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
        session = f"scene-{self.scene.seed}"
        self.client = await self._stack.enter_async_context(live(self.address, since=self.since, session=session))

    async def _type(self, path: str) -> None:
        editor = self._sheets[path]
        lines = editor.text.splitlines(keepends=True)
        at = self.chance.randrange(len(lines))
        start = sum(map(len, lines[:at]))
        end = start + (len(lines[at]) if self.chance.random() < 0.2 else 0)
        line = self.scene.mint.line(self.letter) + "\n"
        edit, removes = TextEdit(start, end, line), tokens_in(editor.text[start:end])
        self._pending.append(Typing(path=path, edit=edit, adds=tokens_in(line), removes=removes))
        units = in_utf16(editor.text, [edit])[0]
        editor.type(units.start, units.end, units.text)
        if self.chance.random() < 0.5:
            await self.settle()

    def _note_pending(self, has_arrived: Callable[[Typing], bool]) -> None:
        for one in self._pending:
            what = f"type into {one.path}: {one.edit}"
            if has_arrived(one):
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
        await self.client.aclose()
        self.numbers += self._heard()
        self.since = [frame["position"] for frame in self.client.heard if "position" in frame][-1]
        assert isinstance(self.client.wire, SocketWire)
        self.client.wire.connection.transport.abort()
        await self._stack.aclose()
        await self._connect()
        for path, editor in list(self._sheets.items()):
            self._sheets[path] = await self.client.edit(path, handle=editor.handle)
        self._note_pending(lambda one: one.adds <= tokens_in(self._sheets[one.path].text))


def _shows(editor: Editor, text: str) -> bool:
    return editor.text == text
