"""Decisions that give and take names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from filetools.changes.knowledge import Knowledge, KnownVersion
from filetools.changes.tree_decisions import (
    DeleteAnswer,
    FolderAnswer,
    MoveAnswer,
    decide_delete,
    decide_delete_folder,
    decide_make_folder,
    decide_move,
)
from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import Decided, MakeFolder, Move, Remove, RemoveFolder, Seen, Standing
from tests.changes.trees import Entry, seen_of, tree_of

ACTOR: Final = Actor(kind="agent", id="a")
NOBODY: Final = Knowledge(actor=ACTOR)
OUTDATED: Final = Knowledge(actor=ACTOR, rows=[KnownVersion(version=version_of(b"old"), base=version_of(b"old"))])
SEEN: Final = seen_of(
    tree_of({"a": b"A", "b": b"B", "d": None, "d/x": b"X", "d/e": None, "e": None})
    | {"link": Entry("symlink", b"a", None), "pipe": Entry("other", None, None)}
)


def move(
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
    "move nothing": ("FILE_NOT_FOUND", partial(move, "n", "m")),
    "move onto a file": ("FILE_EXISTS", partial(move, "a", "b")),
    "move onto a folder": ("IS_A_DIRECTORY", partial(move, "a", "d", overwrite=True)),
    "move a folder onto a file": ("FILE_EXISTS", partial(move, "d", "a", overwrite=True)),
    "move a folder into itself": ("INVALID_ARGUMENT", partial(move, "d", "d/n")),
    "move below a file": ("NOT_A_DIRECTORY", partial(move, "b", "a/n")),
    "move below itself": ("INVALID_ARGUMENT", partial(move, "a", "a/n")),
    "move a link": ("SYMLINK_NOT_ALLOWED", partial(move, "link", "n")),
    "move onto a link": ("SYMLINK_NOT_ALLOWED", partial(move, "a", "link", overwrite=True, follow_symlinks=True)),
    "move a pipe": ("NOT_A_REGULAR_FILE", partial(move, "pipe", "n")),
    "move what others changed": ("VERSION_MISMATCH", partial(move, "a", "n", knowledge=(OUTDATED, NOBODY))),
    "cover what others changed": (
        "VERSION_MISMATCH",
        partial(move, "a", "b", overwrite=True, knowledge=(NOBODY, OUTDATED)),
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
        "VERSION_MISMATCH",
        partial(delete_folder, "d", versions={"d/e": None, "d/x": version_of(b"old")}),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused(case: str) -> None:
    code, decide = REFUSED[case]
    with pytest.raises(FileToolsError) as refusal:
        decide()
    assert refusal.value.code == code


A, B, D = map(WorkspacePath, ("a", "b", "d"))
N: Final = WorkspacePath("p/n")
MADE: Final[dict[str, tuple[Callable[[], Decided], Decided]]] = {
    "a file moves": (
        partial(move, "a", "p/n"),
        Decided(
            operations=(MakeFolder(path=N.parent), Move(path=A, to=N)),
            answer=MoveAnswer(source=A, destination=N, kind="file", version=version_of(b"A")),
        ),
    ),
    "a file covers another": (
        partial(move, "a", "b", overwrite=True),
        Decided(
            operations=(Remove(path=B), Move(path=A, to=B)),
            answer=MoveAnswer(
                source=A, destination=B, kind="file", version=version_of(b"A"), replaced_version=version_of(b"B")
            ),
        ),
    ),
    "a file stays": (
        partial(move, "a", "a"),
        Decided(answer=MoveAnswer(source=A, destination=A, kind="file", version=version_of(b"A"), unchanged=True)),
    ),
    "a folder moves": (
        partial(move, "d", "p/n"),
        Decided(
            operations=(MakeFolder(path=N.parent), Move(path=D, to=N)),
            answer=MoveAnswer(source=D, destination=N, kind="directory"),
        ),
    ),
    "a file is deleted": (
        partial(delete, "a", OUTDATED, expected=version_of(b"A")),
        Decided(
            operations=(Remove(path=A),), answer=DeleteAnswer(path=A, kind="file", version=version_of(b"A"))
        ),
    ),
    "a link is deleted": (
        partial(delete, "link", follow_symlinks=True),
        Decided(
            operations=(Remove(path=WorkspacePath("link")),),
            answer=DeleteAnswer(path=WorkspacePath("link"), kind="symlink"),
        ),
    ),
    "a folder is made": (
        partial(make_folder, "p/n"),
        Decided(
            operations=(MakeFolder(path=N.parent), MakeFolder(path=N)), answer=FolderAnswer(path=N, created=True)
        ),
    ),
    "a folder exists": (partial(make_folder, "d"), Decided(answer=FolderAnswer(path=D, created=False))),
    "an empty folder is deleted": (
        partial(delete_folder, "e", recursive=False),
        Decided(
            operations=(RemoveFolder(path=WorkspacePath("e")),),
            answer=DeleteAnswer(path=WorkspacePath("e"), kind="directory", below=[]),
        ),
    ),
    "a folder is deleted as it was seen": (
        partial(delete_folder, "d", versions={"d/e": None, "d/x": version_of(b"X")}),
        Decided(
            operations=(RemoveFolder(path=D),), answer=DeleteAnswer(path=D, kind="directory", below=SEEN.below["d"])
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MADE)
def test_it_is_decided(case: str) -> None:
    decide, expected = MADE[case]
    assert decide() == expected


def test_another_spelling_of_the_same_name_is_a_move_where_case_is_ignored() -> None:
    there = Standing(path=A, kind="file", version=version_of(b"A"), size=1)
    decided = move("a", "A", seen=Seen(standings={"a": there, "A": there}))
    assert decided.operations == (Move(path=A, to=WorkspacePath("A")),)
