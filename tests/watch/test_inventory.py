"""The names in a tree: what is known, what is known to be absent, and what nobody has looked at."""

from __future__ import annotations

from filetools.watch.exclusion import Excluded
from filetools.watch.inventory import Inventory


def nothing(_path: str, _is_directory: bool) -> bool:
    return False


def inventory_of(excluded: Excluded = nothing) -> Inventory:
    inventory = Inventory(excluded, key=str.casefold)
    inventory.list_folder("", [("a", False), ("d", True), ("locked", True)])
    inventory.list_folder("d", [("x", False), ("e", True)])
    inventory.list_folder("d/e", [])
    return inventory


def test_what_was_listed_is_known_and_only_where_all_was_listed_the_rest_is_absent() -> None:
    inventory = inventory_of()
    paths = ("a", "A", "d", "d/x", "d/e", "b", "d/y", "d/e/z", "new/z", "a/b", "locked", "locked/z")
    assert {path: inventory.find(path) for path in paths} == {
        "a": "file",
        "A": "file",
        "d": "directory",
        "d/x": "file",
        "d/e": "directory",
        "b": "absent",
        "d/y": "absent",
        "d/e/z": "absent",
        "new/z": "absent",
        "a/b": "absent",
        "locked": "directory",
        "locked/z": "unknown",
    }


def test_of_what_is_excluded_nothing_is_known() -> None:
    inventory = inventory_of(lambda path, is_directory: path == "out" and is_directory)
    assert inventory.find("out/z") == "unknown"
    assert inventory.find("out") == "absent"


def test_a_moved_folder_takes_its_names_along_and_keeps_those_met_at_its_new_place() -> None:
    inventory = inventory_of()
    inventory.list_folder("f", [("z", False)])
    inventory.move("d", "f")
    found = {path: inventory.find(path) for path in ("d", "d/x", "f/x", "f/z", "f/e", "f/new")}
    assert found == {
        "d": "absent",
        "d/x": "absent",
        "f/x": "file",
        "f/z": "file",
        "f/e": "directory",
        "f/new": "absent",
    }
    inventory.move("nowhere", "a")
    assert inventory.find("a") == "file"


def test_what_is_dropped_is_absent_with_all_below_and_a_drop_makes_no_folders() -> None:
    inventory = inventory_of()
    inventory.drop("d")
    inventory.drop("d/x")
    assert [inventory.find(path) for path in ("d", "d/x")] == ["absent", "absent"]
    assert sorted(inventory.below("")) == [
        ("a", False),
        ("locked", True),
    ]


def test_a_folder_that_is_brought_back_has_what_it_had() -> None:
    inventory = inventory_of()
    inventory.drop("d/e")
    inventory.drop("d")
    inventory.bring_back("d/e")
    inventory.bring_back("d")
    inventory.bring_back("never")
    found = [inventory.find(path) for path in ("d", "d/x", "d/e", "d/new", "never", "never/x")]
    assert found == ["directory", "file", "directory", "absent", "directory", "unknown"]


def test_what_is_in_a_folder_that_nobody_was_told_of_is_new() -> None:
    inventory = inventory_of()
    inventory.add("made/by/agent.txt", is_directory=False)
    paths = ("made", "made/by", "made/by/agent.txt", "made/by/other.txt")
    assert [inventory.find(path) for path in paths] == ["absent", "absent", "file", "absent"]
    inventory.add("made", is_directory=True)
    assert [inventory.find(path) for path in paths[:2]] == ["directory", "absent"]


def test_folders_known_at_both_ends_of_a_move_have_the_names_of_both_at_any_depth() -> None:
    inventory = inventory_of()
    inventory.list_folder("d/e", [("y", False), ("deeper", True)])
    inventory.list_folder("f/e", [("z", False)])
    inventory.move("d", "f")
    found = {path: inventory.find(path) for path in ("f/x", "f/e/y", "f/e/deeper", "f/e/z", "f/e/new")}
    assert found == {
        "f/x": "file",
        "f/e/y": "file",
        "f/e/deeper": "directory",
        "f/e/z": "file",
        "f/e/new": "absent",
    }
