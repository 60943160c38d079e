"""A person of a schedule: types into open documents, on whatever version their editor has got to know."""

from __future__ import annotations

from dataclasses import dataclass, field

from filetools.content.editing.text_edits import TextEdit, apply_text_edits, in_utf16
from filetools.content.wire import in_characters
from filetools.editors.editor_state import EditorState
from filetools.facade.facade import FileToolsFacade
from filetools.models.buffers import BufferChange, BufferClose, BufferResult, BufferSave
from filetools.models.words import OnConflict
from tests.support.schedules.agents import answered
from tests.support.schedules.ledger import NONE, Deed, Tokens
from tests.support.schedules.tokens import tokens_in
from tests.support.schedules.town import Town


@dataclass
class Sheet:
    """One document as the person's editor has it."""

    path: str
    handle: str
    text: str
    version: int


@dataclass
class Person:
    """One person and their editor."""

    town: Town
    letter: str
    files: FileToolsFacade
    state: EditorState
    sheets: dict[str, Sheet] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    is_gentle: bool = False

    async def begin(self) -> Deed:
        """Open the document where all meet."""
        return await self.open(self.town.paths[0])

    async def act(self) -> Deed:
        """Do something."""
        chance = self.town.chance
        if not self.sheets or chance.random() < 0.1:
            return await self.open(self.town.path())
        sheet = chance.choice(list(self.sheets.values()))
        acts = (self.type, self.save, self.read, self.vanish, self.close)
        return await chance.choices(acts, (12, 4, 1, 0.5, 0 if self.is_gentle else 1))[0](sheet)

    async def open(self, path: str) -> Deed:
        if path in self.sheets:
            return await self.read(self.sheets[path])
        result, refusal = await answered(self.files.buffers.open(path))
        if isinstance(result, BufferResult):
            self.sheets[path] = Sheet(path, result.handle, result.text, result.buffer_version)
            self.state.show(result)
        return Deed(who=self.letter, what=f"open {path}", refusal=refusal)

    async def read(self, sheet: Sheet) -> Deed:
        result, refusal = await answered(self.files.buffers.read(sheet.handle))
        if isinstance(result, BufferResult):
            sheet.text, sheet.version = result.text, result.buffer_version
        return self._done(sheet, Deed(who=self.letter, what=f"read {sheet.path}", refusal=refusal))

    async def type(self, sheet: Sheet) -> Deed:
        """Insert, replace or remove lines; sent as edits, or as the whole text."""
        edits, adds, removes = self._typed(sheet)
        units = in_utf16(sheet.text, edits)
        mine = apply_text_edits(sheet.text, edits)
        version = sheet.version
        if self.town.chance.random() < 0.3:
            call = self.files.buffers.change(sheet.handle, buffer_version=version, text=mine)
        else:
            call = self.files.buffers.change(sheet.handle, buffer_version=version, edits=units)
        result, refusal = await answered(call)
        if isinstance(result, BufferChange):
            self._take(sheet, mine, result)
        what = f"type into {sheet.path} at {version}: {[(one.start, one.end, one.text) for one in edits]}"
        deed = Deed(
            who=self.letter, what=what, refusal=refusal, adds=adds, removes=removes,
            lands={} if refusal else {self._where(sheet): "document"},
        )  # fmt: skip
        return self._done(sheet, deed)

    async def save(self, sheet: Sheet) -> Deed:
        allows = not self.is_gentle and self.town.chance.random() < 0.4
        on_conflict: OnConflict = "allow" if allows else "merge"
        where = self._where(sheet)
        saves = tokens_in(self.town.document_texts().get(where, (0, ""))[1])
        displaces = tokens_in(self.town.text(where)) - saves if on_conflict == "allow" else NONE
        call = self.files.buffers.save(sheet.handle, buffer_version=sheet.version, on_conflict=on_conflict)
        result, refusal = await answered(call)
        if isinstance(result, BufferSave):
            self._take(sheet, sheet.text, result)
        deed = Deed(
            who=self.letter, what=f"save {where} on_conflict={on_conflict}", refusal=refusal, displaces=displaces,
            saves=saves, lands={} if refusal else {where: "disk"}, landing={where: saves},
        )  # fmt: skip
        return self._done(sheet, deed)

    async def close(self, sheet: Sheet) -> Deed:
        unsaved = self._unsaved(sheet)
        result, refusal = await answered(self.files.buffers.close(sheet.handle))
        if isinstance(result, BufferClose):
            self.sheets.pop(sheet.path, None)
        deed = Deed(who=self.letter, what=f"close {sheet.path}", refusal=refusal, displaces=unsaved)
        return self._done(sheet, deed)

    async def vanish(self, sheet: Sheet) -> Deed:
        """The editor is gone without a word; the handle stays until its lease ends."""
        self.sheets.pop(sheet.path, None)
        return Deed(who=self.letter, what=f"vanish from {sheet.path}")

    def _where(self, sheet: Sheet) -> str:
        """Return where the document of a sheet is now."""
        documents = self.files._parts.journal.documents
        handle = documents.handle(sheet.handle)
        found = None if handle is None else documents.text(handle.document_id)
        return sheet.path if found is None else found[0].path

    def _unsaved(self, sheet: Sheet) -> Tokens:
        where = self._where(sheet)
        return tokens_in(self.town.document_texts().get(where, (0, ""))[1]) - tokens_in(self.town.text(where))

    def _typed(self, sheet: Sheet) -> tuple[list[TextEdit], Tokens, Tokens]:
        chance = self.town.chance
        lines = sheet.text.splitlines(keepends=True)
        at = chance.randint(0, len(lines))
        count = chance.choice((0, 0, 0, 1)) if at < len(lines) else 0
        start = sum(map(len, lines[:at]))
        end = start + sum(map(len, lines[at : at + count]))
        is_bare = at == len(lines) and bool(lines) and not lines[-1].endswith("\n")
        line = ("\n" if is_bare else "") + self.town.mint.line(self.letter) + "\n"
        new = line if count == 0 or chance.random() < 0.5 else ""
        return [TextEdit(start, end, new)], tokens_in(new), tokens_in(sheet.text[start:end])

    def _take(self, sheet: Sheet, mine: str, result: BufferChange | BufferSave) -> None:
        """Apply what others did to the editor's own text; it must be the document's then."""
        others = [TextEdit(one["start"], one["end"], one["text"]) for one in result.edits]
        sheet.text = apply_text_edits(mine, in_characters(mine, others))
        sheet.version = result.buffer_version
        found = self.town.document_texts().get(self._where(sheet))
        if found is not None and found[0] == sheet.version and found[1] != sheet.text:
            self.faults.append(f"{self.letter}'s text of {sheet.path} is {sheet.text!r}, the document {found[1]!r}")

    def _done(self, sheet: Sheet, deed: Deed) -> Deed:
        if deed.refusal == "BUFFER_CLOSED":
            self.sheets.pop(sheet.path, None)
        return deed
