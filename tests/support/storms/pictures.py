"""Pictures of one tree: the disk's, the feed's, a mirror's and an editor's."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from filetools.content.version import version_of
from filetools.editors.tree_state import TreeState
from filetools.models.records import ChangeRecord, Operation, RecordState

HIDDEN = (".filetools", ".git")


@dataclass(frozen=True, slots=True)
class Node:
    """What stands at one path: a folder where there is no version."""

    version: str | None = None
    mode: int | None = None


Picture = dict[str, Node]


def on_disk(root: Path) -> Picture:
    """Return all files and folders below a root, without the state directory and git's. Raises OSError while they move."""
    found: Picture = {}
    for folder, folders, files in os.walk(root, onerror=_raise):
        folders[:] = sorted(name for name in folders if name not in HIDDEN)
        above = Path(folder)
        for name in folders:
            found[(above / name).relative_to(root).as_posix()] = Node()
        for name in files:
            place = above / name
            mode = stat.S_IMODE(place.stat().st_mode)
            found[place.relative_to(root).as_posix()] = Node(version_of(place.read_bytes()), mode)
    return found


def _raise(error: OSError) -> None:
    raise error


def replayed(start: Picture, records: Iterable[ChangeRecord]) -> tuple[Picture, list[str]]:
    """Apply a feed to a picture; returns the end and each record that did not fit what stood there."""
    tree, faults = dict(start), []
    for record in records:
        if record.state in (RecordState.ABORTED, RecordState.BUFFER):
            continue
        fault = _apply(tree, record)
        if fault:
            faults.append(f"{record.number} {record.operation} {record.old_path or ''} {record.path}: {fault}")
    return tree, faults


def _apply(tree: Picture, record: ChangeRecord) -> str | None:
    path, here = record.path, tree.get(record.path)
    match record.operation:
        case Operation.LINK | Operation.MODIFY_DIRECTORY:
            return None
        case Operation.CREATE_DIRECTORY:
            tree[path] = Node()
            return None if here is None else "something stood there"
        case Operation.DELETE_DIRECTORY:
            for below in _within(tree, path):
                del tree[below]
            return None if here is not None and here.version is None else "no folder stood there"
        case Operation.DELETE:
            tree.pop(path, None)
            return None if here is not None and here.version is not None else "no file stood there"
        case Operation.MOVE | Operation.MOVE_DIRECTORY:
            return _move(tree, record)
        case _:
            known = None if here is None else here.mode
            tree[path] = Node(record.after, known if record.mode is None else record.mode)
            is_there = here is not None and here.version is not None
            return None if is_there == (record.operation == Operation.MODIFY) else "told as what it was not"


def _move(tree: Picture, record: ChangeRecord) -> str | None:
    old = record.old_path or ""
    moved = {path: tree.pop(path) for path in _within(tree, old)}
    if not moved:
        return "nothing stood there"
    # A move replaces one file, or an empty folder, or the folders that have held what is moved.
    replaced = _within(tree, record.path)
    for path in replaced:
        del tree[path]
    tree.update((record.path + path[len(old) :], node) for path, node in moved.items())
    if record.operation == Operation.MOVE:
        mode = moved[old].mode if record.mode is None else record.mode
        tree[record.path] = Node(record.after or moved[old].version, mode)
    spared = [path for path in replaced if path != record.path and not old.startswith(f"{path}/")]
    return "what it replaced was not empty" if spared else None


def _within(tree: Picture, folder: str) -> list[str]:
    return [path for path in tree if path == folder or path.startswith(f"{folder}/")]


def shown_by(tree: TreeState) -> dict[str, bool]:
    """Return path and whether it is a folder, as an editor's tree shows them."""
    return {entry.path: entry.type == "directory" for entry in tree.entries() if entry.path.split("/")[0] not in HIDDEN}


def differences(name: str, picture: Picture, disk: Picture) -> list[str]:
    """Return where a picture is not the disk's, one line a path."""
    paths = sorted(picture.keys() | disk.keys())
    return [
        f"{name} at {path}: {_short(picture.get(path))}, on disk {_short(disk.get(path))}"
        for path in paths
        if picture.get(path) != disk.get(path)
    ]


def _short(node: Node | None) -> str:
    if node is None:
        return "nothing"
    return "a folder" if node.version is None else f"{node.version[7:15]} {node.mode or 0:o}"
