"""A small model of a file tree, which applies operations as a disk does, and random trees and operations for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import pytest
from msgspec import Struct

from filetools.changes.operations import (
    Link,
    MakeFolder,
    Move,
    Put,
    Remove,
    RemoveFolder,
    SeenPath,
    TreeOperation,
)
from filetools.changes.overlay import BaseTree, Overlay, content_in
from filetools.changes.planner import plan
from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.models.words import EntryType
from filetools.paths.workspace_path import ROOT, WorkspacePath

FILE_MODE: Final = 0o644
NAMES: Final = "abcd"


class Entry(Struct, frozen=True):
    """What the model has at a path."""

    kind: EntryType
    content: bytes | None = None
    mode: int | None = FILE_MODE


Tree: TypeAlias = dict[str, Entry]


class Seen(Struct, frozen=True, kw_only=True):
    """What a call sees of a tree."""

    paths: Mapping[str, SeenPath]
    kept: Callable[[str], bytes | None] = lambda _version: None
    """Reads the bytes of a version; None if they are not kept."""

    def at(self, path: str) -> SeenPath:
        """Return what is at a path."""
        return self.paths.get(path) or SeenPath(path=WorkspacePath(path))


class NotApplicableError(Exception):
    """Raised when a disk would refuse an operation."""


def put(where: str, content: bytes = b"new", mode: int | None = None) -> Put:
    return Put(path=WorkspacePath(where), content=content, mode=mode)


def move(where: str, to: str) -> Move:
    return Move(path=WorkspacePath(where), to=WorkspacePath(to))


def remove(where: str) -> Remove:
    return Remove(path=WorkspacePath(where))


def make(where: str, mode: int | None = None) -> MakeFolder:
    return MakeFolder(path=WorkspacePath(where), mode=mode)


def remove_folder(where: str) -> RemoveFolder:
    return RemoveFolder(path=WorkspacePath(where))


def refusal_of(decide: Callable[[], object]) -> FileToolsError:
    """Return what a decision is refused with."""
    with pytest.raises(FileToolsError) as refusal:
        decide()
    return refusal.value


def tree_of(files: Mapping[str, bytes | None]) -> Tree:
    """Return a tree of files, and of folders where the content is None."""
    return {
        path: Entry("directory", None, 0o755) if content is None else Entry("file", content)
        for path, content in files.items()
    }


def seen_of(tree: Tree, *, with_content: bool = True, kept: Sequence[bytes] = ()) -> Seen:
    """Return what a call sees of a tree if it asks for everything, and for the versions of some kept contents."""
    all_of_it = [_seen_path(path, entry, with_content) for path, entry in sorted(tree.items())]
    return Seen(
        paths={each.path: each for each in all_of_it},
        kept={version_of(content): content for content in kept}.get,
    )


def base_tree(seen: Seen, key: Callable[[WorkspacePath], str] = str) -> BaseTree:
    """Return the tree that a decision sees; `key` gives the text that all spellings of a path share."""
    found = {key(WorkspacePath(path)): each for path, each in seen.paths.items()}
    inside: dict[str, list[SeenPath]] = {}
    for each in found.values():
        if each.kind is not None and each.path:
            inside.setdefault(key(each.path.parent), []).append(each)
    return BaseTree(
        seen_path=lambda path: found.get(key(path)) or SeenPath(path=path),
        children=lambda path: inside.get(key(path), ()),
        content=partial(content_in, kept=seen.kept),
        key=key,
    )


def planned(seen: Seen, operations: Iterable[TreeOperation]) -> list[TreeOperation]:
    """Return the plan of operations of which each is applied to what those before it leave."""
    overlay = Overlay(base_tree(seen))
    for operation in operations:
        overlay.apply(operation)
    return plan(overlay)


def _seen_path(path: str, entry: Entry, with_content: bool) -> SeenPath:
    content = entry.content
    return SeenPath(
        path=WorkspacePath(path),
        kind=entry.kind,
        version=None if content is None else version_of(content),
        size=None if content is None else len(content),
        mode=entry.mode,
        content=content if with_content else None,
    )


def shown_by(overlay: Overlay) -> Tree:
    """Return the tree that an overlay shows; the mode of what it makes is None."""
    return {
        each.path: Entry(each.kind, overlay.content(each.path), each.mode)
        for each in overlay.below(ROOT)
        if each.kind is not None
    }


def is_like(tree: Tree, expected: Tree) -> bool:
    """Whether a tree is the expected one; an expected mode of None is any."""
    return tree.keys() == expected.keys() and all(
        (entry.kind, entry.content) == (expected[path].kind, expected[path].content)
        and expected[path].mode in (None, entry.mode)
        for path, entry in tree.items()
    )


def perform(tree: Tree, operation: TreeOperation, *, makes_parents: bool = False) -> None:
    """Apply an operation to a tree as a disk does.

    Raises:
        NotApplicableError: The disk would refuse it.
    """
    made = operation.to if isinstance(operation, Move) else operation.path
    before = tree.get(operation.path)
    kind = None if before is None else before.kind
    match operation:
        case Put():
            _require(kind in (None, "file"))
            mode = (FILE_MODE if before is None else before.mode) if operation.mode is None else operation.mode
            change: Tree = {made: Entry("file", operation.content, mode)}
        case Link():
            _require(kind in (None, "symlink"))
            change = {made: Entry("symlink", operation.target, None)}
        case MakeFolder():
            _require(kind in (None, "directory"))
            mode = (0o755 if before is None else before.mode) if operation.mode is None else operation.mode
            change = {made: Entry("directory", None, mode)}
        case Move():
            _require(kind is not None and made not in tree and not made.is_below(operation.path))
            change = {made + path[len(operation.path) :]: tree[path] for path in _with_below(tree, operation.path)}
        case Remove() | RemoveFolder():
            _require(kind is not None and (kind == "directory") is isinstance(operation, RemoveFolder))
            change = {}
    missing = [folder for folder in made.folders if folder not in tree]
    _require(makes_parents or not missing or not change)
    _require(all(tree[folder].kind == "directory" for folder in made.folders if folder in tree))
    if not isinstance(operation, Put | Link | MakeFolder):
        for path in _with_below(tree, operation.path):
            del tree[path]
    tree |= {folder: Entry("directory", None, 0o755) for folder in missing} | change


def _require(is_fine: bool) -> None:
    if not is_fine:
        raise NotApplicableError


def _with_below(tree: Tree, folder: str) -> list[str]:
    return [path for path in tree if path == folder or path.startswith(f"{folder}/")]


def random_path(choose: random.Random) -> WorkspacePath:
    return WorkspacePath("/".join(choose.choices(NAMES, k=choose.choice((1, 1, 2, 2, 3)))))


def random_tree(choose: random.Random) -> Tree:
    """Return some files, links, folders and pipes, up to four deep."""
    tree: Tree = {}
    for _ in range(choose.randrange(12)):
        try:
            perform(tree, _random_making(choose, random_path(choose)), makes_parents=True)
        except NotApplicableError:
            continue
    return tree


def random_operation(choose: random.Random, tree: Tree) -> TreeOperation:
    """Return an operation that has a fair chance to be one that the tree takes."""
    known = [WorkspacePath(path) for path in tree] or [random_path(choose)]
    path = choose.choice(known) if choose.random() < 0.7 else random_path(choose)
    kind = choose.choice(("move", "move", "move", "remove", "remove", "make"))
    entry = tree.get(path)
    if kind == "move":
        to = choose.choice(known).parent if choose.random() < 0.5 else random_path(choose)
        return Move(path=path, to=to.child(choose.choice(NAMES)))
    if kind == "remove":
        is_folder = entry is not None and entry.kind == "directory"
        return RemoveFolder(path=path) if is_folder else Remove(path=path)
    return _random_making(choose, path)


def _random_making(choose: random.Random, path: WorkspacePath) -> TreeOperation:
    content = choose.choice((b"1", b"2", b"3"))
    match choose.randrange(8):
        case 0 | 1:
            return MakeFolder(path=path, mode=choose.choice((None, 0o700)))
        case 2:
            return Link(path=path, target=content)
        case _:
            return Put(path=path, content=content, mode=choose.choice((None, None, FILE_MODE, 0o755)))
