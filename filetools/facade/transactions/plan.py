"""From what a transaction has made of its paths to the fewest steps that make it so: the net effect, one step a path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from filetools.content.version import version_of
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import MakeFolderStep
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.facade.transactions.overlay import TransactionOverlay
from filetools.facade.transactions.seen import (
    MoveSeenFolder,
    RemoveSeenFolder,
    SeenBelow,
    decide_put,
    permit_move,
    permit_removal,
)
from filetools.facade.transactions.states import Base, BufferedFolder, Original, PathState, Written, written
from filetools.facade.transactions.view import OverlayStore
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath


def plan(parts: Parts, overlay: TransactionOverlay, actor: Actor) -> list[Step]:
    """Return the steps of a transaction's exit: folders are made first and removed last. Call it in a worker thread.

    Args:
        parts: The workspace itself.
        overlay: What shall be.
        actor: Whose transaction it is.

    Raises:
        VersionMismatchError: Others have changed what the transaction moved, and its bytes are needed now.
        FileTooLargeError: They are needed, and too many.
    """
    with overlay.lock:
        return list(_Plan(parts, overlay, actor).steps())


class _Plan:
    """One planning. Paths that a step covers are taken out of what is left."""

    def __init__(self, parts: Parts, overlay: TransactionOverlay, actor: Actor) -> None:
        self._parts = parts
        self._actor = actor
        self._overlay = overlay
        self._left = {overlay.key(entry.path): entry for entry in overlay.entries}
        self._doomed: list[PathState] = []

    def steps(self) -> Iterator[Step]:
        """Yield the steps in their order."""
        removals = list(self._folder_removals())
        moves = list(self._folder_moves())
        yield from self._new_folders()
        yield from moves
        yield from self._file_moves()
        yield from self._files()
        yield from removals

    def _folder_removals(self) -> Iterator[Step]:
        """Folders that go with all that is in them. What they held and stands elsewhere is written there anew: after a
        crash its bytes must not depend on a folder that may be gone already."""
        for entry in list(self._left.values()):
            if self._is_gone_folder(entry) and not self._is_doomed(entry.path) and not self._moves_whole(entry):
                self._doomed.append(entry)
                yield RemoveSeenFolder(entry.path, self._seen_below(entry.path))
        for entry in list(self._left.values()):
            if entry.now is None and self._is_doomed(entry.path):
                del self._left[self._key(entry)]

    def _folder_moves(self) -> Iterator[Step]:
        for entry in list(self._left.values()):
            if (
                self._key(entry) not in self._left
                or not isinstance(entry.now, BufferedFolder)
                or entry.now.origin is None
            ):
                continue
            source = self._overlay.entry(entry.now.origin)
            if source is not None and self._key(source) in self._left and self._moves_to(source, entry):
                for one in (source, entry, *self._overlay.below(source.path), *self._overlay.below(entry.path)):
                    self._left.pop(self._key(one), None)
                yield MoveSeenFolder(source.path, entry.path, self._seen_below(source.path))

    def _new_folders(self) -> Iterator[Step]:
        for entry in list(self._left.values()):
            if isinstance(entry.now, BufferedFolder):
                del self._left[self._key(entry)]
                if entry.base.type is None:
                    yield MakeFolderStep(entry.path)

    def _file_moves(self) -> Iterator[Step]:
        for entry in list(self._left.values()):
            if not isinstance(entry.now, Original) or entry.base.type not in (None, "file"):
                continue
            source = self._left.get(self._overlay.key(entry.now.path))
            if source is None or source.now is not None:
                continue
            del self._left[self._key(source)], self._left[self._key(entry)]
            permit = partial(permit_move, self._parts, (source.base, entry.base))
            yield MoveFile(source.path, entry.path, overwrite=entry.base.type is not None, permit=permit)

    def _files(self) -> Iterator[Step]:
        for entry in self._left.values():
            if entry.now is None and entry.base.type is not None and entry.base.type != "directory":
                yield RemoveFile(entry.path, partial(permit_removal, self._parts, self._actor, entry.base))
            file = self._written(entry)
            if file is not None and _is_new(file, entry.base):
                decide = partial(decide_put, file=file, base=entry.base, is_strict=entry.is_strict, actor=self._actor)
                yield PutFile(entry.path, decide)

    def _written(self, entry: PathState) -> Written | None:
        """Return the bytes that an entry shall have; None if there is nothing to write."""
        if not isinstance(entry.now, Original):
            return entry.now if isinstance(entry.now, Written) else None
        if self._overlay.key(entry.now.path) == self._key(entry):
            return None  # moved away and back
        limit = self._parts.settings.max_write_bytes
        content, stat = OverlayStore(self._overlay).read(entry.path, limit=limit)
        return written(content, version_of(content), stat.mode)

    def _is_gone_folder(self, entry: PathState) -> bool:
        gone = entry.now is None and entry.base.type == "directory"
        return gone and not self._overlay.has_live_below(entry.path)

    def _is_doomed(self, path: WorkspacePath) -> bool:
        key = self._overlay.key(path)
        return any(key == above or key.startswith(f"{above}/") for above in map(self._key, self._doomed))

    def _moves_whole(self, source: PathState) -> bool:
        return any(
            isinstance(entry.now, BufferedFolder) and entry.now.origin == source.path and self._moves_to(source, entry)
            for entry in self._left.values()
        )

    def _moves_to(self, source: PathState, target: PathState) -> bool:
        """Whether a folder and all that was in it stand untouched under a new name, with nothing added."""
        if not self._is_gone_folder(source) or target.base.type is not None:
            return False
        below = [entry for entry in self._overlay.below(source.path) if entry.base.type is not None]
        wanted = {WorkspacePath(target.path + entry.path[len(source.path) :]): entry.path for entry in below}
        found = {entry.path: _origin(entry) for entry in self._overlay.below(target.path) if entry.now is not None}
        return wanted == found

    def _seen_below(self, path: WorkspacePath) -> SeenBelow:
        below = self._overlay.below(path)
        return {self._key(entry): entry.base.stat for entry in below if entry.base.stat is not None}

    def _key(self, entry: PathState) -> str:
        return self._overlay.key(entry.path)


def _is_new(file: Written, base: Base) -> bool:
    if file.version != base.version or base.stat is None:
        return True
    return file.mode is not None and file.mode != base.stat.mode


def _origin(entry: PathState) -> WorkspacePath | None:
    if isinstance(entry.now, Original):
        return entry.now.path
    return entry.now.origin if isinstance(entry.now, BufferedFolder) else None
