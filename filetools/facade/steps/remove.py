"""The step that deletes a file. Its content stays readable by version; an opaque file is moved to the trash."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import structs

from filetools.errors import PathNotFoundError
from filetools.facade.parts import Parts
from filetools.facade.steps.look import Look, keep_seen, known_version, look
from filetools.facade.steps.step import Step, put_back, sync_names
from filetools.journal.changes import Change
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Displaced

Permit = Callable[[Look], None]
"""Raises if the file must not be deleted as it is."""


class RemoveFile(Step):
    """Deletes one file."""

    def __init__(self, path: WorkspacePath, permit: Permit = lambda _: None, *, keeps_bytes: bool = True) -> None:
        """Prepare to delete a file.

        Args:
            path: The file.
            permit: Called with the look at the current file.
            keeps_bytes: False if the disk is full: bytes that the journal lacks stay in limbo, as a file, until they can be
                journaled.
        """
        super().__init__(path)
        self.path = path
        self._keeps_bytes = keeps_bytes
        self.permit = permit
        self.seen: Look
        """The look of the current try."""

    def look(self, parts: Parts) -> None:
        """Look at the current file."""
        seen = look(parts, self.path, takes_opaque=True)
        self.seen = seen if self._keeps_bytes else structs.replace(seen, content=None)
        self.looks = (self.seen,)

    def decide(self, parts: Parts) -> bool:
        """Refuse if the file does not exist or is not as expected."""
        if self.seen.stat is None:
            raise PathNotFoundError(self.path)
        self.permit(self.seen)
        return True

    def prepare(self, parts: Parts) -> None:
        """Keep the file's content."""
        if self._keeps_bytes and not self.seen.is_opaque:
            keep_seen(parts, self.seen)

    def drafts(self) -> Sequence[Change]:
        """The deletion."""
        return (
            Change(
                operation=Operation.DELETE,
                path=self.path,
                key=self.seen.key,
                before=None if self.seen.is_opaque else self.seen.version,
                before_unknown=self.seen.is_opaque,
                mode=None if self.seen.stat is None else self.seen.stat.mode,
            ),
        )

    def exchange(self, parts: Parts) -> None:
        """Remove the file from the tree; an opaque one is moved to the trash."""
        self._displaced = parts.store.remove(self.path, trash=str(self.number) if self.seen.is_opaque else None)

    def sync(self, parts: Parts) -> None:
        """For an opaque file, sync the trash first, so that a power cut never leaves it without a name."""
        if self.seen.is_opaque and self._displaced is not None:
            self._displaced.sync()
            sync_names(parts, self.path)

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """Records of a foreign save between look and removal: its version, then its deletion."""
        if self.seen.is_opaque:
            return ()  # the trash keeps the file
        gone_again = Change(operation=Operation.DELETE, path=self.path, key=self.seen.key, applied=True)
        return self._foreign_save(parts, self.seen, gone_again)

    def set_back(self, parts: Parts) -> None:
        """Put the file back, unless there is a new one."""
        assert self._displaced is not None
        put_back(self._displaced, lambda _: False)

    def compensations(self, parts: Parts) -> Sequence[Change]:
        """The record that sets back the head."""
        stat = self.seen.stat
        assert stat is not None
        return (
            Change(
                operation=Operation.CREATE,
                path=self.path,
                key=self.seen.key,
                after=known_version(self.seen),
                size=stat.size,
                mode=stat.mode,
                applied=True,
                compensates=self.number,
            ),
        )

    def finish(self, parts: Parts) -> None:
        """Discard the file if its bytes are kept; an opaque one stays in the trash."""
        if not self._keeps_bytes and self.seen.version and not parts.journal.contents.has(self.seen.version):
            self.shelve(parts)
        else:
            super().finish(parts)

    def _taken(self) -> Displaced | None:
        """Return the displaced file, unless it is opaque, since that one stays in the trash."""
        displaced = super()._taken()
        return None if displaced is None or self.seen.is_opaque else displaced
