"""The steps that only undo and restore need: folders from the trash, links, and modes of folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace

from filetools.changes.parts import Parts
from filetools.changes.steps.folders import require_free
from filetools.changes.steps.look import missing_parents
from filetools.changes.steps.step import Step
from filetools.content.version import version_of
from filetools.errors import (
    ChangedMeanwhileError,
    NotRegularFileError,
)
from filetools.journal.records import Change, Relation
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat


def opened(mode: int) -> int:
    """Return a folder's mode with all owner rights added, which changes inside it need."""
    return mode | 0o700


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
        self.unsynced = (path.parent,)
        self._trash = trash
        self._changes: list[Change] = []

    def look(self, parts: Parts) -> None:
        """Check whether the path is free, and list the entries in the trash."""
        self._whole = parts.store.trashed(self.path, self._trash)
        # Names that no call can address are restored without a record.
        self._entries = [each for each in self._whole.entries() if parts.workspace.is_addressable(self._place(each[0]))]
        self._is_taken = parts.store.stat(self.path) is not None

    def decide(self, parts: Parts) -> bool:
        """Refuse if the path or the trash has changed since the undo was planned."""
        found = {self._place(relative) for relative, _ in self._entries if relative}
        if self._is_taken or not self._entries or found != set(self.paths[1:]):
            raise ChangedMeanwhileError(self.path, 1)
        self.missing = missing_parents(parts, self.path)
        return True

    def prepare(self, parts: Parts) -> None:
        """Prepare missing parents, and keep the content of the files in the folder."""
        super().prepare(parts)
        self._changes = [
            change for relative, stat in self._entries if (change := self._change(parts, relative, stat)) is not None
        ]

    def drafts(self) -> Sequence[Change]:
        """Return the folder, then its contents: recovery restores the folder before its files."""
        # Recovery finds the folder in the trash by this relation, and a restore learns that it is the removed folder.
        brings = Relation(kind="brings", number=int(self._trash))
        return [replace(change, relations=(brings,)) for change in self._changes]

    def exchange(self, parts: Parts) -> None:
        """Rename the folder out of the trash."""
        self._whole.restore()

    def set_back(self, parts: Parts) -> None:
        """Rename the folder into the trash again."""
        parts.store.remove(self.path, trash=self._trash)

    def _place(self, relative: str) -> str:
        return f"{self.path}/{relative}" if relative else self.path

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
        content = self._whole.read(relative)
        version = version_of(content)
        parts.journal.contents.keep(content, version)
        return Change(operation=Operation.CREATE, path=path, key=key, after=version, size=len(content), mode=stat.mode)


class _PutText(Step):
    """Replaces one text by another."""

    operation: ClassVar[Operation]

    def __init__(self, path: WorkspacePath, now: bytes | None, then: bytes | None) -> None:
        """Replace a text.

        Args:
            path: The link or folder.
            now: The text that the plan expects; None for no link.
            then: The new text; None to remove the link.
        """
        super().__init__(path)
        self.unsynced = (path.parent,)
        self.now = now
        self.then = then

    def look(self, parts: Parts) -> None:
        """Check that no folder above has an unfinished move or deletion."""
        self._key = require_free(parts, self.path)

    def decide(self, parts: Parts) -> bool:
        """Return False if the two texts are equal."""
        return self.now != self.then

    def prepare(self, parts: Parts) -> None:
        """Keep the old text, too."""
        super().prepare(parts)
        if self.now is not None:
            parts.journal.contents.keep(self.now, version_of(self.now))

    def drafts(self) -> Sequence[Change]:
        """Return one record, with both texts."""
        before, after = (None if text is None else version_of(text) for text in (self.now, self.then))
        is_mode = self.operation is Operation.MODIFY_DIRECTORY
        change = Change(
            operation=self.operation, path=self.path, key=self._key, before=before, after=after, content=self.then,
            mode=int(self.then, 8) if is_mode and self.then is not None else None,
        )  # fmt: skip
        return (change,)

    def exchange(self, parts: Parts) -> None:
        """Put the new text."""
        self._put(parts, self.now, self.then)

    def set_back(self, parts: Parts) -> None:
        """Put the old text."""
        self._put(parts, self.then, self.now)

    def _put(self, parts: Parts, now: bytes | None, then: bytes | None) -> None:
        raise NotImplementedError


class PutLink(_PutText):
    """Makes, retargets or removes a symbolic link; never looks at its target."""

    operation = Operation.LINK

    def decide(self, parts: Parts) -> bool:
        """Refuse if the link has changed since the undo was planned."""
        self._require(parts, self.now)
        self.missing = () if self.then is None else missing_parents(parts, self.path)
        return super().decide(parts)

    def _put(self, parts: Parts, now: bytes | None, then: bytes | None) -> None:
        self._require(parts, now)
        displaced = None if now is None else parts.store.remove(self.path)
        try:
            if then is not None:
                parts.store.make_link(self.path, then)
        except BaseException:
            if displaced is not None:
                displaced.put_back()
            raise
        if displaced is not None:
            displaced.discard()

    def _require(self, parts: Parts, expected: bytes | None) -> None:
        try:
            found = parts.store.read_link(self.path)
        except FileNotFoundError:
            found = None
        except NotRegularFileError as exc:
            raise ChangedMeanwhileError(self.path, 1) from exc
        if found != expected:
            raise ChangedMeanwhileError(self.path, 1)


class PutMode(_PutText):
    """Sets the mode of a folder, after all changes inside it: the new mode may forbid them."""

    operation = Operation.MODIFY_DIRECTORY

    def __init__(self, path: WorkspacePath, now: int, then: int) -> None:
        super().__init__(path, *(b"%o" % mode for mode in (now, then)))
        self.unsynced = (path,)

    def _put(self, parts: Parts, now: bytes | None, then: bytes | None) -> None:
        assert then is not None
        parts.store.set_mode(self.path, int(then, 8), directory=True)
