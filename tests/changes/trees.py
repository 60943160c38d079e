"""Trees that decisions and overlays see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import pytest
from msgspec import Struct

from filetools.changes.overlay import Overlay, SeenPath
from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.models.words import EntryType
from filetools.paths.workspace_path import ROOT, WorkspacePath

FILE_MODE: Final = 0o644


class Entry(Struct, frozen=True):
    """What the model has at a path."""

    kind: EntryType
    content: bytes | None = None
    mode: int | None = FILE_MODE


Tree: TypeAlias = dict[str, Entry]


class Seen(Struct, frozen=True, kw_only=True):
    """What a call sees of a tree."""

    paths: Mapping[str, SeenPath]

    def at(self, path: str) -> SeenPath:
        """Return what is at a path."""
        return self.paths.get(path) or SeenPath(path=WorkspacePath(path))


Change: TypeAlias = Callable[[Overlay], None]


def put(where: str, content: bytes = b"new", mode: int | None = None) -> Change:
    return lambda overlay: overlay.put(WorkspacePath(where), content, mode=mode)


def move(where: str, to: str) -> Change:
    return lambda overlay: overlay.move(WorkspacePath(where), WorkspacePath(to))


def remove(where: str) -> Change:
    return lambda overlay: overlay.remove(WorkspacePath(where))


def make(where: str) -> Change:
    return lambda overlay: overlay.make_folder(WorkspacePath(where))


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


def seen_of(tree: Tree) -> Seen:
    """Return what a call sees of a tree."""
    all_of_it = [_seen_path(path, entry) for path, entry in sorted(tree.items())]
    return Seen(paths={each.path: each for each in all_of_it})


def overlay_on(seen: Seen, key: Callable[[WorkspacePath], str] = str) -> Overlay:
    """Return an overlay without changes; `key` gives the text that all spellings of a path share."""
    found = {key(WorkspacePath(path)): each for path, each in seen.paths.items()}
    inside: dict[str, list[SeenPath]] = {}
    for each in found.values():
        if each.kind is not None and each.path:
            inside.setdefault(key(each.path.parent), []).append(each)
    return Overlay(
        seen_path=lambda path: found.get(key(path)) or SeenPath(path=path),
        children=lambda path: inside.get(key(path), ()),
        key=key,
    )


def _seen_path(path: str, entry: Entry) -> SeenPath:
    content = entry.content
    version = None if content is None else version_of(content)
    return SeenPath(path=WorkspacePath(path), kind=entry.kind, version=version, mode=entry.mode, content=content)


def shown_by(overlay: Overlay) -> Tree:
    """Return the tree that an overlay shows; the mode of what it makes is None."""
    found: Tree = {}
    waiting = [(ROOT, overlay.root)]
    while waiting:
        folder, parent = waiting.pop()
        for node in overlay.children(parent):
            path, origin = folder.child(node.name), node.origin
            assert node.kind is not None
            content = origin.content if node.content is None and origin is not None else node.content
            mode = origin.mode if node.mode is None and origin is not None else node.mode
            found[path] = Entry(node.kind, content, mode)
            waiting += [(path, node)] if node.kind == "directory" else []
    return dict(sorted(found.items()))
