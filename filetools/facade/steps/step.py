"""The base of all steps: one change, which `pipeline.py` applies together with others."""

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
        """The paths that it changes."""
        self.undone: Sequence[Relation] = ()
        """For the step of an undo: the records that it undoes."""
        self._missing: Sequence[WorkspacePath] = ()
        self._parents: Sequence[Change] = ()
        self._made: list[WorkspacePath] = []
        self._made_records: Sequence[ChangeRecord] = ()
        self._displaced: Displaced | None = None
        self._number = 0

    def be_allowed(self, paths: frozenset[WorkspacePath]) -> None:  # noqa: B027 - what most steps change is in their look
        """Note that a person has allowed what the look sees, along with the call's other steps, which change `paths`."""

    @abstractmethod
    def look(self, parts: Parts) -> None:
        """Look at the current state of the paths, replacing what an earlier try saw."""

    @property
    def looks(self) -> Sequence[Look]:
        """The looks at files."""
        return ()

    @property
    def unrecorded(self) -> Sequence[WorkspacePath]:
        """Paths at which other programs may have changed something that is not recorded yet, according to the look."""
        return [seen.path for seen in self.looks if not seen.is_recorded] if self.looks else self.paths

    @abstractmethod
    def decide(self, parts: Parts) -> bool:
        """Decide what to change, or raise the refusal; False if nothing changes."""

    def new_folders(self, parts: Parts) -> Sequence[WorkspacePath]:
        """Folders that `make_folders` will have to make, outermost first; called before `prepare`."""
        made = self._made_path()
        self._missing = () if made is None else missing_parents(parts, made)
        return self._missing

    def _made_path(self) -> WorkspacePath | None:
        """The path whose folder must exist; None if nothing is made."""
        return None

    def prepare(self, parts: Parts) -> None:
        """Do everything that can fail for space or rights, without changing anything that others see."""
        if self._missing:
            parts.store.prepare(self._missing[0], b"", new=True).discard()  # where this fails, a folder cannot be made
        self._draft_folders(parts)

    def _draft_folders(self, parts: Parts) -> None:
        self._parents = [folder_change(parts, folder) for folder in self._missing]

    @abstractmethod
    def drafts(self) -> Sequence[Change]:
        """The records of this change; the last one is the change itself."""

    def recorded(self, records: Sequence[ChangeRecord]) -> None:
        """Note the records of its drafts."""
        self._number = records[-1].number
        self._made_records = [record for record in records if record.path in self._missing]

    def make_folders(self, parts: Parts) -> None:
        """Make the folders that are missing; called before `exchange`.

        Raises:
            PathNotDirectoryError: A file is where a folder is needed.
        """
        for folder in self._missing:
            try:
                if parts.store.make_directory(folder):
                    self._made.append(folder)
            except PathExistsError as exc:
                raise PathNotDirectoryError(folder) from exc

    def remove_folders(self, parts: Parts) -> None:
        """Remove the folders that it has made, innermost first; one that others use by now stays."""
        for folder in reversed(self._made):
            with suppress(FileToolsError):
                parts.store.remove_empty_directory(folder)

    def without_folders(self) -> Sequence[Change]:
        """Return the records that these folders are gone again."""
        return [
            structs.replace(change, operation=Operation.DELETE_DIRECTORY, applied=True, compensates=record.number)
            for record in reversed(self._made_records) for change in self._parents if change.path == record.path
        ]  # fmt: skip

    @abstractmethod
    def exchange(self, parts: Parts) -> None:
        """Apply the change in one atomic step; if it raises, nothing has changed."""

    def sync(self, parts: Parts) -> None:  # noqa: B027 - most steps need not
        """Make names durable after the exchange and after `set_back`, if the journal lacks the displaced bytes.

        Recovery can rewrite files whose bytes the journal has; for folders it would have to guess.
        """

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """Return the records of unexpected bytes that the exchange displaced, such as a foreign save of the same instant."""
        return ()

    def _foreign_save(
        self, parts: Parts, seen: Look, ours: str | None, on_top: Callable[[str], Change]
    ) -> Sequence[Change]:
        """Return the records of what another program saved between look and exchange, and of this change after it.

        Args:
            parts: The workspace.
            seen: What was looked at.
            ours: Version that this change has put there; None if it removed the file.
            on_top: Returns the record of this change on top of a version.
        """
        displaced = self._displaced
        if displaced is None or is_same_file(parts, seen, displaced.stat):
            return ()
        content = displaced.read()
        version = version_of(content)
        if version == seen.version:
            return ()
        came_between = Change(
            operation=Operation.CREATE if ours is None else Operation.MODIFY, path=seen.path, key=seen.key, before=ours,
            after=version, content=content, size=len(content), mode=displaced.stat.mode, applied=True, external=True,
        )  # fmt: skip
        return (came_between, on_top(version))

    @abstractmethod
    def set_back(self, parts: Parts) -> None:
        """Undo the exchange because another step of the same call failed; what was saved since stays."""

    @abstractmethod
    def compensations(self, parts: Parts, number: int) -> Sequence[Change]:
        """Return the records that set the heads back to what the look saw."""

    def finish(self, parts: Parts) -> None:
        """Discard what was displaced; called last after a success."""
        release(self._displaced, self._number)
        self._displaced = None

    def shelve(self, parts: Parts) -> None:
        """Leave what was displaced in limbo, for a later sweep, because it cannot be looked at now."""
        shelve(self._displaced, self._number)
        self._displaced = None

    def abandon(self, parts: Parts) -> None:
        """Remove what `prepare` made; called before another try and after a failure, perhaps twice."""
        displaced, self._displaced = self._displaced, None
        drop(parts, displaced, self._number)


def sync_names(parts: Parts, *paths: WorkspacePath) -> None:
    """Make the names of some paths durable."""
    for path in paths:
        parts.store.sync(path.parent)


def put_back(displaced: Displaced, is_ours: Callable[[FileStat], bool]) -> None:
    """Put a displaced file back, unless a program has saved something newer there."""
    displaced.put_back()
    if displaced.temporary and not is_ours(displaced.stat):
        displaced.put_back()


def drop(parts: Parts, displaced: Displaced | None, number: int) -> None:
    """Discard a displaced file after a failure if its bytes are kept; leave any other in limbo."""
    if displaced is None or not displaced.temporary:
        return
    if displaced.stat.type == "file" and not parts.journal.contents.has(version_of(displaced.read())):
        shelve(displaced, number)
    else:
        displaced.discard()


def shelve(displaced: Displaced | None, number: int) -> None:
    """Leave a displaced file in limbo, under the record that displaced it."""
    if displaced is not None:
        displaced.keep_in_limbo(f"{number}-{secrets.token_hex(4)}")


def release(displaced: Displaced | None, number: int) -> None:
    """Discard a displaced file, or move it to limbo if a program still writes it.

    Args:
        displaced: The file; None does nothing.
        number: The record that displaced it, by which `limbo.py` finds it.
    """
    if displaced is None:
        return
    if displaced.is_untouched():
        displaced.discard()
    else:
        shelve(displaced, number)


def is_same_file(parts: Parts, seen: Look, stat: FileStat) -> bool:
    """Return True if a displaced file is certainly the one that was looked at."""
    if seen.stat is None:
        return False
    same = (stat.inode, stat.size, stat.modified_ns) == (seen.stat.inode, seen.stat.size, seen.stat.modified_ns)
    # Within a tick of the file system's clock a file can change and keep its time; then its bytes must be compared.
    tick_ns = tick_of(stat.modified_ns, parts.store.tick_ns)
    return same and (tick_ns == 0 or seen.taken_ns - stat.modified_ns > tick_ns)
