"""The table of byte fidelity: every operation through the facade, in every encoding, with every kind of line ends."""

from __future__ import annotations

import codecs
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import filetools
from filetools import Actor, Edit
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET
from tests.support.dose import dose

OLD, NEW = " here", " there"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """An encoding of the table."""

    encoding: str
    """Codec without a mark."""
    sample: str
    """Characters that are hard to keep in it."""
    bom: bytes = b""
    named: str | None = None
    """What an actor must name to read it; None where the bytes say it."""
    lacks: str = "\U0001f600"
    """A character it cannot hold."""

    def bytes_of(self, text: str) -> bytes:
        return self.bom + text.encode(self.encoding)


COLUMNS: Final[dict[str, Column]] = {
    "UTF-8": Column(encoding="utf-8", sample="é日\U0001f600", lacks="\ud800"),
    "UTF-8, BOM": Column(encoding="utf-8", sample="é日\U0001f600", bom=codecs.BOM_UTF8, lacks="\ud800"),
    "UTF-16LE, BOM": Column(encoding="utf-16-le", sample="é日\U0001f600", bom=codecs.BOM_UTF16_LE, lacks="\ud800"),
    "UTF-16BE, BOM": Column(encoding="utf-16-be", sample="é日\U0001f600", bom=codecs.BOM_UTF16_BE, lacks="\ud800"),
    "UTF-8, a foreign byte": Column(encoding="utf-8-raw", sample="é日\uf7e9\U0001f600", lacks="\ud800"),
    "Latin-1": Column(encoding="latin-1", sample="éü\x85"),
    "cp1252": Column(encoding="cp1252", sample="é€", named="cp1252"),
    "Shift-JIS": Column(encoding="shift_jis", sample="日本ソ", named="shift_jis"),
    "cp932": Column(encoding="cp932", sample="日本ソ", named="cp932"),
    "EUC-KR": Column(encoding="euc_kr", sample="한글", named="euc_kr"),
    "GB18030": Column(encoding="gb18030", sample="中é\U0001f600", named="gb18030", lacks="\ud800"),
}
ENDS: Final = {
    "LF": ["\n"] * 6,
    "CRLF": ["\r\n"] * 6,
    "CR": ["\r"] * 6,
    "mixed": ["\n", "\r\n", "\r\n", "\n", "\r\n", "\n"],
}


VARIANTS: Final = (
    [(ends, has_final_end) for ends in ENDS for has_final_end in (True, False)]
    if dose(1) > 1
    else [("LF", True), ("CRLF", False), ("CR", True), ("mixed", False)]
)
"""Line ends, and whether the last line has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One file of the table, and the actors that work on it."""

    files: FileToolsFacade
    other: FileToolsFacade
    root: Path
    path: str
    column: Column
    ends: list[str]
    text: str

    @property
    def place(self) -> Path:
        return self.root / self.path

    @property
    def new_text(self) -> str:
        """The text with the touched span changed."""
        return self.text.replace(OLD, NEW)

    def holds(self, text: str, path: str | None = None) -> bool:
        """Whether a file has exactly the bytes of a text in its encoding."""
        return (self.root / (path or self.path)).read_bytes() == self.column.bytes_of(text)

    async def known(self, files: FileToolsFacade) -> str:
        """Have an actor read it; returns the text as the actor sees it."""
        return (await files.read_file(self.path, encoding=self.column.named)).content


Operation = Callable[[Case, str], Awaitable[bool]]
"""Does one thing with a file, so that a text stands there; tells whether all other bytes are as they were."""


async def edited(case: Case, new: str) -> bool:
    await case.known(case.files)
    await case.files.edit_file(case.path, [Edit(old=f"one\n{case.column.sample}{OLD}", new=f"one\n{new}")])
    return case.holds(case.new_text)


async def replaced_everywhere(case: Case, new: str) -> bool:
    await case.known(case.files)
    await case.files.edit_file(case.path, [Edit(old=case.column.sample + OLD, new=new, replace_all=True)])
    return case.holds(case.new_text)


async def inserted(case: Case, new: str) -> bool:
    await case.known(case.files)
    await case.files.insert_lines(case.path, 4, f"{new}\n")
    head = "one" + case.ends[3]
    return case.holds(case.text.replace(head, head + new + case.ends[3]))


async def appended(case: Case, new: str) -> bool:
    await case.known(case.files)
    await case.files.append_file(case.path, f"{new}\n")
    end = "\r\n" if set(case.ends) == {"\r\n"} else "\n"
    return case.holds(case.text + new + end)


async def patched_as_codex(case: Case, new: str) -> bool:
    await case.known(case.files)
    head = f"*** Begin Patch\n*** Update File: {case.path}\n@@\n one\n"
    await case.files.apply_patch(f"{head}-{case.column.sample}{OLD}\n+{new}\n*** End Patch\n")
    return case.holds(case.new_text)


async def patched_as_unified(case: Case, new: str) -> bool:
    await case.known(case.files)
    head = f"--- a/{case.path}\n+++ b/{case.path}\n@@ -4,2 +4,2 @@\n one\n"
    await case.files.apply_patch(f"{head}-{case.column.sample}{OLD}\n+{new}\n")
    return case.holds(case.new_text)


async def patched_and_renamed(case: Case, new: str) -> bool:
    await case.known(case.files)
    path = f"{case.path}.renamed"
    head = f"diff --git a/{case.path} b/{path}\nrename from {case.path}\nrename to {path}\n"
    body = f"--- a/{case.path}\n+++ b/{path}\n@@ -4,2 +4,2 @@\n one\n-{case.column.sample}{OLD}\n+{new}\n"
    await case.files.apply_patch(head + body)
    return case.holds(case.new_text, path) and not case.place.exists()


async def written(case: Case, new: str) -> bool:
    text = await case.known(case.files)
    await case.files.write_file(case.path, text.replace(case.column.sample + OLD, new))
    return case.holds(case.new_text)


async def merged(case: Case, new: str) -> bool:
    text = await case.known(case.files)
    await _edited_by_the_other(case)
    await case.files.write_file(case.path, text.replace(case.column.sample + OLD, new))
    return case.holds(case.new_text.replace("first", "1st"))


async def merged_in_lf(case: Case, new: str) -> bool:
    """The other side of a merge as models send it: LF whatever the file has."""
    text = await case.known(case.files)
    await _edited_by_the_other(case)
    answer = text.replace(case.column.sample + OLD, new).replace("\r\n", "\n")
    await case.files.write_file(case.path, answer if "\n" in answer else answer.replace("\r", "\n"))
    return case.holds(case.new_text.replace("first", "1st"))


async def written_together(case: Case, new: str) -> bool:
    text = await case.known(case.files)
    content = text.replace(case.column.sample + OLD, new)
    await case.files.write_multiple([{"path": case.path, "content": content}, {"path": "other", "content": new}])
    return case.holds(case.new_text)


async def edited_in_a_transaction(case: Case, new: str) -> bool:
    await case.known(case.files)
    async with case.files.transaction() as tx:
        await tx.edit_file(case.path, [Edit(old="first", new="1st")])
        await tx.edit_file(case.path, [Edit(old=f"one\n{case.column.sample}{OLD}", new=f"one\n{new}")])
    return case.holds(case.new_text.replace("first", "1st"))


async def undone(case: Case, new: str) -> bool:
    await edited(case, new)
    await case.files.undo()
    return case.holds(case.text)


async def undone_beside_another(case: Case, new: str) -> bool:
    """Undo as a merge: what somebody else has changed since stays."""
    await edited(case, new)
    await _edited_by_the_other(case)
    await case.files.undo()
    return case.holds(case.text.replace("first", "1st"))


async def copied(case: Case, _new: str) -> bool:
    await case.files.copy_file(case.path, f"{case.path}.copy")
    return case.holds(case.text) and case.holds(case.text, f"{case.path}.copy")


async def moved(case: Case, _new: str) -> bool:
    await case.files.move_file(case.path, f"{case.path}.moved")
    return case.holds(case.text, f"{case.path}.moved") and not case.place.exists()


async def _edited_by_the_other(case: Case) -> None:
    await case.known(case.other)
    await case.other.edit_file(case.path, [Edit(old="first", new="1st")])


WRITING: Final[dict[str, Operation]] = {
    "`edit_file`": edited,
    "`edit_file` of every place": replaced_everywhere,
    "`insert_lines`": inserted,
    "`append_file`": appended,
    "`apply_patch`, Codex form": patched_as_codex,
    "`apply_patch`, unified diff": patched_as_unified,
    "`apply_patch` that renames, too": patched_and_renamed,
    "`write_file`": written,
    "`write_file`, merged": merged,
    "`write_file`, merged, sent with LF": merged_in_lf,
    "`write_multiple`": written_together,
    "`transaction` of two edits": edited_in_a_transaction,
}
OPERATIONS: Final[dict[str, Operation]] = {
    **WRITING,
    "`undo`": undone,
    "`undo` beside another's change": undone_beside_another,
    "`copy_file`": copied,
    "`move_file`": moved,
}


def text_of(column: Column, ends: str, *, has_final_end: bool) -> str:
    """Return the text of a case: hard characters on untouched lines, and an empty line."""
    lines = ["first", column.sample, "", "one", column.sample + OLD, f"last {column.sample}"]
    text = "".join(line + end for line, end in zip(lines, ENDS[ends], strict=True))
    return text if has_final_end else text.removesuffix(ENDS[ends][-1])


async def failures(root: Path, name: str, operations: Iterable[str]) -> list[str]:
    """Do operations in one encoding with each kind of line ends; returns where bytes were changed that should not be."""
    failed = []
    async for case, operation, about in _cases(root, COLUMNS[name], operations):
        try:
            is_kept = await OPERATIONS[operation](case, COLUMNS[name].sample + NEW)
        except filetools.FileToolsError as exc:
            failed.append(f"{about}: {exc.code}")
        else:
            failed += [] if is_kept else [about]
    return failed


async def accepted(root: Path, name: str) -> list[str]:
    """Send a character that an encoding lacks; returns where it is not refused with its name, or something is written."""
    wrong = []
    column = COLUMNS[name]
    async for case, operation, about in _cases(root, column, WRITING):
        try:
            await WRITING[operation](case, f"{column.sample}{column.lacks}")
            told: dict[str, Any] = {}
        except filetools.FileToolsError as exc:
            told = exc.details if "ENCODING_ERROR" in (exc.code, exc.details.get("cause")) else {}
        left = case.text.replace("first", "1st") if "merged" in operation else case.text
        is_named = told.get("character") == f"U+{ord(column.lacks):04X}" and isinstance(told.get("position"), int)
        wrong += [] if is_named and case.holds(left) else [about]
    return wrong


async def _cases(root: Path, column: Column, operations: Iterable[str]) -> Any:
    async with filetools.open(root, settings=QUIET) as opened:
        for number, (operation, (ends, has_final_end)) in enumerate(product(operations, VARIANTS)):
            text = text_of(column, ends, has_final_end=has_final_end)
            path = f"{number}"
            (root / path).write_bytes(column.bytes_of(text))
            actors = [opened.for_actor(Actor(kind="agent", id=f"{one}{number}")) for one in ("ann", "bob")]
            case = Case(
                files=actors[0], other=actors[1], root=root, path=path, column=column, ends=ENDS[ends], text=text
            )
            yield case, operation, f"{operation}: {ends}, final end {has_final_end}"
