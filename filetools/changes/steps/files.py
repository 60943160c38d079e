"""The steps that write, delete and move a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from filetools.changes.decision import PutDecision
from filetools.changes.parts import Parts
from filetools.changes.steps.look import Look, keep_seen, known_version, look, missing_parents, require_parent
from filetools.changes.steps.step import Step, is_same_file, put_back
from filetools.changes.steps.unsaved import keep_unsaved, taken_back, with_document
from filetools.errors import (
    FileToolsError,
    HardLinkedError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
    SymlinkNotAllowedError,
)
from filetools.journal.records import Change
from filetools.journal.tree_rows import Identity
from filetools.models.records import Operation
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.printable import printable
from filetools.search.walk import walk_tree
from filetools.stores.store import FileStat, Prepared, Store
from filetools.tree.reading import settled_identity

MOST_NAMES: Final = 10
"""Hard links that a warning lists."""

Decide = Callable[[Parts, Look], PutDecision]
"""Returns the wanted content for the current one, or raises."""


class PutFile(Step):
    """Writes one file."""

    def __init__(
        self, path: WorkspacePath, decide: Decide, *, create_parents: bool = True, ignores_read_only: bool = False
    ) -> None:
        super().__init__(path)
        self.wanted = decide
        self._create_parents = create_parents
        self._ignores_read_only = ignores_read_only
        self.seen: Look
        """The look of the current try."""
        self.decision: PutDecision
        """What the current try writes."""
        self.identity: Identity | None = None
        """Identity of the new file after the exchange, if it is known."""
        self._prepared: Prepared | None = None
        self._change: Change

    def look(self, parts: Parts) -> None:
        """Look at the current file."""
        self.seen = look(parts, self.path)
        self.looks = (self.seen,)
        self.path = self.seen.path

    def decide(self, parts: Parts) -> bool:
        """Decide what to write; False if the file already has these bytes and the wanted mode."""
        self.decision, self.missing = self.preview(parts, self.seen), ()
        if self.decision.in_buffer:
            return self.decision.document is not None
        stat = self.seen.stat
        # A git patch may change only the permission bits.
        is_new_mode = stat is not None and self.decision.mode not in (None, stat.mode)
        if self.decision.facts.version == self.seen.version and not is_new_mode:
            return False
        if stat is None and self._create_parents:
            self.missing = missing_parents(parts, self.path)
        elif stat is None:
            require_parent(parts, self.path)
        elif stat.links > 1 and parts.settings.hard_links == "refuse":
            raise HardLinkedError(self.path, stat.links)
        return True

    def preview(self, parts: Parts, seen: Look) -> PutDecision:
        """Return the decision for a look, without changing anything."""
        return with_document(parts, seen, self.wanted(parts, seen))

    def separated(self, parts: Parts) -> Sequence[dict[str, Any]]:
        """Return a warning if the file had hard links, which keep the old bytes."""
        stat = self.seen.stat
        if stat is None or stat.links < 2 or self.decision.in_buffer:
            return ()
        names = [printable(name) for name in islice(other_names(parts.store, self.path, stat), MOST_NAMES)]
        others = [] if len(names) == stat.links - 1 else ["others"]
        kept = " and ".join([", ".join(names), *others] if names else others)
        message = f"{printable(self.path)} was one of {stat.links} names (hard links) of a file."
        message += f" It is now a separate file; the old text remains in {kept}."
        return [{"code": "HARD_LINK_BROKEN", "path": self.path, "message": message, "names": names}]

    def prepare(self, parts: Parts) -> None:
        """Keep bytes that the journal lacks, and write the temporary file."""
        decision = self.decision
        keep_unsaved(parts, self.seen, decision)
        if decision.in_buffer:
            return
        keep_seen(parts, self.seen)
        self._prepared = parts.store.prepare(
            self.path, decision.content, new=self.seen.stat is None, mode=decision.mode, like=decision.like,
            within=self.missing[0].parent if self.missing else None, ignores_read_only=self._ignores_read_only,
        )  # fmt: skip

    def drafts(self) -> Sequence[Change]:
        """Return the record of the new bytes."""
        seen, decision, mode = self.seen, self.decision, self.decision.mode
        if seen.stat is not None and mode is None:
            mode = seen.stat.mode
        elif seen.stat is None and self._prepared is not None:
            mode = self._prepared.stat.mode
        self._change = Change(
            operation=Operation.CREATE if seen.stat is None and not decision.in_buffer else Operation.MODIFY,
            path=self.path,
            key=seen.key,
            before=decision.shown.before if decision.in_buffer and decision.shown is not None else seen.version,
            after=decision.facts.version,
            content=decision.content,
            size=len(decision.content),
            mode=mode,
            relations=decision.relations,
            buffered=decision.in_buffer,
            document=decision.document,
        )
        return (self._change,)

    def exchange(self, parts: Parts) -> None:
        """Exchange the temporary file with the current one."""
        if self._prepared is not None:
            self._displaced = self._prepared.exchange()

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """Return records of a foreign save between look and exchange: its version, then this change again."""
        if self._prepared is None:
            return ()
        taken_ns = time.time_ns()
        # Another mode is another program's, set since the look or the exchange, and the next look records it.
        mode = self._change.mode if self.decision.mode is None else self._prepared.stat.mode
        with suppress(FileToolsError):  # only a cache: the next look reads the file instead
            stat = parts.store.stat(self.path)
            if stat is not None and self._is_ours(stat) and stat.mode == mode:
                parts.facts.put(stat.identity, self.decision.facts, taken_ns=taken_ns)
                self.identity = settled_identity(stat, taken_ns, parts.store.tick_ns)
        return self._foreign_save(parts, self.seen, replace(self._change, applied=True, document=None))

    def set_back(self, parts: Parts) -> None:
        """Restore the former file, or remove the new one."""
        if self._prepared is None:
            return
        if self._displaced is not None:
            put_back(self._displaced, self._is_ours)
            return
        self._displaced = parts.store.remove(self.path)
        if not self._is_ours(self._displaced.stat):
            self._displaced.put_back()

    def compensations(self, parts: Parts) -> Sequence[Change]:
        """Return the record that sets back the head and the open document."""
        back, decision = taken_back(parts, self.seen, self.decision), self.decision
        if decision.in_buffer:
            return (replace(self._change, compensates=self._number, document=back),)
        return (replace(_former(self.seen, self._number), before=decision.facts.version, document=back),)

    def abandon(self, parts: Parts) -> None:
        """Discard the temporary file and what the base class prepared."""
        prepared, self._prepared = self._prepared, None
        try:
            if prepared is not None:
                prepared.discard()
        finally:
            super().abandon(parts)

    def _is_ours(self, stat: FileStat) -> bool:
        """True if a file is the one that this step wrote."""
        assert self._prepared is not None
        made = self._prepared.stat
        return (stat.inode, stat.size, stat.modified_ns) == (made.inode, made.size, made.modified_ns)


def other_names(store: Store, path: WorkspacePath, stat: FileStat) -> Iterator[WorkspacePath]:
    """Yield the other hard links of a file below the root. Call it in a worker thread: it walks the whole tree.

    Args:
        store: The tree.
        path: The name to leave out.
        stat: Stat of the file.
    """
    for name, entry in walk_tree(store, ROOT):
        # Overlay file systems may list inodes that differ from the files' own: such names are not found.
        if entry.type != "file" or entry.inode not in (0, stat.inode) or name == path:
            continue
        try:
            found = store.stat(name)
        except FileToolsError:
            continue
        if found is not None and (found.device, found.inode) == (stat.device, stat.inode):
            yield name


class RemoveFile(Step):
    """Deletes one file."""

    def __init__(
        self, path: WorkspacePath, permit: Callable[[Look], None] = lambda _: None, *, keeps_bytes: bool = True
    ) -> None:
        """Prepare to delete a file.

        Args:
            path: The file.
            permit: Called with the look at the current file; raises if it must not be deleted.
            keeps_bytes: False if the disk is full: bytes that the journal lacks are kept as a file, until they can be
                journaled.
        """
        super().__init__(path)
        self._keeps_bytes = keeps_bytes
        self.permit = permit
        self.seen: Look
        """The look of the current try."""

    def look(self, parts: Parts) -> None:
        """Look at the current file."""
        seen = look(parts, self.path, takes_opaque=True)
        self.seen = seen if self._keeps_bytes else replace(seen, content=None)
        self.looks = (self.seen,)
        self.unsynced = (self.path.parent,) if self.seen.is_opaque else ()

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
        """Return the record of the deletion."""
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
        is_opaque = self.seen.is_opaque
        removed = parts.store.remove(self.path, trash=str(self._number) if is_opaque else None)
        self._trashed, self._displaced = (removed, None) if is_opaque else (None, removed)

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """Return records of a foreign save between look and removal: its version, then its deletion."""
        gone_again = Change(operation=Operation.DELETE, path=self.path, key=self.seen.key, applied=True)
        return self._foreign_save(parts, self.seen, gone_again)

    def set_back(self, parts: Parts) -> None:
        """Put the file back, unless there is a new one."""
        displaced = self._trashed or self._displaced
        assert displaced is not None
        put_back(displaced, lambda _: False)

    def compensations(self, parts: Parts) -> Sequence[Change]:
        """Return the record that sets back the head."""
        return (replace(_former(self.seen, self._number), operation=Operation.CREATE),)

    def finish(self, parts: Parts, *, is_recorded: bool) -> None:
        """Discard the file if its bytes are kept; an opaque one stays in the trash."""
        version = self.seen.version
        is_kept = self._keeps_bytes or version is None or parts.journal.contents.has(version)
        super().finish(parts, is_recorded=is_recorded and is_kept)


class MoveFile(Step):
    """Moves one file."""

    def __init__(
        self,
        source: WorkspacePath,
        destination: WorkspacePath,
        *,
        overwrite: bool,
        permit: Callable[[Look, Look], None] = lambda _source, _destination: None,
    ) -> None:
        """Prepare to move a file; `permit` raises if source or destination are not as expected."""
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
        self.unsynced = (self.destination.parent, self.source.parent) if self.seen[0].is_opaque else ()

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
        """Return records of the deletion of a replaced destination, and of the move."""
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

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """Return records that keep a foreign save at the destination, between look and exchange, as a version."""
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
        """Return records that set back both heads, and the path of the source's open document."""
        source, destination = (_former(end, self._number) for end in self.seen)
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
