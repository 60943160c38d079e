"""The interface of a step, one change that `pipeline.py` applies together with others."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import structs

from filetools.content.identity_cache import tick_of
from filetools.content.version import version_of
from filetools.errors import FileToolsError, PathExistsError, PathNotDirectoryError
from filetools.facade.parts import Parts
from filetools.facade.steps.look import Look
from filetools.facade.steps.parents import folder_change, missing_parents
from filetools.journal.changes import Change, Relation
from filetools.models.records import ChangeRecord, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Displaced, FileStat


class Step(ABC):
    """One change: looked at, decided, prepared, recorded, exchanged, in this order. Used once."""

    def __init__(self, *paths: WorkspacePath) -> None:
        self.paths: Sequence[WorkspacePath] = paths
        """Paths that the step changes."""
        self.undone: Sequence[Relation] = ()
        """Relations for its record: the records that it undoes."""
        self._missing: Sequence[WorkspacePath] = ()
        self._parents: Sequence[Change] = ()
        self._made: list[WorkspacePath] = []
        self._made_records: Sequence[ChangeRecord] = ()
        self._displaced: Displaced | None = None
        self._number = 0

    def be_allowed(self, paths: frozenset[WorkspacePath]) -> None:  # noqa: B027 - most steps see all they change
        """Note that a person has approved what the look sees, together with the call's steps that change `paths`."""

    @abstractmethod
    def look(self, parts: Parts) -> None:
        """Look at the current state of the paths, replacing an earlier look."""

    @property
    def looks(self) -> Sequence[Look]:
        """The looks at files."""
        return ()

    @property
    def unrecorded(self) -> Sequence[WorkspacePath]:
        """Paths where other programs may have made changes that are not recorded yet."""
        return [seen.path for seen in self.looks if not seen.is_recorded] if self.looks else self.paths

    @abstractmethod
    def decide(self, parts: Parts) -> bool:
        """Decide what to do, or raise; False if there is nothing to change."""

    def new_folders(self, parts: Parts) -> Sequence[WorkspacePath]:
        """Return the folders that `make_folders` will make, outermost first; called before `prepare`."""
        made = self._made_path()
        self._missing = () if made is None else missing_parents(parts, made)
        return self._missing

    def _made_path(self) -> WorkspacePath | None:
        """Return the path whose parents must exist; None if the step creates nothing."""
        return None

    def prepare(self, parts: Parts) -> None:
        """Do what can fail for lack of space or rights, without any visible change."""
        if self._missing:
            parts.store.prepare(self._missing[0], b"", new=True).discard()  # fails where a folder cannot be made
        self._draft_folders(parts)

    def _draft_folders(self, parts: Parts) -> None:
        self._parents = [folder_change(parts, folder) for folder in self._missing]

    @abstractmethod
    def drafts(self) -> Sequence[Change]:
        """Return the drafts of this change's records; the last one is the change itself."""

    def recorded(self, records: Sequence[ChangeRecord]) -> None:
        """Receive the records of the drafts."""
        self._number = records[-1].number
        self._made_records = [record for record in records if record.path in self._missing]

    def make_folders(self, parts: Parts) -> None:
        """Make the missing folders; called before `exchange`.

        Raises:
            PathNotDirectoryError: Something other than a folder is at one of the paths.
        """
        for folder in self._missing:
            try:
                if parts.store.make_directory(folder):
                    self._made.append(folder)
            except PathExistsError as exc:
                raise PathNotDirectoryError(folder) from exc

    def remove_folders(self, parts: Parts) -> None:
        """Remove the folders that were made, innermost first, except those that are no longer empty."""
        for folder in reversed(self._made):
            with suppress(FileToolsError):
                parts.store.remove_empty_directory(folder)

    def without_folders(self) -> Sequence[Change]:
        """Return the records that the folders were removed again."""
        return [
            structs.replace(change, operation=Operation.DELETE_DIRECTORY, applied=True, compensates=record.number)
            for record in reversed(self._made_records) for change in self._parents if change.path == record.path
        ]  # fmt: skip

    @abstractmethod
    def exchange(self, parts: Parts) -> None:
        """Apply the change to the tree atomically; if it raises, nothing has changed."""

    def sync(self, parts: Parts) -> None:  # noqa: B027 - most steps need not
        """Make names durable after the exchange, and after it was set back, if the journal does not hold the bytes.

        Recovery rewrites files whose bytes the journal has. For a folder it would have to guess.
        """

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """Return records that keep a foreign save between look and exchange."""
        return ()

    def _foreign_save(
        self, parts: Parts, seen: Look, ours: str | None, again: Callable[[str], Change]
    ) -> Sequence[Change]:
        """Return the record of what another program saved between look and exchange, then this change again.

        Args:
            parts: The workspace.
            seen: The look.
            ours: Version that this change wrote; None if it removed the file.
            again: Returns the record of this change with a given version before it.
        """
        displaced = self._displaced
        if displaced is None or is_same_file(parts, seen, displaced.stat):
            return ()
        content = displaced.read()
        version = version_of(content)
        if version == seen.version:
            return ()
        foreign = Change(
            operation=Operation.CREATE if ours is None else Operation.MODIFY, path=seen.path, key=seen.key, before=ours,
            after=version, content=content, size=len(content), mode=displaced.stat.mode, applied=True, external=True,
        )  # fmt: skip
        return (foreign, again(version))

    @abstractmethod
    def set_back(self, parts: Parts) -> None:
        """Undo the exchange because another step of the call failed; a newer save by another program stays."""

    @abstractmethod
    def compensations(self, parts: Parts, number: int) -> Sequence[Change]:
        """Return the records that set the heads back to what the look saw."""

    def finish(self, parts: Parts) -> None:
        """Release the displaced file; called last after a success."""
        release(self._displaced, self._number)
        self._displaced = None

    def shelve(self, parts: Parts) -> None:
        """Leave the displaced file in limbo for the keeper's sweep, because it cannot be recorded now."""
        shelve(self._displaced, self._number)
        self._displaced = None

    def abandon(self, parts: Parts) -> None:
        """Discard what `prepare` made; called before another try and after a failure, perhaps twice."""
        displaced, self._displaced = self._displaced, None
        drop(parts, displaced, self._number)


def sync_names(parts: Parts, *paths: WorkspacePath) -> None:
    """Sync the folders that hold some names."""
    for path in paths:
        parts.store.sync(path.parent)


def put_back(displaced: Displaced, is_ours: Callable[[FileStat], bool]) -> None:
    """Put a displaced file back, unless another program has saved a newer one in its place."""
    displaced.put_back()
    if displaced.temporary and not is_ours(displaced.stat):
        displaced.put_back()


def drop(parts: Parts, displaced: Displaced | None, number: int) -> None:
    """Discard a displaced file after a failure if its bytes are kept; otherwise leave it in limbo."""
    if displaced is None or not displaced.temporary:
        return
    if displaced.stat.type == "file" and not parts.journal.contents.has(version_of(displaced.read())):
        shelve(displaced, number)
    else:
        displaced.discard()


def shelve(displaced: Displaced | None, number: int) -> None:
    """Move a displaced file into limbo (the folder of displaced files), named by the record that displaced it."""
    if displaced is not None:
        displaced.keep_in_limbo(f"{number}-{secrets.token_hex(4)}")


def release(displaced: Displaced | None, number: int) -> None:
    """Discard a displaced file, or move it into limbo if a program still has it open for writing.

    Args:
        displaced: The file; None does nothing.
        number: The record that displaced it; see `limbo.py`.
    """
    if displaced is None:
        return
    if displaced.is_untouched():
        displaced.discard()
    else:
        shelve(displaced, number)


def is_same_file(parts: Parts, seen: Look, stat: FileStat) -> bool:
    """True if a displaced file is certainly the one that was looked at."""
    if seen.stat is None:
        return False
    same = (stat.inode, stat.size, stat.modified_ns) == (seen.stat.inode, seen.stat.size, seen.stat.modified_ns)
    # Within one tick of the file system's clock a file can change and keep its mtime; then only its bytes differ.
    tick_ns = tick_of(stat.modified_ns, parts.store.tick_ns)
    return same and (tick_ns == 0 or seen.taken_ns - stat.modified_ns > tick_ns)
