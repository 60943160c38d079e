"""What an overlay shows after some changes."""

from __future__ import annotations

from typing import Final

import pytest

from filetools.changes.overlay import Overlay, SeenPath
from filetools.paths.workspace_path import WorkspacePath
from tests.changes.trees import (
    Change,
    Entry,
    make,
    move,
    overlay_on,
    put,
    refusal_of,
    remove,
    seen_of,
    shown_by,
    tree_of,
)  # fmt: skip

TREE: Final = tree_of({"a": b"A", "d": None, "d/x": b"X", "d/e": None}) | {"l": Entry("symlink", b"a", None)}


def path(text: str) -> WorkspacePath:
    return WorkspacePath(text)


def overlay_with(*changes: Change) -> Overlay:
    overlay = overlay_on(seen_of(TREE))
    for change in changes:
        change(overlay)
    return overlay


REFUSED: Final[dict[str, tuple[str, Change]]] = {
    "write below a file": ("NOT_A_DIRECTORY", put("a/n")),
    "move nothing": ("FILE_NOT_FOUND", move("n", "m")),
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
    overlay = overlay_with(remove("d"), make("d"))
    assert shown_by(overlay) == {"a": TREE["a"], "d": Entry("directory", None, None), "l": TREE["l"]}


def test_only_what_is_asked_for_is_read() -> None:
    read: list[str] = []

    def seen_path(where: WorkspacePath) -> SeenPath:
        read.append(where)
        return seen_of(TREE).at(where)

    overlay = Overlay(seen_path, lambda _: [])
    put("d/n")(overlay)
    assert read == ["d/n", "d"]


def test_a_root_that_was_kept_shows_none_of_the_changes_since() -> None:
    overlay = overlay_with(move("d", "p/d"), put("a", b"B"))
    kept, root = shown_by(overlay), overlay.root
    for change in (put("p/d/x"), remove("p"), put("p/n/m"), move("a", "d"), make("e")):
        change(overlay)
    assert shown_by(overlay) != kept
    overlay.restore(root)
    assert shown_by(overlay) == kept


def test_a_path_may_have_more_parts_than_python_has_frames() -> None:
    deep = path("/".join(["x"] * 1100))
    overlay = overlay_with(put(deep))
    assert deep in shown_by(overlay)
