"""Decisions about parts of a text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import pytest
from filetools.writer.operations import Decided, Seen

from filetools.changes.editing import EditAnswer, decide_edit, decide_insert
from filetools.changes.knowledge import Knowledge
from filetools.content.diff import PatchHunk
from filetools.content.edits import Edit
from filetools.content.facts import inspect
from filetools.content.text_edits import TextEdit
from filetools.content.version import version_of
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from tests.changes.trees import put, refusal_of, seen_of, tree_of

NOBODY: Final = Knowledge(actor=Actor(kind="agent", id="a"))
SETTINGS: Final = Settings()
OLD: Final = "\ufeffone\r\ntw\xf6\r\n".encode()
SEEN: Final = seen_of(tree_of({"a.txt": OLD, "b": b"\0\1\2", "d": None}))
PATH: Final = WorkspacePath("a.txt")


def edit(path: str, *edits: Edit, expected: str | None = None, lines: int = 3, seen: Seen = SEEN) -> Decided:
    return decide_edit(
        seen, path=WorkspacePath(path), edits=edits, knowledge=NOBODY, settings=SETTINGS, expected_version=expected,
        context_lines=lines,
    )  # fmt: skip


ONE: Final = Edit(old="one", new="1")
REFUSED: Final[dict[str, tuple[str, Callable[[], Decided]]]] = {
    "missing": ("FILE_NOT_FOUND", partial(edit, "n", ONE)),
    "a folder": ("IS_A_DIRECTORY", partial(edit, "d", ONE)),
    "binary": ("INVALID_ARGUMENT", partial(edit, "b", ONE)),
    "negative context": ("INVALID_ARGUMENT", partial(edit, "a.txt", ONE, lines=-1)),
    "not found": ("EDIT_NOT_FOUND", partial(edit, "a.txt", Edit(old="three", new=""))),
    "ambiguous": ("EDIT_AMBIGUOUS", partial(edit, "a.txt", Edit(old="\n", new=""))),
    "another version": ("VERSION_MISMATCH", partial(edit, "a.txt", ONE, expected=version_of(b""))),
    "no such line": (
        "INVALID_ARGUMENT",
        partial(decide_insert, SEEN, path=PATH, line=3, text="x", knowledge=NOBODY, settings=SETTINGS),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_edit_is_refused(case: str) -> None:
    code, decide = REFUSED[case]
    assert refusal_of(decide).code == code


def test_an_edit_keeps_mark_and_line_ends() -> None:
    new = "\ufeff1\r\n2\r\ntw\xf6\r\n".encode()
    assert edit("a.txt", Edit(old="one\n", new="1\n2\n")) == Decided(
        operations=(put("a.txt", new),),
        answer=EditAnswer(
            path=PATH, content=new, text=new.decode("utf-8-sig"), facts=inspect(new, name=PATH)[0],
            before=SEEN.at(PATH), unchanged=False, counts=(1,), hunks=(
                PatchHunk(old_start=1, old_lines=2, new_start=1, new_lines=3, lines=("-one", "+1", "+2", " tw\xf6")),
            ), edits=(TextEdit(0, 3, "1\r\n2"),),
        ),
    )  # fmt: skip


def test_an_edit_that_changes_nothing_is_no_operation() -> None:
    decided = edit("a.txt", Edit(old="one", new="one"))
    assert isinstance(decided.answer, EditAnswer)
    assert (decided.operations, decided.answer.unchanged, decided.answer.counts) == ((), True, (1,))


def test_a_line_is_inserted_with_the_end_of_its_neighbour() -> None:
    decided = decide_insert(SEEN, path=PATH, line=1, text="x", knowledge=NOBODY, settings=SETTINGS)
    assert decided.operations == (put("a.txt", "\ufeffone\r\nx\r\ntw\xf6\r\n".encode()),)
