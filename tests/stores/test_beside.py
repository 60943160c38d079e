"""Temporary files that must stand beside their targets are found again after their maker's death."""

from __future__ import annotations

import os
from pathlib import Path

from filetools.paths.workspace import Workspace
from filetools.stores.local import LocalStore
from filetools.stores.private import foreign_name_for


def opened(root: Path) -> LocalStore:
    return LocalStore(Workspace.open(root), private_directory=root / ".filetools")


def handing_down(root: Path) -> Path:
    """A folder whose new files take its group, so that they must be made in it."""
    folder = root / "shared"
    folder.mkdir()
    folder.chmod(0o2775)
    return folder


def die_with_a_prepared_file(root: Path) -> None:
    child = os.fork()
    if child == 0:
        store = opened(root)
        store.prepare(Workspace.open(root).resolve("shared/a.txt"), b"half a thought", new=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_dead_process_leaves_nothing_beside_its_target(tmp_path: Path) -> None:
    folder = handing_down(tmp_path)
    die_with_a_prepared_file(tmp_path)
    assert len(list(folder.iterdir())) == 1
    store = opened(tmp_path)
    found = list(store.leftovers())
    assert [left.read() for left in found] == [b"half a thought"]
    for left in found:
        left.discard()
    assert list(folder.iterdir()) == []
    assert list(store.leftovers()) == []
    store.close()
    assert list((tmp_path / ".filetools/beside").iterdir()) == []


def test_a_file_in_the_trash_of_another_mount_is_no_leftover(tmp_path: Path) -> None:
    folder = handing_down(tmp_path)
    (folder / foreign_name_for("17")).write_text("kept")
    die_with_a_prepared_file(tmp_path)
    store = opened(tmp_path)
    assert [left.read() for left in store.leftovers()] == [b"half a thought"]
    store.close()


def test_the_trash_beside_a_folder_is_no_leftover(tmp_path: Path) -> None:
    folder = handing_down(tmp_path)
    (folder / ".ft-0123456789abcdef").mkdir()
    die_with_a_prepared_file(tmp_path)
    store = opened(tmp_path)
    for left in store.leftovers():
        left.discard()
    assert [place.name for place in folder.iterdir()] == [".ft-0123456789abcdef"]
    store.close()


def test_a_note_stays_until_a_sweep_after_its_store_was_closed(tmp_path: Path) -> None:
    handing_down(tmp_path)
    store = opened(tmp_path)
    prepared = store.prepare(Workspace.open(tmp_path).resolve("shared/a.txt"), b"1", new=True)
    assert len(list((tmp_path / ".filetools/beside").iterdir())) == 1
    prepared.discard()
    store.close()
    store.close()
    assert list(opened(tmp_path).leftovers()) == []
    assert list((tmp_path / ".filetools/beside").iterdir()) == []
