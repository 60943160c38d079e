"""The step that gives a path new bytes: create, replace, append, copy."""

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
"""Other names of a file that a warning lists."""

Decide = Callable[[Parts, Look], PutDecision]
"""Turns the current content into the wanted one, or raises the refusal."""


class PutFile(Step):
    """Gives one path new bytes."""

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
        """Of the file that has gone live, as far as it is known."""

    @property
    def content(self) -> bytes:
        """The decided bytes."""
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
        """Ask the call what it wants; False if exactly these bytes, and the mode it wants, stand there already."""
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
        """Return what the call wants to stand there, without changing anything."""
        return followed(parts, seen, self.wanted(parts, seen))

    def separated(self, parts: Parts) -> dict[str, Any] | None:
        """Return the warning that the file had other names, which keep the old bytes; None if it had none."""
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
            "message": f"{message} It is a file of its own now; the old text remains in {kept}.",
            "names": names,
        }

    def _made_path(self) -> WorkspacePath | None:
        """The path of a new file."""
        return self.path if self.seen.stat is None and self._create_parents and not self._in_buffer else None

    def prepare(self, parts: Parts) -> None:
        """Keep what the journal lacks, and make the temporary file."""
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
        """New parents, outermost first, then the file."""
        return (*self._parents, self._change())

    def exchange(self, parts: Parts) -> None:
        """Go live."""
        if self._in_buffer:
            return
        assert self._prepared is not None
        self._displaced = self._prepared.exchange()

    def surprises(self, parts: Parts) -> Sequence[Change]:
        """A foreign save between look and exchange: kept as a version, with this change on top of it again."""
        if self._in_buffer:
            return ()
        with suppress(FileToolsError):  # it is only faster to know
            self._remember(parts)
        return self._foreign_save(parts, self.seen, self.version, self._on_top)

    def set_back(self, parts: Parts) -> None:
        """Put the former bytes back, or take the new file away."""
        if self._in_buffer:
            return
        if self._displaced is not None:
            put_back(self._displaced, self._is_ours)
            return
        self._displaced = parts.store.remove(self.path)
        if not self._is_ours(self._displaced.stat):
            self._displaced.put_back()

    def compensations(self, parts: Parts, number: int) -> Sequence[Change]:
        """The head goes back to what was seen, and the document to what it was."""
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
        """Take back what `prepare` made, so that another try or a refusal leaves no trace."""
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
        """Whether a file is the one that this step made live."""
        assert self._prepared is not None
        made = self._prepared.stat
        return (stat.inode, stat.size, stat.modified_ns) == (made.inode, made.size, made.modified_ns)

    def _mode_there(self) -> int | None:
        """Return the permission bits that the file has afterwards; those of a new one are known once it is prepared."""
        assert self.decision is not None
        if self.seen.stat is None:
            return self.decision.mode if self._prepared is None else self._prepared.stat.mode
        return self.seen.stat.mode if self.decision.mode is None else self.decision.mode

    def _is_new_mode(self) -> bool:
        """Whether the call wants other permission bits; git's patches can change nothing else."""
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
        """Know the new file again at the next look, unless somebody has replaced it already."""
        assert self.decision is not None
        taken_ns = time.time_ns()
        stat = parts.store.stat(self.path)
        if stat is not None and self._is_ours(stat):
            parts.facts.put(stat.identity, self.decision.facts, taken_ns=taken_ns)
            self.identity = settled_identity(stat, taken_ns, parts.store.tick_ns)

    def _on_top(self, before: str) -> Change:
        return structs.replace(self._change(), before=before, applied=True, document=None)


def other_names(store: Store, path: WorkspacePath, stat: FileStat) -> Iterator[WorkspacePath]:
    """Yield the names below the root that a file had beside a path. Call it in a worker thread: it walks the whole tree.

    Args:
        store: The tree.
        path: The name that is left out.
        stat: Facts of the file.
    """
    for name, entry in walk_tree(store, ROOT):
        # Layered file systems may list other inodes than their files have: those names are not found.
        if entry.type != "file" or entry.inode not in (0, stat.inode) or name == path:
            continue
        try:
            found = store.stat(name)
        except FileToolsError:
            continue
        if found is not None and (found.device, found.inode) == (stat.device, stat.inode):
            yield name
