"""What an overlay shows after some changes."""

from __future__ import annotations

from typing import Final

import pytest

from filetools.changes.overlay import BaseTree, Overlay
from filetools.changes.seen_path import SeenPath
from filetools.paths.workspace_path import WorkspacePath
from tests.changes.trees import (
    Change,
    Entry,
    base_tree,
    make,
    move,
    put,
    refusal_of,
    remove,
    remove_folder,
    seen_of,
    shown_by,
    tree_of,
)  # fmt: skip

TREE: Final = tree_of({"a": b"A", "d": None, "d/x": b"X", "d/e": None}) | {"l": Entry("symlink", b"a", None)}


def path(text: str) -> WorkspacePath:
    return WorkspacePath(text)


def overlay_with(*changes: Change) -> Overlay:
    overlay = Overlay(base_tree(seen_of(TREE)))
    for change in changes:
        change(overlay)
    return overlay


REFUSED: Final[dict[str, tuple[str, Change]]] = {
    "the root": ("INVALID_ARGUMENT", remove_folder("")),
    "write a folder": ("IS_A_DIRECTORY", put("d")),
    "write a link": ("SYMLINK_NOT_ALLOWED", put("l")),
    "write below a file": ("NOT_A_DIRECTORY", put("a/n")),
    "make a folder over a file": ("FILE_EXISTS", make("a")),
    "remove nothing": ("FILE_NOT_FOUND", remove("n")),
    "remove a folder as a file": ("IS_A_DIRECTORY", remove("d")),
    "remove no folder": ("DIR_NOT_FOUND", remove_folder("n")),
    "remove a file as a folder": ("NOT_A_DIRECTORY", remove_folder("a")),
    "move nothing": ("FILE_NOT_FOUND", move("n", "m")),
    "move onto something": ("FILE_EXISTS", move("a", "d")),
    "move into itself": ("INVALID_ARGUMENT", move("d", "d/e/d")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_change_is_refused_and_changes_nothing(case: str) -> None:
    code, change = REFUSED[case]
    overlay = overlay_with()
    assert (refusal_of(lambda: change(overlay)).code, shown_by(overlay)) == (code, TREE)


def test_what_is_below_a_moved_folder_is_seen_at_its_new_place() -> None:
    overlay = overlay_with(move("d", "p/d"), put("p/d/x", b"new"), remove("a"))
    folder = TREE["d"]
    assert shown_by(overlay) == {
        "l": TREE["l"], "p": Entry("directory", None, None), "p/d": folder, "p/d/e": folder,
        "p/d/x": Entry("file", b"new"),
    }  # fmt: skip
    assert overlay.find(path("d/x")) is None


def test_a_folder_that_is_made_again_is_empty() -> None:
    overlay = overlay_with(remove_folder("d"), make("d", 0o700))
    assert shown_by(overlay) == {"a": TREE["a"], "d": Entry("directory", None, 0o700), "l": TREE["l"]}


def test_only_what_is_asked_for_is_read() -> None:
    read: list[str] = []

    def seen_path(where: WorkspacePath) -> SeenPath:
        read.append(where)
        return seen_of(TREE).at(where)

    overlay = Overlay(BaseTree(seen_path=seen_path, children=lambda _: []))
    put("d/n")(overlay)
    assert read == ["d/n", "d"]


def test_changes_since_a_save_are_undone() -> None:
    overlay = overlay_with(move("d", "p/d"), put("a", b"B"))
    kept = shown_by(overlay)
    overlay.save()
    for change in (put("p/d/x"), remove_folder("p"), put("p/n/m"), move("a", "d"), make("e")):
        change(overlay)
    overlay.restore()
    assert shown_by(overlay) == kept


def test_a_path_may_have_more_parts_than_python_has_frames() -> None:
    deep = path("/".join(["x"] * 1100))
    overlay = overlay_with(put(deep))
    assert deep in shown_by(overlay)
