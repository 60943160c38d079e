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
from filetools.facade.steps.look import Look, keep_seen, look
from filetools.facade.steps.parents import require_parent
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
        self._prepared: Prepared | None = None
        self.decision: PutDecision | None = None
        self.version = ""
        self.identity: Identity | None = None
        """Identity of the new file after the exchange, if it is known."""

    @property
    def content(self) -> bytes:
        """The bytes to write."""
        assert self.decision is not None
        return self.decision.content

    def look(self, parts: Parts) -> None:
        """Look at the current file."""
        self.seen = look(parts, self.path)
        self.path = self.seen.path

    @property
    def looks(self) -> Sequence[Look]:
        """The one at the file."""
        return (self.seen,)

    def decide(self, parts: Parts) -> bool:
        """Decide what to write; False if the file already has these bytes and the wanted mode."""
        self.decision = self.preview(parts, self.seen)
        self.version = self.decision.facts.version
        if self.decision.in_buffer:
            return self.decision.document is not None
        if self.version == self.seen.version and not self._is_new_mode():
            return False
        stat = self.seen.stat
        if stat is None and not self._create_parents:
            require_parent(parts, self.path)
        if stat is not None and stat.links > 1 and parts.settings.hard_links == "refuse":
            raise HardLinkedError(self.path, stat.links)
        return True

    def preview(self, parts: Parts, seen: Look) -> PutDecision:
        """Return the decision for a look, without changing anything."""
        return followed(parts, seen, self.wanted(parts, seen))

    def separated(self, parts: Parts) -> dict[str, Any] | None:
        """Return the warning that the file's hard links keep the old bytes; None if it had none."""
        stat = self.seen.stat
        if stat is None or stat.links < 2 or self._in_buffer:
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

    def _made_path(self) -> WorkspacePath | None:
        return self.path if self.seen.stat is None and self._create_parents and not self._in_buffer else None

    def prepare(self, parts: Parts) -> None:
        """Keep bytes that the journal lacks, and write the temporary file."""
        assert self.decision is not None
        keep_unsaved(parts, self.seen, self.decision)
        if self._in_buffer:
            return
        keep_seen(parts, self.seen)
        self._draft_folders(parts)
        self._prepared = parts.store.prepare(
            self.path, self.content, new=self.seen.stat is None, mode=self.decision.mode, like=self.decision.like,
            within=self._missing[0].parent if self._missing else None,
        )  # fmt: skip

    def drafts(self) -> Sequence[Change]:
        """The new parents, outermost first, then the file."""
        return (*self._parents, self._change())

    def exchange(self, parts: Parts) -> None:
        """Exchange the temporary file with the current one."""
        if self._in_buffer:
            return
        assert self._prepared is not None
        self._displaced = self._prepared.exchange()

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """Records of a foreign save between look and exchange: its version, then this change again."""
        if self._in_buffer:
            return ()
        with suppress(FileToolsError):  # only a cache: the next look reads the file instead
            self._remember(parts)
        return self._foreign_save(parts, self.seen, self.version, self._change_again)

    def set_back(self, parts: Parts) -> None:
        """Restore the former file, or remove the new one."""
        if self._in_buffer:
            return
        if self._displaced is not None:
            put_back(self._displaced, self._is_ours)
            return
        self._displaced = parts.store.remove(self.path)
        if not self._is_ours(self._displaced.stat):
            self._displaced.put_back()

    def compensations(self, parts: Parts, number: int) -> Sequence[Change]:
        """The record that sets back the head and the open document."""
        assert self.decision is not None
        back = taken_back(parts, self.seen, self.decision)
        if self._in_buffer:
            return (structs.replace(self._change(), compensates=number, document=back),)
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
                compensates=number,
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

    @property
    def _in_buffer(self) -> bool:
        return self.decision is not None and self.decision.in_buffer

    def _is_ours(self, stat: FileStat) -> bool:
        """True if a file is the one that this step wrote."""
        assert self._prepared is not None
        made = self._prepared.stat
        return (stat.inode, stat.size, stat.modified_ns) == (made.inode, made.size, made.modified_ns)

    def _mode_there(self) -> int | None:
        """Return the file's permission bits after the change; for a new file they are known once it is prepared."""
        assert self.decision is not None
        if self.seen.stat is None:
            return self.decision.mode if self._prepared is None else self._prepared.stat.mode
        return self.seen.stat.mode if self.decision.mode is None else self.decision.mode

    def _is_new_mode(self) -> bool:
        """True if the permission bits change; a git patch may change only these."""
        assert self.decision is not None
        wanted, stat = self.decision.mode, self.seen.stat
        return wanted is not None and stat is not None and wanted != stat.mode

    def _change(self) -> Change:
        seen, decision = self.seen, self.decision
        assert decision is not None
        return Change(
            operation=Operation.CREATE if seen.stat is None and not decision.in_buffer else Operation.MODIFY,
            path=self.path,
            key=seen.key,
            before=decision.shown.before if decision.in_buffer and decision.shown is not None else seen.version,
            after=self.version,
            content=self.content,
            size=len(self.content),
            mode=self._mode_there(),
            relations=decision.relations,
            buffered=decision.in_buffer,
            document=decision.document,
        )

    def _remember(self, parts: Parts) -> None:
        """Cache the facts of the new file, unless it has already been replaced."""
        assert self.decision is not None
        taken_ns = time.time_ns()
        stat = parts.store.stat(self.path)
        if stat is not None and self._is_ours(stat):
            parts.facts.put(stat.identity, self.decision.facts, taken_ns=taken_ns)
            self.identity = settled_identity(stat, taken_ns, parts.store.tick_ns)

    def _change_again(self, before: str) -> Change:
        return structs.replace(self._change(), before=before, applied=True, document=None)


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
