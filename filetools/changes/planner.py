"""From an overlay to the fewest operations that make the tree so, in an order in which each can be applied.

A file or a folder that has moved is renamed, as long as it does not lie below a folder that is removed and no two names
take each other's place. What cannot be renamed is written anew: its bytes are in the operation, so that after a crash they
do not depend on a file that may be gone by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from filetools.changes.operations import Link, MakeFolder, Move, Put, Remove, RemoveFolder, TreeOperation
from filetools.changes.overlay import BaseTree, Overlay, OverlayNode, content_of, explicit_nodes
from filetools.content.version import version_of
from filetools.errors import NotRegularFileError, VersionGoneError
from filetools.paths.workspace_path import WorkspacePath


def plan(
    overlay: Overlay, may_rename: Callable[[WorkspacePath, OverlayNode], bool] = lambda _path, _node: True
) -> list[TreeOperation]:
    """Return the operations that turn an overlay's base into what the overlay shows; the overlay stays as it is.

    Parents come before what is in them, then renames, then new contents, then removals, those of folders last; what is in
    the way of something of another kind is removed right before that is made.

    Args:
        overlay: What is wanted. The bytes of a file that has moved out of a removed folder should be there; if they are
            not, it is renamed before the folder is removed.
        may_rename: False for what has moved to a path and is to be written there anew.

    Raises:
        VersionGoneError: Bytes that must be written anew cannot be had.
        NotRegularFileError: A device, pipe or socket must be made anew.
    """
    planning = _Planning(overlay, may_rename)
    planning.rename()
    planning.make()
    return planning.operations


class _Planning:
    """One planning. It applies each operation to an overlay of its own, which therefore is the tree at that step."""

    def __init__(self, overlay: Overlay, may_rename: Callable[[WorkspacePath, OverlayNode], bool]) -> None:
        self.operations: list[TreeOperation] = []
        self._base: BaseTree = overlay.base
        self._may_rename = may_rename
        self._now = Overlay(overlay.base)
        self._wanted = Overlay(overlay.base)
        self._targets: dict[str, WorkspacePath] = {}
        """By path of the base: where a file or folder shall be that does not show through."""
        self._pending: dict[str, tuple[WorkspacePath, OverlayNode]] = {}
        """By path of the base: what has not got its new name yet."""
        self._moved_folders: list[Move] = []
        for path, node, _ in explicit_nodes(overlay):
            self._wanted.place(path, replace(node, children={}))

    def rename(self) -> None:
        """Plan the renames, and decide what is written anew."""
        while anew := self._doomed() or self._rename_all():
            for path, node in anew:
                _write_anew(self._wanted, path, node)
            # From the start: what was renamed out of a folder may have to be written anew by now.
            self.operations, self._now = [], Overlay(self._base)
            self._moved_folders = []

    def make(self) -> None:
        """Plan everything else."""
        gone: list[tuple[WorkspacePath, OverlayNode]] = []
        for path, node, _ in list(explicit_nodes(self._wanted)):
            now = self._now.find(path)
            if node.kind is None:
                gone += [] if now is None else [(path, now)]
                continue
            if now is not None and now.kind == node.kind and now.name != node.name:
                self._do(Move(path=path.parent.child(now.name), to=path))
            if node.kind == "directory":
                self._make_folder(path, node)
                if now is not None and now.kind == "directory" and node.origin is None:
                    inside = (child for child in self._now.children(now))
                    left = [child for child in inside if self._wanted.fold(path.child(child.name)) not in node.children]
                    gone += [(path.child(child.name), child) for child in left]
            elif node.content is not None:
                self._give(path, node, node.content)
        for is_folder in (False, True):
            for path, now in gone:
                if (now.kind == "directory") is is_folder:
                    self._clear(path)

    def _doomed(self) -> list[tuple[WorkspacePath, OverlayNode]]:
        """Return what must be written anew, and can be: it may not be renamed, or a folder that held it is removed."""
        self._targets, self._pending = {}, {}
        for path, node, parent in explicit_nodes(self._wanted):
            if node.kind is None or node.origin is None:
                continue
            self._targets[node.origin.path] = path
            has_moved = parent.origin is None or node.origin.path != parent.origin.path.child(node.name)
            if has_moved:
                self._pending[node.origin.path] = (path, node)
        return [
            (path, node)
            for origin, (path, node) in self._pending.items()
            if not self._may_rename(path, node)
            or (
                self._survivor(WorkspacePath(origin).parent) is None
                and (node.kind == "directory" or content_of(self._base, node) is not None)
            )
        ]

    def _rename_all(self) -> list[tuple[WorkspacePath, OverlayNode]]:
        """Rename what can be renamed; return what waits for each other."""
        waiting: list[str] = []
        stuck: set[str] = set()
        for origin in list(self._pending):
            stack = [origin] if origin in self._pending else []
            while stack:
                blocker = self._blocker(*self._pending[stack[-1]])
                if blocker is None:
                    self._rename(*self._pending.pop(stack.pop()))
                elif blocker in stack or blocker in stuck:
                    waiting += stack[stack.index(blocker) :] if blocker in stack else []
                    stuck.update(stack)
                    break
                else:
                    stack.append(blocker)
        return [self._pending[each] for each in waiting]

    def _blocker(self, path: WorkspacePath, node: OverlayNode) -> str | None:
        """Return the origin of something that must be renamed first."""
        for at in path.folders:
            for found in (self._wanted.find(at), self._now.find(at)):
                if found is not None and (origin := _origin(found)) in self._pending:
                    return origin
        now = self._now.find(path)
        if now is None or (origin := _origin(now)) == _origin(node):
            return None
        if origin in self._pending or now.kind != "directory":
            return origin if origin in self._pending else None
        # Whatever leaves a folder leaves it before the folder is removed.
        return next((each for each in self._pending if _after(self._moved_folders, each).is_below(path)), None)

    def _rename(self, path: WorkspacePath, node: OverlayNode) -> None:
        assert node.origin is not None
        for at in path.folders:
            folder = self._wanted.find(at)
            assert folder is not None
            self._make_folder(at, folder)
        now = self._now.find(path)
        if now is not None and _origin(now) != node.origin.path:
            self._clear(path)
        move = Move(path=_after(self._moved_folders, node.origin.path), to=path)
        if move.path == path:
            return  # away and back, into a folder that was made again
        self._do(move)
        if node.kind == "directory":
            self._moved_folders.append(move)

    def _survivor(self, folder: WorkspacePath) -> OverlayNode | None:
        """Return the node that a folder of the base becomes; None if it is removed."""
        survivor: OverlayNode | None = self._wanted.root
        for at in (*folder.folders, folder) if folder else ():
            target = self._targets.get(at)
            above, survivor = survivor, None if target is None else self._wanted.find(target)
            if survivor is None and above is not None:
                child = self._wanted.child(above, at.name, self._wanted.fold(at))
                is_own = child is not None and child.kind == "directory" and _origin(child) in (None, at)
                survivor = child if is_own else None
        return survivor

    def _make_folder(self, path: WorkspacePath, node: OverlayNode) -> None:
        now = self._now.find(path)
        if now is not None and now.kind != "directory":
            self._clear(path)
            now = None
        if now is None or node.mode not in (None, _mode(now)):
            self._do(MakeFolder(path=path, mode=node.mode))

    def _give(self, path: WorkspacePath, node: OverlayNode, content: bytes) -> None:
        """Plan the bytes of a file or the target of a link, unless they are there."""
        now = self._now.seen_path(path)
        is_same = now.kind == node.kind and now.version == version_of(content)
        if is_same and node.mode in (None, now.mode):
            return
        if now.kind not in (None, node.kind):
            self._clear(path)
        if node.kind == "symlink":
            self._do(Link(path=path, target=content))
        else:
            self._do(Put(path=path, content=content, mode=node.mode))

    def _clear(self, path: WorkspacePath) -> None:
        is_folder = self._now.seen_path(path).kind == "directory"
        self._do(RemoveFolder(path=path) if is_folder else Remove(path=path))

    def _do(self, operation: TreeOperation) -> None:
        self._now.apply(operation)
        self.operations.append(operation)


def _after(moves: Iterable[Move], origin: str) -> WorkspacePath:
    """Return where something is after renames of folders."""
    for move in moves:
        if origin == move.path or origin.startswith(f"{move.path}/"):
            origin = move.to + origin[len(move.path) :]
    return WorkspacePath(origin)


def _write_anew(wanted: Overlay, path: WorkspacePath, node: OverlayNode) -> None:
    """Want a node to be made in place of being renamed."""
    assert node.origin is not None
    mode = node.origin.mode if node.mode is None else node.mode
    made = OverlayNode(name=node.name, kind=node.kind, mode=mode)
    if node.kind == "directory":
        inside = {wanted.fold(path.child(each.name)): each for each in wanted.children(node)}
        wanted.place(path, replace(made, children=inside | node.children))
        return
    content = content_of(wanted.base, node)
    if node.kind == "other":
        raise NotRegularFileError(path)
    if content is None:
        raise VersionGoneError(path, str(node.origin.version))
    wanted.place(path, replace(made, content=content))


def _origin(node: OverlayNode) -> WorkspacePath | None:
    return None if node.origin is None else node.origin.path


def _mode(node: OverlayNode) -> int | None:
    return node.mode if node.mode is not None or node.origin is None else node.origin.mode
