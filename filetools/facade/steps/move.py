"""The step that moves a file. Content, mode and attributes do not change; a replaced destination is kept as a version."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from filetools.errors import (
    FileToolsError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
    SymlinkNotAllowedError,
)
from filetools.facade.parts import Parts
from filetools.facade.steps.look import Look, keep_seen, known_version, look, missing_parents
from filetools.facade.steps.step import Step, is_same_file, put_back, sync_names
from filetools.journal.changes import Change
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath

PermitMove = Callable[[Look, Look], None]
"""Raises if source or destination are not as expected."""


class MoveFile(Step):
    """Moves one file."""

    def __init__(
        self,
        source: WorkspacePath,
        destination: WorkspacePath,
        *,
        overwrite: bool,
        permit: PermitMove = lambda _source, _destination: None,
    ) -> None:
        super().__init__(source, destination)
        self.source = source
        self.destination = destination
        self._overwrite = overwrite
        self.permit = permit
        self.seen: tuple[Look, Look]
        """The current try's looks at source and destination."""

    def look(self, parts: Parts) -> None:
        """Look at source and destination."""
        if self.destination.is_below(self.source) or self.source.is_below(self.destination):
            raise InvalidArgumentError(
                f"Cannot move {self.source!r} to {self.destination!r}: one lies inside the other", path=self.source
            )
        ends = (self.source, self.destination)
        self.looks = self.seen = (look(parts, ends[0], takes_opaque=True), look(parts, ends[1], takes_opaque=True))

    def decide(self, parts: Parts) -> bool:
        """Refuse a missing source and a destination that must not be replaced."""
        source, destination = self.seen
        if source.stat is None:
            raise PathNotFoundError(self.source)
        if source.key == destination.key:
            return self.source != self.destination
        if destination.is_opaque and destination.stat is not None and destination.stat.type == "symlink":
            raise SymlinkNotAllowedError(self.destination, self.destination)
        if destination.stat is not None and not self._overwrite:
            raise PathExistsError(self.destination)
        self.permit(source, destination)
        self.missing = missing_parents(parts, self.destination)
        return True

    def prepare(self, parts: Parts) -> None:
        """Keep the content of the destination, and prepare missing parents."""
        keep_seen(parts, self.seen[1])
        super().prepare(parts)

    def drafts(self) -> Sequence[Change]:
        """The deletion of a replaced destination, and the move."""
        source, destination = self.seen
        move = Change(
            operation=Operation.MOVE,
            path=self.destination,
            key=destination.key,
            old_path=self.source,
            old_key=source.key,
            before=None if source.is_opaque else source.version,
            before_unknown=source.is_opaque,
            after=None if source.is_opaque else source.version,
            size=source.stat.size if source.stat is not None else None,
            mode=source.stat.mode if source.stat is not None else None,
        )
        if destination.stat is None or source.key == destination.key:
            return (move,)
        replaced = Change(
            operation=Operation.DELETE,
            path=destination.path,
            key=destination.key,
            before=destination.version,
            mode=destination.stat.mode,
        )
        return (replaced, move)

    def exchange(self, parts: Parts) -> None:
        """Rename the file."""
        may_replace = self._overwrite or self.seen[0].key == self.seen[1].key
        self._displaced = parts.store.move(self.source, self.destination, overwrite=may_replace)

    def sync(self, parts: Parts) -> None:
        """For an opaque file, sync the new name first, so that a power cut never leaves it without a name."""
        if self.seen[0].is_opaque:
            sync_names(parts, self.destination, self.source)

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """Records of a foreign save at the destination between look and exchange, which is kept as a version."""
        source, end = self.seen
        taken_ns = time.time_ns()
        with suppress(FileToolsError):  # only a cache, for which the rename has changed the ctime
            stat = parts.store.stat(self.destination)
            if stat is not None and source.facts is not None and is_same_file(parts, source, stat):
                parts.facts.put(stat.identity, source.facts, taken_ns=taken_ns)
        moved_again = Change(
            operation=Operation.MODIFY, path=end.path, key=end.key, after=source.version,
            size=None if source.stat is None else source.stat.size, applied=True,
        )  # fmt: skip
        return self._foreign_save(parts, end, moved_again)

    def set_back(self, parts: Parts) -> None:
        """Rename the file back and restore the replaced destination."""
        parts.store.move(self.destination, self.source)
        if self._displaced is not None:
            put_back(self._displaced, lambda _: False)

    def compensations(self, parts: Parts) -> Sequence[Change]:
        """Records that set back both heads, and the path of the source's open document."""
        source, destination = (_former(end, self.number) for end in self.seen)
        document = self.seen[0].view.document
        return (replace(source, returning=None if document is None else document.id), destination)


def _former(end: Look, compensates: int) -> Change:
    return Change(
        operation=Operation.DELETE if end.stat is None else Operation.CREATE if end.is_opaque else Operation.MODIFY,
        path=end.path,
        key=end.key,
        after=known_version(end),
        size=end.stat.size if end.stat is not None else None,
        mode=end.stat.mode if end.stat is not None else None,
        applied=True,
        compensates=compensates,
    )
