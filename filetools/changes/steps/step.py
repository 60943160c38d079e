"""The interface of a step, one change that `pipeline.py` applies together with others."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import structs

from filetools.changes.parts import Parts
from filetools.changes.steps.look import Look
from filetools.content.identity_cache import tick_of
from filetools.content.version import version_of
from filetools.journal.records import Change, Relation
from filetools.models.records import ChangeRecord, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Displaced, FileStat


class Step(ABC):
    """One change: looked at, decided, prepared, recorded, exchanged, in this order. Used once."""

    def __init__(self, *paths: WorkspacePath) -> None:
        self.paths: Sequence[WorkspacePath] = paths
        """Paths that the step changes."""
        self.path = paths[0]
        self.looks: Sequence[Look] = ()
        """The current try's looks at files."""
        self.missing: Sequence[WorkspacePath] = ()
        """Folders above that must be made before, outermost first; set by `decide`."""
        self.undone: Sequence[Relation] = ()
        """Relations for its record: the records that it undoes."""
        self.record: ChangeRecord | None = None
        """The record of the change; None if there was nothing to change."""
        self.unsynced: Sequence[WorkspacePath] = ()
        """Folders to sync after the exchange, in this order."""
        self._displaced: Displaced | None = None
        self._trashed: Displaced | None = None
        """What stays in the trash."""

    @abstractmethod
    def look(self, parts: Parts) -> None:
        """Look at the current state of the paths, replacing an earlier look."""

    @abstractmethod
    def decide(self, parts: Parts) -> bool:
        """Decide what to do, or raise; False if there is nothing to change."""

    def prepare(self, parts: Parts) -> None:
        """Do what can fail for lack of space or rights, without any visible change."""
        if self.missing:
            parts.store.prepare(self.missing[0], b"", new=True).discard()  # fails where a folder cannot be made

    @abstractmethod
    def drafts(self) -> Sequence[Change]:
        """Return the drafts of this change's records; the last one is the change itself."""

    def recorded(self, record: ChangeRecord | None) -> None:
        """Receive the record of the change; None if there is nothing to change."""
        self.record = record

    @property
    def _number(self) -> int:
        return 0 if self.record is None else self.record.number

    @abstractmethod
    def exchange(self, parts: Parts) -> None:
        """Apply the change to the tree atomically; if it raises, nothing has changed."""

    def sync(self, parts: Parts) -> None:
        """Make names durable after the exchange, and after it was set back, if the journal does not hold the bytes.

        Recovery rewrites files whose bytes the journal has. For a folder it would have to guess. The new name comes first, so
        that a power cut never leaves an entry without a name.
        """
        if self._trashed is not None:
            self._trashed.sync()
        for folder in self.unsynced:
            parts.store.sync(folder)

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """Return records that keep a foreign save between look and exchange."""
        return ()

    def _foreign_save(self, parts: Parts, seen: Look, again: Change) -> Sequence[Change]:
        """Return the records of `foreign_save` for what another program saved between look and exchange, if it did."""
        displaced = self._displaced
        if displaced is None or is_same_file(parts, seen, displaced.stat):
            return ()
        content = displaced.read()
        if version_of(content) == seen.version:
            return ()
        return foreign_save(content, displaced.stat.mode, again)

    @abstractmethod
    def set_back(self, parts: Parts) -> None:
        """Undo the exchange because another step of the call failed; a newer save by another program stays."""

    def compensations(self, parts: Parts) -> Sequence[Change]:
        """Return the records that set the heads back to what the look saw: by default the inverse of each record."""
        drafts = self.drafts()  # the records of a commit have consecutive numbers
        return [inverse(change, self._number - place) for place, change in enumerate(reversed(drafts))]

    def finish(self, parts: Parts, *, is_recorded: bool) -> None:
        """Discard the displaced file; called last after a success.

        The leader's sweep gets it if a program has it open, or what was found in it could not be recorded.
        """
        self._dispose(lambda displaced: is_recorded and displaced.is_untouched())

    def abandon(self, parts: Parts) -> None:
        """Discard what `prepare` made; called before another try and after a failure, perhaps twice.

        A displaced file that could not be put back is discarded if its bytes are kept; otherwise it is kept.
        """
        contents = parts.journal.contents
        self._dispose(
            lambda displaced: (
                not displaced.temporary or displaced.stat.type != "file" or contents.has(version_of(displaced.read()))
            )
        )

    def _dispose(self, is_superfluous: Callable[[Displaced], bool]) -> None:
        """Discard the displaced file, or keep it, named by the record that displaced it; once."""
        displaced, self._displaced = self._displaced, None
        if displaced is None:
            return
        if is_superfluous(displaced):
            displaced.discard()
        else:
            displaced.keep(f"{self._number}-{secrets.token_hex(4)}")


_INVERSES: Final = {
    Operation.CREATE: Operation.DELETE,
    Operation.CREATE_DIRECTORY: Operation.DELETE_DIRECTORY,
    Operation.DELETE_DIRECTORY: Operation.CREATE_DIRECTORY,
}
"""Other operations are their own inverse."""


def inverse(change: Change, number: int) -> Change:
    """Return the record that sets back the change of record `number`; the head gets no size and no mode."""
    return structs.replace(
        change, operation=_INVERSES.get(change.operation, change.operation),
        path=change.old_path or change.path, key=change.old_key or change.key,
        old_path=change.old_path and change.path, old_key=change.old_key and change.key,
        before=change.after, after=change.before, content=None, size=None, mode=None, relations=(),
        applied=True, compensates=number,
    )  # fmt: skip


def foreign_save(content: bytes, mode: int, again: Change) -> Sequence[Change]:
    """Return the record of bytes that another program saved and that were displaced, then the change that displaced them.

    Args:
        content: The bytes.
        mode: Their file's permission bits.
        again: The record of the change, without the version before it.
    """
    version = version_of(content)
    foreign = Change(
        operation=Operation.CREATE if again.after is None else Operation.MODIFY, path=again.path, key=again.key,
        before=again.after, after=version, content=content, size=len(content), mode=mode, applied=True, external=True,
    )  # fmt: skip
    return (foreign, structs.replace(again, before=version))


def put_back(displaced: Displaced, is_ours: Callable[[FileStat], bool]) -> None:
    """Put a displaced file back, unless another program has saved a newer one in its place."""
    displaced.put_back()
    if displaced.temporary and not is_ours(displaced.stat):
        displaced.put_back()


def is_same_file(parts: Parts, seen: Look, stat: FileStat) -> bool:
    """True if a displaced file is certainly the one that was looked at."""
    if seen.stat is None:
        return False
    same = (stat.inode, stat.size, stat.modified_ns) == (seen.stat.inode, seen.stat.size, seen.stat.modified_ns)
    # Within one tick of the file system's clock a file can change and keep its mtime; then only its bytes differ.
    tick_ns = tick_of(stat.modified_ns, parts.store.tick_ns)
    return same and (tick_ns == 0 or seen.taken_ns - stat.modified_ns > tick_ns)
