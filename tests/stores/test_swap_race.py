"""A process that keeps exchanging names never gets the store to act outside the root."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from filetools.errors import FileToolsError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local import LocalStore
from tests.support.dose import dose
from tests.support.swapper import INSIDE, OUTSIDE, Kind, Swapper, plant

TRIES = 50
RIVALS: list[tuple[Kind, int]] = [("absolute", 0), ("relative", 2), ("chain", 3), ("plain_file", 3), ("pipe", 3)]


def replace(store: LocalStore, path: WorkspacePath) -> None:
    prepared = store.prepare(path, INSIDE, new=False)
    try:
        displaced = prepared.exchange()
        assert displaced is not None
        assert displaced.read() == INSIDE
        displaced.discard()
    finally:
        prepared.discard()


def create_and_remove(store: LocalStore, path: WorkspacePath) -> None:
    new = path.parent.child("new")
    prepared = store.prepare(new, INSIDE, new=True)
    try:
        prepared.exchange()
        store.remove(new).discard()
    finally:
        prepared.discard()


def look(store: LocalStore, path: WorkspacePath) -> None:
    for content in (store.read(path)[0], (store.read_now(path, 1000) or (INSIDE,))[0]):
        assert content == INSIDE
    reader = store.open(path)
    assert reader.read_at(0, 1000) == INSIDE
    reader.close()


def list_folder(store: LocalStore, path: WorkspacePath) -> None:
    assert "secret" not in {entry.name for entry in store.scan(path.parent)}


def change_mode(store: LocalStore, path: WorkspacePath) -> None:
    store.set_mode(path, 0o600)


def make_and_move(store: LocalStore, path: WorkspacePath) -> None:
    made, moved = path.parent.child("made"), path.parent.child("moved")
    store.make_directory(made)
    store.move(made, moved)
    store.remove(moved).discard()


ACTS = [replace, create_and_remove, look, list_folder, change_mode, make_and_move]


@pytest.mark.parametrize(("kind", "position"), RIVALS, ids=[f"{kind}-{position}" for kind, position in RIVALS])
@pytest.mark.parametrize("resolver", ["auto", "walk"])
def test_nothing_outside_is_read_or_changed(tmp_path: Path, kind: Kind, position: int, resolver: str) -> None:
    tree = plant(tmp_path, kind, position)
    workspace = Workspace.open(tree.root, resolver="walk" if resolver == "walk" else "auto")
    store = LocalStore(workspace, private_directory=tree.root / ".filetools")
    outcomes: Counter[str] = Counter()
    with Swapper(tree):
        for _ in range(dose(TRIES)):
            for act in ACTS:
                outcomes[attempt(act, store, WorkspacePath(tree.path))] += 1
    tree.assert_outside_untouched()
    assert outcomes.total() == dose(TRIES) * len(ACTS)
    found = [left.read() for left in store.leftovers() if left.stat.type == "file"]
    assert OUTSIDE not in found
    store.close()
    workspace.close()


def test_what_a_stranger_exchanges_in_at_the_same_time_is_never_thrown_away(tmp_path: Path) -> None:
    """The link goes from name to name, also through our hidden places, but there is always one."""
    tree = plant(tmp_path, "absolute", 3)
    workspace = Workspace.open(tree.root)
    store = LocalStore(workspace, private_directory=tree.root / ".filetools")
    outcomes: Counter[str] = Counter()
    with Swapper(tree):
        for _ in range(dose(3 * TRIES)):
            outcomes[attempt(replace, store, WorkspacePath(tree.path))] += 1
    hidden = [found for name in ("tmp", "displaced") for found in (tree.root / ".filetools" / name).iterdir()]
    assert [found.is_symlink() for found in (tree.live, tree.twin, *hidden)].count(True) == 1, outcomes
    store.close()
    workspace.close()


def attempt(act: Callable[[LocalStore, WorkspacePath], None], store: LocalStore, path: WorkspacePath) -> str:
    try:
        act(store, path)
    except FileToolsError as exc:
        return exc.code
    return "done"
