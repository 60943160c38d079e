"""An edit works on its own lines: the rest of the text is read, searched, hashed and written, and never compared."""

from __future__ import annotations

import codecs
import sys
import threading
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

import filetools
from filetools import Actor, Edit
from filetools.content.facts import inspect
from filetools.content.formats import TextFormat, encode
from filetools.editors.open_text import OpenText
from filetools.facade.editing import TextChange, edits_change, insertion
from filetools.facade.writing import UTF_8
from filetools.journal.document_rows import Document
from filetools.models.files import EditResult
from filetools.paths.workspace_path import WorkspacePath
from tests.facade.test_loop_stays_free import CALLS
from tests.support.crashing import QUIET
from tests.support.step_count import steps_of

LINES: Final = 1_000
ALICE: Final = Actor(kind="agent", id="alice", session="s")
COMPARING: Final = ("content.alignment", "content.diff", "content.merging", "content.myers")
Note = Callable[[FrameType], None]


@contextmanager
def calls_noted(note: Note) -> Iterator[None]:
    """Have every call of a function of the package noted, in this thread and in those that start meanwhile."""

    def hook(frame: FrameType, event: str, _what: Any) -> None:
        if event == "call" and str(frame.f_globals.get("__name__")).startswith("filetools."):
            note(frame)

    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def name_of(frame: FrameType) -> str:
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_name}"


def text_of(lines: int) -> str:
    return "".join(f"line {number}\n" for number in range(lines)) + "END\n"


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open in an editor"])
@pytest.mark.parametrize("call", ["edit", "edit, tried", "insertion", "addition"])
async def test_no_text_is_compared_as_a_whole(tmp_path: Path, call: str, is_open: bool) -> None:
    (tmp_path / "f").write_text(text_of(LINES))
    compared: set[str] = set()

    def note(frame: FrameType) -> None:
        lists = [one for one in frame.f_locals.values() if isinstance(one, Sized) and not isinstance(one, str | bytes)]
        if name_of(frame).startswith(tuple(f"filetools.{each}" for each in COMPARING)) and any(
            len(one) >= LINES for one in lists
        ):
            compared.add(name_of(frame))

    with calls_noted(note):
        async with filetools.open(tmp_path, settings=QUIET) as files:
            agent = files.for_actor(ALICE)
            if is_open:
                ann = files.for_actor(Actor(kind="editor", id="ann", session="window"))
                opened = await ann.buffers.open("f")
            await CALLS[call](agent)
            if is_open:
                shown = await ann.buffers.read(opened.handle)
                assert shown.text == (await agent.read_file("f")).content
    assert compared == set()


async def test_a_document_that_is_read_in_another_encoding_gets_what_the_file_has(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("\u00e9\u00e9\u00e9 END\n", "utf-8")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        ann = files.for_actor(Actor(kind="editor", id="ann", session="window"))
        opened = await ann.buffers.open("f")
        agent = files.for_actor(ALICE)
        await agent.read_file("f", encoding="latin-1")
        await agent.edit_file("f", [Edit(old="END", new="FIN")])
        assert (tmp_path / "f").read_text("utf-8") == "\u00e9\u00e9\u00e9 FIN\n"
        assert (await ann.buffers.read(opened.handle)).text == "\u00e9\u00e9\u00e9 FIN\n"


async def test_what_compares_whole_texts_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(text_of(LINES))
    compared: set[str] = set()

    def note(frame: FrameType) -> None:
        if any(isinstance(one, list) and len(one) >= LINES for one in frame.f_locals.values()):
            compared.add(name_of(frame))

    with calls_noted(note):
        async with filetools.open(tmp_path, settings=QUIET) as files:
            await files.for_actor(Actor(kind="editor", id="ann", session="window")).buffers.open("f")
            await files.for_actor(ALICE).write_file("f", text_of(LINES) + "more\n")
    assert "filetools.content.alignment.differences" in compared


async def test_an_edit_works_on_texts_in_a_worker_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(text_of(3))
    here = threading.get_ident()
    threads: dict[str, set[int]] = {}

    def note(frame: FrameType) -> None:
        threads.setdefault(name_of(frame), set()).add(threading.get_ident())

    with calls_noted(note):
        async with filetools.open(tmp_path, settings=QUIET) as files:
            edits = [Edit(old="END", new="FIN")]
            threads.clear()
            await files.edit_file("f", edits)
            worked = {name: met for name, met in threads.items() if name.startswith("filetools.content.")}
    assert {"filetools.content.edits.apply_edits", "filetools.content.diff.patch_of_edits"} <= worked.keys()
    # A record of the call may be built here; `__init__` of a dataclass carries the name of its module.
    assert {name for name, met in worked.items() if here in met} <= {"filetools.content.edits.__init__"}


@pytest.mark.parametrize("text_format", [UTF_8, TextFormat(encoding="utf-16-le", bom=codecs.BOM_UTF16_LE)])
def test_the_steps_of_saving_a_document_do_not_grow_with_its_text(text_format: TextFormat) -> None:
    def steps(lines: int) -> int:
        before = text_of(lines)
        after = before.replace("line 7\n", "seven\n").replace("END", "FIN")
        document = Document(
            id="d", key="f", path="f", version=2, base="b", text_format=text_format, is_dirty=True, parents=()
        )
        base = encode(before, text_format, path="f")
        opened = OpenText(document=document, text=after, base=base, base_text=before)
        assert opened.to_bytes() == encode(after, text_format, path="f")
        return steps_of(opened.to_bytes)

    assert steps(10_000) == steps(100)


def test_a_result_takes_the_hunks_as_they_are() -> None:
    hunks: list[dict[str, Any]] = [{"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+new"]}]
    made = EditResult(path="f", version="b", replaced_version="a", structured_patch=hunks)
    assert made.structured_patch is hunks
    assert made.to_dict()["structured_patch"] == hunks


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("kind", ["edit", "several lines", "insertion"])
def test_the_steps_of_a_change_do_not_grow_with_the_text(kind: str, end: str) -> None:
    where = WorkspacePath("f")

    def change() -> TextChange:
        if kind == "insertion":
            return insertion(where, 3, "new\n", ALICE, expected_version=None)
        edits = {
            "edit": [Edit(old="END", new="FIN")],
            "several lines": [Edit(old="line 7\nline 8\n", new="seven\n"), Edit(old="END\n", new="FIN\nreally\n")],
        }[kind]
        return edits_change(where, edits, ALICE, expected_version=None)

    def steps(lines: int) -> int:
        content = text_of(lines).replace("\n", end).encode()
        facts, _ = inspect(content, name=where)
        return steps_of(lambda: change().made(content, facts.text_format, facts))

    assert steps(64_000) == steps(4_000)
