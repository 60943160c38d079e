"""Decisions that give and take names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from filetools.changes.knowledge import Knowledge
from filetools.changes.tree_decisions import (
    DeleteAnswer,
    FolderAnswer,
    MoveAnswer,
    decide_delete,
    decide_delete_folder,
    decide_make_folder,
    decide_move,
)  # fmt: skip
from filetools.content.version import version_of
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import Decided, Seen, SeenPath, TreeOperation
from tests.changes.trees import Entry, make, move, refusal_of, remove, remove_folder, seen_of, tree_of

ACTOR: Final = Actor(kind="agent", id="a")
NOBODY: Final = Knowledge(actor=ACTOR)
OUTDATED: Final = Knowledge(actor=ACTOR, rows=[SeenVersion(version=version_of(b"old"), base=version_of(b"old"))])
SEEN: Final = seen_of(
    tree_of({"a": b"A", "b": b"B", "d": None, "d/x": b"X", "d/e": None, "e": None})
    | {"link": Entry("symlink", b"a", None), "pipe": Entry("other", None, None)}
)


def move_path(
    source: str,
    to: str,
    *,
    overwrite: bool = False,
    knowledge: tuple[Knowledge, Knowledge] = (NOBODY, NOBODY),
    follow_symlinks: bool = False,
    seen: Seen = SEEN,
) -> Decided:
    return decide_move(
        seen, source=WorkspacePath(source), destination=WorkspacePath(to), overwrite=overwrite, knowledge=knowledge,
        settings=Settings(follow_symlinks=follow_symlinks),
    )  # fmt: skip


def delete(
    path: str, knowledge: Knowledge = NOBODY, *, expected: str | None = None, follow_symlinks: bool = False
) -> Decided:
    settings = Settings(follow_symlinks=follow_symlinks)
    return decide_delete(
        SEEN, path=WorkspacePath(path), knowledge=knowledge, settings=settings, expected_version=expected
    )


def delete_folder(path: str, *, recursive: bool = True, versions: dict[str, str | None] | None = None) -> Decided:
    return decide_delete_folder(SEEN, path=WorkspacePath(path), recursive=recursive, versions=versions)


def make_folder(path: str) -> Decided:
    return decide_make_folder(SEEN, path=WorkspacePath(path))


REFUSED: Final[dict[str, tuple[str, Callable[[], Decided]]]] = {
    "move nothing": ("FILE_NOT_FOUND", partial(move_path, "n", "m")),
    "move onto a file": ("FILE_EXISTS", partial(move_path, "a", "b")),
    "move onto a folder": ("IS_A_DIRECTORY", partial(move_path, "a", "d", overwrite=True)),
    "move a folder onto a file": ("FILE_EXISTS", partial(move_path, "d", "a", overwrite=True)),
    "move a folder into itself": ("INVALID_ARGUMENT", partial(move_path, "d", "d/n")),
    "move below a file": ("NOT_A_DIRECTORY", partial(move_path, "b", "a/n")),
    "move below itself": ("INVALID_ARGUMENT", partial(move_path, "a", "a/n")),
    "move a link": ("SYMLINK_NOT_ALLOWED", partial(move_path, "link", "n")),
    "move onto a link": ("SYMLINK_NOT_ALLOWED", partial(move_path, "a", "link", overwrite=True, follow_symlinks=True)),
    "move a pipe": ("NOT_A_REGULAR_FILE", partial(move_path, "pipe", "n")),
    "move what others changed": ("VERSION_MISMATCH", partial(move_path, "a", "n", knowledge=(OUTDATED, NOBODY))),
    "cover what others changed": (
        "VERSION_MISMATCH", partial(move_path, "a", "b", overwrite=True, knowledge=(NOBODY, OUTDATED)),
    ),
    "delete nothing": ("FILE_NOT_FOUND", partial(delete, "n")),
    "delete a folder as a file": ("IS_A_DIRECTORY", partial(delete, "d")),
    "delete a link": ("SYMLINK_NOT_ALLOWED", partial(delete, "link")),
    "delete what others changed": ("VERSION_MISMATCH", partial(delete, "a", OUTDATED)),
    "delete another version": ("VERSION_MISMATCH", partial(delete, "a", expected=version_of(b"B"))),
    "make a folder over a file": ("FILE_EXISTS", partial(make_folder, "a")),
    "make a folder over a link": ("SYMLINK_NOT_ALLOWED", partial(make_folder, "link")),
    "make a folder below a file": ("NOT_A_DIRECTORY", partial(make_folder, "a/n")),
    "delete no folder": ("DIR_NOT_FOUND", partial(delete_folder, "n")),
    "delete a folder in no folder": ("DIR_NOT_FOUND", partial(delete_folder, "n/m")),
    "delete a file as a folder": ("NOT_A_DIRECTORY", partial(delete_folder, "a")),
    "delete a link as a folder": ("SYMLINK_NOT_ALLOWED", partial(delete_folder, "link")),
    "delete a full folder": ("DIR_NOT_EMPTY", partial(delete_folder, "d", recursive=False)),
    "delete a new file": ("VERSION_MISMATCH", partial(delete_folder, "d", versions={"d/e": None})),
    "delete a changed file": (
        "VERSION_MISMATCH", partial(delete_folder, "d", versions={"d/e": None, "d/x": version_of(b"old")}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused(case: str) -> None:
    code, decide = REFUSED[case]
    assert refusal_of(decide).code == code


def moved(source: str, to: str, version: bytes | None, replaced: bytes | None = None) -> MoveAnswer:
    return MoveAnswer(
        source=WorkspacePath(source), destination=WorkspacePath(to), kind="file" if version else "directory",
        version=None if version is None else version_of(version), unchanged=source == to,
        replaced_version=None if replaced is None else version_of(replaced),
    )  # fmt: skip


def deleted(path: str, kind: EntryType, version: str | None = None) -> DeleteAnswer:
    return DeleteAnswer(path=WorkspacePath(path), kind=kind, version=version, below=SEEN.below.get(path, ()))


AS_SEEN: Final = {"d/e": None, "d/x": version_of(b"X")}
MADE: Final[dict[str, tuple[Callable[[], Decided], list[TreeOperation], object]]] = {
    "a file moves": (partial(move_path, "a", "p/n"), [make("p"), move("a", "p/n")], moved("a", "p/n", b"A")),
    "a file covers another": (
        partial(move_path, "a", "b", overwrite=True), [remove("b"), move("a", "b")], moved("a", "b", b"A", b"B"),
    ),
    "a file stays": (partial(move_path, "a", "a"), [], moved("a", "a", b"A")),
    "a folder moves": (partial(move_path, "d", "p/n"), [make("p"), move("d", "p/n")], moved("d", "p/n", None)),
    "a file is deleted": (
        partial(delete, "a", OUTDATED, expected=version_of(b"A")), [remove("a")], deleted("a", "file", version_of(b"A")),
    ),
    "a link is deleted": (
        partial(delete, "link", follow_symlinks=True), [remove("link")], deleted("link", "symlink"),
    ),
    "a folder is made": (
        partial(make_folder, "p/n"), [make("p"), make("p/n")], FolderAnswer(path=WorkspacePath("p/n"), created=True),
    ),
    "a folder exists": (partial(make_folder, "d"), [], FolderAnswer(path=WorkspacePath("d"), created=False)),
    "an empty folder is deleted": (
        partial(delete_folder, "e", recursive=False), [remove_folder("e")], deleted("e", "directory"),
    ),
    "a folder is deleted as it was seen": (
        partial(delete_folder, "d", versions=AS_SEEN), [remove_folder("d")], deleted("d", "directory"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MADE)
def test_it_is_decided(case: str) -> None:
    decide, operations, answer = MADE[case]
    decided = decide()
    assert (list(decided.operations), decided.answer) == (operations, answer)


def test_another_spelling_of_the_same_name_is_a_move_where_case_is_ignored() -> None:
    there = SeenPath(path=WorkspacePath("a"), kind="file", version=version_of(b"A"), size=1)
    decided = move_path("a", "A", seen=Seen(paths={"a": there, "A": there}))
    assert decided.operations == (move("a", "A"),)
