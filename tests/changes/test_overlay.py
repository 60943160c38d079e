"""What an overlay shows after some operations."""

from __future__ import annotations

from typing import Final

import pytest

from filetools.changes.overlay import BaseTree, Overlay, base_tree
from filetools.changes.planner import plan
from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.writer.operations import (
    Link,
    MakeFolder,
    Move,
    Put,
    Remove,
    RemoveFolder,
    Seen,
    Standing,
    TreeOperation,
)
from tests.changes.trees import Entry, seen_of, shown_by, tree_of

TREE: Final = tree_of({"a": b"A", "d": None, "d/x": b"X", "d/e": None}) | {"l": Entry("symlink", b"a", None)}


def path(text: str) -> WorkspacePath:
    return WorkspacePath(text)


def overlay_with(*operations: TreeOperation) -> Overlay:
    overlay = Overlay(base_tree(seen_of(TREE)))
    for operation in operations:
        overlay.apply(operation)
    return overlay


REFUSED: Final[dict[str, tuple[str, TreeOperation]]] = {
    "the root": ("INVALID_ARGUMENT", RemoveFolder(path=ROOT)),
    "write a folder": ("IS_A_DIRECTORY", Put(path=path("d"), content=b"")),
    "write a link": ("SYMLINK_NOT_ALLOWED", Put(path=path("l"), content=b"")),
    "write below a file": ("NOT_A_DIRECTORY", Put(path=path("a/n"), content=b"")),
    "make a folder over a file": ("FILE_EXISTS", MakeFolder(path=path("a"))),
    "make a link over a file": ("FILE_EXISTS", Link(path=path("a"), target=b"d")),
    "remove nothing": ("FILE_NOT_FOUND", Remove(path=path("n"))),
    "remove a folder as a file": ("IS_A_DIRECTORY", Remove(path=path("d"))),
    "remove no folder": ("DIR_NOT_FOUND", RemoveFolder(path=path("n"))),
    "remove a file as a folder": ("NOT_A_DIRECTORY", RemoveFolder(path=path("a"))),
    "move nothing": ("FILE_NOT_FOUND", Move(path=path("n"), to=path("m"))),
    "move onto something": ("FILE_EXISTS", Move(path=path("a"), to=path("d"))),
    "move into itself": ("INVALID_ARGUMENT", Move(path=path("d"), to=path("d/e/d"))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_operation_is_refused_and_changes_nothing(case: str) -> None:
    code, operation = REFUSED[case]
    overlay = overlay_with()
    with pytest.raises(FileToolsError) as refusal:
        overlay.apply(operation)
    assert (refusal.value.code, shown_by(overlay)) == (code, TREE)


def test_what_is_below_a_moved_folder_is_seen_at_its_new_place() -> None:
    overlay = overlay_with(
        Move(path=path("d"), to=path("p/d")), Put(path=path("p/d/x"), content=b"new"), Remove(path=path("a"))
    )
    assert overlay.standing(path("p/d/x")) == Standing(
        path=path("p/d/x"), kind="file", version=version_of(b"new"), size=3, mode=0o644, number=1, content=b"new"
    )
    assert [each.path for each in overlay.below(ROOT)] == ["l", "p", "p/d", "p/d/e", "p/d/x"]
    assert overlay.standing(path("d/x")) == Standing(path=path("d/x"))


def test_a_folder_that_is_made_again_is_empty() -> None:
    overlay = overlay_with(RemoveFolder(path=path("d")), MakeFolder(path=path("d"), mode=0o700))
    assert overlay.below(path("d")) == []
    assert overlay.standing(path("d")) == Standing(path=path("d"), kind="directory", mode=0o700)


def test_bytes_of_a_version_that_the_call_asked_for_are_found() -> None:
    there = Standing(path=path("a"), kind="file", version=version_of(b"A"))
    overlay = Overlay(base_tree(Seen(standings={"a": there}, contents={version_of(b"A"): b"A"})))
    overlay.apply(Move(path=path("a"), to=path("b")))
    assert overlay.content(path("b")) == b"A"


def test_only_what_is_asked_for_is_read() -> None:
    read: list[str] = []

    def standing(where: WorkspacePath) -> Standing:
        read.append(where)
        return seen_of(TREE).at(where)

    overlay = Overlay(BaseTree(standing=standing, below=lambda _: [], content=lambda _: None))
    overlay.apply(Put(path=path("d/n"), content=b""))
    assert read == ["d", "d/n", "d"]


def test_a_path_may_have_more_parts_than_python_has_frames() -> None:
    deep = path("/".join(["x"] * 1500))
    overlay = overlay_with(Put(path=deep, content=b""))
    assert (overlay.below(deep.parent)[0].path, len(plan(overlay))) == (deep, 1500)
