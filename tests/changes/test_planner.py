"""Plans of operations: the fewest, in an order in which each can be applied, and equal to what was wanted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import pytest

from filetools.changes.operations import MakeFolder, Move, Put, RemoveFolder, TreeOperation
from filetools.changes.overlay import Overlay
from filetools.changes.planner import plan
from filetools.errors import VersionGoneError
from tests.changes.trees import (
    NotApplicableError,
    Tree,
    base_tree,
    is_like,
    make,
    move,
    perform,
    planned,
    put,
    random_operation,
    random_tree,
    refusal_of,
    remove,
    remove_folder,
    seen_of,
    shown_by,
    tree_of,
)  # fmt: skip
from tests.support.dose import SEED, dose

LISTS: Final = 1000


FILES: Final = tree_of(
    {"a": b"A", "b": b"B", "c": b"C", "d": None, "d/x": b"X", "d/sub": None, "d/sub/y": b"Y", "g": None}
)

PLANS: Final[dict[str, tuple[Sequence[TreeOperation], Sequence[TreeOperation]]]] = {
    "written twice": ([put("n", b"1"), put("n", b"2")], [put("n", b"2")]),
    "made and removed": ([put("n"), remove("n")], []),
    "removed and made": ([remove("a"), put("a")], [put("a")]),
    "the same bytes": ([put("a", b"A", 0o644)], []),
    "another mode": ([put("a", b"A", 0o755)], [put("a", b"A", 0o755)]),
    "there and back": ([move("a", "n"), move("n", "a")], []),
    "a chain of moves": ([move("a", "n"), move("n", "m")], [move("a", "m")]),
    "moved and changed": ([move("a", "n"), put("n")], [move("a", "n"), put("n")]),
    "missing parents": ([put("p/q/n")], [make("p"), make("p/q"), put("p/q/n")]),
    "names shifted": ([remove("c"), move("b", "c"), move("a", "b")], [remove("c"), move("b", "c"), move("a", "b")]),
    "names shifted in a wrong order": (
        [move("a", "t"), move("b", "c2"), move("t", "b")],
        [move("b", "c2"), move("a", "b")],
    ),
    "two names exchanged": (
        [move("a", "t"), move("b", "a"), move("t", "b")],
        [put("a", b"B", 0o644), put("b", b"A", 0o644)],
    ),
    "a folder moved": ([move("d", "e"), put("e/n")], [move("d", "e"), put("e/n")]),
    "a folder removed whole": ([remove("d/x"), remove_folder("d")], [remove_folder("d")]),
    "saved from a removed folder": (
        [move("d/sub", "e"), remove_folder("d")],
        [make("e", 0o755), put("e/y", b"Y", 0o644), remove_folder("d")],
    ),
    "saved from a folder whose place another one takes": (
        [move("d/x", "n"), remove_folder("d"), move("g", "d")],
        [remove_folder("d"), move("g", "d"), put("n", b"X", 0o644)],
    ),
    "a folder in the place of a file": ([remove("a"), put("a/n")], [remove("a"), make("a"), put("a/n")]),
    "a file in the place of a folder": ([remove_folder("d"), put("d")], [remove_folder("d"), put("d")]),
    "a child in the place of its folder": (
        [move("d/x", "t"), remove_folder("d"), move("t", "d")],
        [remove_folder("d"), put("d", b"X", 0o644)],
    ),
    "a file moved below its own name": (
        [move("a", "t"), move("t", "a/n")],
        [remove("a"), make("a"), put("a/n", b"A", 0o644)],
    ),
    "a folder made again": ([remove_folder("d"), put("d/x", b"X")], [remove_folder("d/sub")]),
    "removals come last": ([remove_folder("d"), remove("a"), put("n")], [put("n"), remove("a"), remove_folder("d")]),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_has_the_fewest_operations_in_a_safe_order(name: str) -> None:
    wanted, expected = PLANS[name]
    assert planned(seen_of(FILES), wanted) == expected


def test_an_operation_that_cannot_be_applied_is_refused() -> None:
    assert refusal_of(lambda: planned(seen_of(FILES), [move("a", "b")])).code == "FILE_EXISTS"


def test_bytes_that_cannot_be_had_are_not_written_anew() -> None:
    exchange = [move("a", "t"), move("b", "a"), move("t", "b")]
    assert refusal_of(lambda: planned(seen_of(FILES, with_content=False), exchange)).code == "VERSION_GONE"


def test_a_file_without_bytes_leaves_a_folder_before_that_is_removed() -> None:
    wanted: list[TreeOperation] = [move("d/x", "n"), remove_folder("d"), move("a", "d")]
    assert planned(seen_of(FILES, with_content=False), wanted) == wanted


def test_names_that_differ_in_case_alone_are_one_where_case_is_ignored() -> None:
    overlay = Overlay(base_tree(seen_of(FILES), lambda each: each.lower()))
    for operation in (put("N"), put("n", b"2"), move("a", "A")):
        overlay.apply(operation)
    assert plan(overlay) == [move("a", "A"), put("N", b"2")]


def test_what_may_not_be_renamed_is_written_anew() -> None:
    overlay = Overlay(base_tree(seen_of(FILES)))
    for operation in (move("d", "e"), put("e/x"), move("a", "n")):
        overlay.apply(operation)
    made = [make("e", 0o755), make("e/sub", 0o755), put("e/x", b"new", 0o644), put("e/sub/y", b"Y", 0o644)]
    assert plan(overlay, lambda path, _: path != "e") == [move("a", "n"), *made, remove_folder("d")]


@pytest.mark.parametrize("with_content", [True, False])
def test_a_plan_makes_the_tree_that_the_overlay_shows(with_content: bool) -> None:
    for number in range(dose(LISTS if with_content else LISTS / 5)):
        wanted: list[TreeOperation] = []
        try:
            _plan_random_list(random.Random(f"{SEED} {number}"), wanted, with_content=with_content)
        except Exception as exc:
            exc.add_note(f"FILETOOLS_SEED={SEED}, list {number}: {wanted}")
            raise


def _plan_random_list(choose: random.Random, wanted: list[TreeOperation], *, with_content: bool) -> None:
    before = random_tree(choose)
    after, overlay = dict(before), Overlay(base_tree(seen_of(before)))
    for _ in range(choose.randrange(1, 9)):
        operation = random_operation(choose, after)
        if _is_taken(operation, after, overlay):
            wanted.append(operation)
    shown, without_content = shown_by(overlay), Overlay(base_tree(seen_of(before, with_content=False)))
    for operation in wanted:
        without_content.apply(operation)
    try:
        operations = plan(overlay if with_content else without_content)
    except VersionGoneError:
        assert not with_content
        return
    assert is_like(after, shown)
    assert _makes(before, operations, shown), operations
    written = {each.path for each in operations if isinstance(each, Put | MakeFolder)}
    for at, operation in enumerate(operations):
        # None is for nothing; but what was moved and then changed keeps its history.
        is_kept = isinstance(operation, Move) and operation.to in written
        assert is_kept or not _makes(before, operations[:at] + operations[at + 1 :], shown), (at, operations)
        # No file is renamed out of a folder that is removed later.
        later = [each.path for each in operations[at:] if isinstance(each, RemoveFolder) and with_content]
        assert not isinstance(operation, Move) or not any(map(operation.path.is_below, later)), operations


def _is_taken(operation: TreeOperation, tree: Tree, overlay: Overlay) -> bool:
    """Apply an operation to a tree and to an overlay, which must refuse the same ones."""
    made = dict(tree)
    try:
        perform(made, operation, makes_parents=True)
    except NotApplicableError:
        before = shown_by(overlay)
        refusal_of(lambda: overlay.apply(operation))
        assert shown_by(overlay) == before
        return False
    overlay.apply(operation)
    tree.clear()
    tree.update(made)
    return True


def _makes(tree: Tree, operations: Sequence[TreeOperation], expected: Tree) -> bool:
    made = dict(tree)
    try:
        for operation in operations:
            perform(made, operation)
    except NotApplicableError:
        return False
    return is_like(made, expected)
