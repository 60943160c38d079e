"""The steps that only undo and restore need: writing a read-only file, and restoring a folder from the trash."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from filetools.content.version import version_of
from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    FileToolsError,
)
from filetools.facade.parts import Parts
from filetools.facade.steps.look import missing_parents
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.step import Step, sync_names
from filetools.journal.changes import Change, Relation
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat

OWNER_WRITES: Final = 0o200


def opened(mode: int) -> int:
    """Return a folder's mode with all owner rights added, which changes inside it need."""
    return mode | 0o700


class PutBack(PutFile):
    """Gives a file its former bytes, even if it is read-only."""

    def prepare(self, parts: Parts) -> None:
        """Same as for other changes, but ignore a read-only bit: it may have been set after the change being undone."""
        stat = self.seen.stat
        if stat is None or stat.mode & OWNER_WRITES:
            super().prepare(parts)
            return
        with suppress(AccessDeniedError):  # the file belongs to another user
            parts.store.set_mode(self.path, stat.mode | OWNER_WRITES)
        try:
            super().prepare(parts)
        finally:
            with suppress(FileToolsError):
                parts.store.set_mode(self.path, stat.mode)


class RestoreFolder(Step):
    """Restores a folder from the trash with everything in it."""

    def __init__(self, path: WorkspacePath, trash: str, inside: Sequence[WorkspacePath]) -> None:
        """Restore a folder.

        Args:
            path: Where to restore it.
            trash: Its name in the trash.
            inside: The paths of everything in it.
        """
        super().__init__(path, *inside)
        self._path = path
        self._trash = trash
        self._changes: list[Change] = []

    def look(self, parts: Parts) -> None:
        """Look whether the path is free, and list the entries in the trash."""
        found = parts.store.trashed(self._path, self._trash)
        # Names that no call can address are restored without a record.
        self._entries = [each for each in found if parts.workspace.is_addressable(self._place(each[0]))]
        self._is_taken = parts.store.stat(self._path) is not None

    def decide(self, parts: Parts) -> bool:
        """Refuse if the path or the trash has changed since the undo was planned."""
        found = {self._place(relative) for relative, _ in self._entries if relative}
        if self._is_taken or not self._entries or found != set(self.paths[1:]):
            raise ChangedMeanwhileError(self._path, 1)
        self.missing = missing_parents(parts, self._path)
        return True

    def prepare(self, parts: Parts) -> None:
        """Prepare missing parents, and keep the content of the files in the folder."""
        super().prepare(parts)
        self._changes = [
            change for relative, stat in self._entries if (change := self._change(parts, relative, stat)) is not None
        ]

    def drafts(self) -> Sequence[Change]:
        """The folder, then its contents: recovery restores the folder before its files."""
        # Recovery finds the folder in the trash by this relation, and a restore learns that it is the removed folder.
        said = (*self.undone, Relation(kind="brings", number=int(self._trash)))
        return [replace(change, relations=said) for change in self._changes]

    def exchange(self, parts: Parts) -> None:
        """Rename the folder out of the trash."""
        parts.store.restore(self._path, self._trash)

    def sync(self, parts: Parts) -> None:
        """Sync the folder's name."""
        sync_names(parts, self._path)

    def set_back(self, parts: Parts) -> None:
        """Rename the folder into the trash again."""
        parts.store.remove(self._path, trash=self._trash)

    def compensations(self, parts: Parts) -> Sequence[Change]:
        """One deletion for each record of this step; the records of a commit have consecutive numbers."""
        first = self.number - len(self._changes) + 1
        return [
            replace(
                change,
                operation=(
                    Operation.DELETE if change.operation is Operation.CREATE else Operation.DELETE_DIRECTORY
                ),
                before=change.after, after=None, content=None, size=None, mode=None, relations=(),
                applied=True, compensates=first + place,
            )
            for place, change in reversed(list(enumerate(self._changes)))
        ]  # fmt: skip

    def _place(self, relative: str) -> str:
        return f"{self._path}/{relative}" if relative else self._path

    def _change(self, parts: Parts, relative: str, stat: FileStat) -> Change | None:
        """Return the record of one entry; None for a link or a file too large to keep, unless it is the step's own path."""
        path = WorkspacePath(self._place(relative))
        key = parts.workspace.key(path)
        if stat.type == "directory":
            return Change(operation=Operation.CREATE_DIRECTORY, path=path, key=key)
        if not relative and (stat.type != "file" or stat.size > parts.settings.max_write_bytes):
            return Change(
                operation=Operation.CREATE,
                path=path,
                key=key,
                before_unknown=True,
                size=stat.size,
                mode=stat.mode,
            )
        if stat.type != "file" or stat.size > parts.settings.max_foreign_bytes:
            return None
        content = parts.store.read_trashed(self._path, self._trash, relative)
        version = version_of(content)
        parts.journal.contents.keep(content, version)
        return Change(operation=Operation.CREATE, path=path, key=key, after=version, size=len(content), mode=stat.mode)
