"""The step that writes a file: create, replace, append, copy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from msgspec import structs

from filetools.changes.decision import PutDecision
from filetools.errors import FileToolsError, HardLinkedError
from filetools.facade.parts import Parts
from filetools.facade.steps.look import Look, keep_seen, look, missing_parents, require_parent
from filetools.facade.steps.step import Step, put_back
from filetools.facade.steps.unsaved import followed, keep_unsaved, taken_back
from filetools.journal.changes import Change
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

    def __init__(self, path: WorkspacePath, decide: Decide, *, create_parents: bool = True) -> None:
        super().__init__(path)
        self.path = path
        self.wanted = decide
        self._create_parents = create_parents
        self.seen: Look
        """The look of the current try."""
        self.decision: PutDecision
        """What the current try writes."""
        self.version = ""
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
        self.version = self.decision.facts.version
        if self.decision.in_buffer:
            return self.decision.document is not None
        stat = self.seen.stat
        # A git patch may change only the permission bits.
        is_new_mode = stat is not None and self.decision.mode not in (None, stat.mode)
        if self.version == self.seen.version and not is_new_mode:
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
        return followed(parts, seen, self.wanted(parts, seen))

    def separated(self, parts: Parts) -> dict[str, Any] | None:
        """Return the warning that the file's hard links keep the old bytes; None if it had none."""
        stat = self.seen.stat
        if stat is None or stat.links < 2 or self.decision.in_buffer:
            return None
        names = [printable(name) for name in islice(other_names(parts.store, self.path, stat), MOST_NAMES)]
        others = [] if len(names) == stat.links - 1 else ["others"]
        kept = " and ".join([", ".join(names), *others] if names else others)
        message = f"{printable(self.path)} was one of {stat.links} names (hard links) of a file."
        return {
            "code": "HARD_LINK_BROKEN",
            "path": self.path,
            "message": f"{message} It is now a separate file; the old text remains in {kept}.",
            "names": names,
        }

    def prepare(self, parts: Parts) -> None:
        """Keep bytes that the journal lacks, and write the temporary file."""
        decision = self.decision
        keep_unsaved(parts, self.seen, decision)
        if decision.in_buffer:
            return
        keep_seen(parts, self.seen)
        self._prepared = parts.store.prepare(
            self.path, decision.content, new=self.seen.stat is None, mode=decision.mode, like=decision.like,
            within=self.missing[0].parent if self.missing else None,
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
            after=self.version,
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
        """Records of a foreign save between look and exchange: its version, then this change again."""
        if self._prepared is None:
            return ()
        taken_ns = time.time_ns()
        with suppress(FileToolsError):  # only a cache: the next look reads the file instead
            stat = parts.store.stat(self.path)
            if stat is not None and self._is_ours(stat):
                parts.facts.put(stat.identity, self.decision.facts, taken_ns=taken_ns)
                self.identity = settled_identity(stat, taken_ns, parts.store.tick_ns)
        return self._foreign_save(parts, self.seen, structs.replace(self._change, applied=True, document=None))

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
        """The record that sets back the head and the open document."""
        back = taken_back(parts, self.seen, self.decision)
        if self.decision.in_buffer:
            return (structs.replace(self._change, compensates=self.number, document=back),)
        stat = self.seen.stat
        return (
            Change(
                operation=Operation.DELETE if stat is None else Operation.MODIFY,
                path=self.path,
                key=self.seen.key,
                before=self.version,
                after=self.seen.version,
                size=None if stat is None else stat.size,
                mode=None if stat is None else stat.mode,
                applied=True,
                compensates=self.number,
                document=back,
            ),
        )

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
