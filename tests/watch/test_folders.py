"""Which folder a watch stands for, through renames and deletions."""

from __future__ import annotations

from filetools.watch.folders import FolderTree, WatchedFolder, below


def made() -> tuple[FolderTree, WatchedFolder, WatchedFolder]:
    tree = FolderTree(1)
    outer = tree.place(tree.root, "a", 2)
    return tree, outer, tree.place(outer, "b", 3)


def test_an_unknown_watch_is_no_folder() -> None:
    assert made()[0].find(9) is None


def test_a_moved_folder_takes_everything_below_it_along() -> None:
    tree, outer, inner = made()
    tree.move(outer, tree.root, "z")
    assert (outer.path, inner.path, tree.find(3)) == ("z", "z/b", inner)
    assert list(tree.root.children) == ["z"]


def test_a_watch_found_at_another_place_is_a_moved_folder() -> None:
    tree, _, inner = made()
    assert tree.place(tree.root, "b", 3) is inner
    assert inner.path == "b"


def test_what_stood_at_the_place_is_forgotten() -> None:
    tree, outer, _ = made()
    tree.place(tree.root, "a", 4)
    assert (tree.find(2), tree.find(3), outer.path) == (None, None, "a")


def test_removing_returns_every_watch_below() -> None:
    tree, outer, _ = made()
    assert sorted(tree.remove(outer)) == [2, 3]
    assert tree.watches() == {1}


def test_the_root_found_below_itself_stays_the_root() -> None:
    tree, outer, _ = made()
    assert tree.place(outer, "loop", 1) is tree.root
    assert tree.root.path == ""


def test_very_deep_trees_move() -> None:
    tree = FolderTree(0)
    folder = tree.root
    for number in range(1, 3000):
        folder = tree.place(folder, "d", number)
    top = tree.root.children["d"]
    tree.move(top, tree.root, "e")
    assert folder.path.startswith("e/d/")
    assert len(list(below(tree.root))) == 3000
