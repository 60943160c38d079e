"""The place where a schedule happens: one opened workspace, its files, its documents, its kept versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import filetools
from filetools.changes.documents.files import sweep_handles
from filetools.content.version import version_of
from filetools.content.wire import wire_text
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import files_in, leftovers
from tests.support.faulty import Plan
from tests.support.inside import heads_below
from tests.support.mirror_worlds import caught_up
from tests.support.schedules.ledger import NONE, Ledger, Standing, Tokens
from tests.support.schedules.tokens import Mint, tokens_in

PATHS = ("a.txt", "b.txt", "sub/c.txt")
SETTINGS: dict[str, Any] = {"watch": False, "durability": "relaxed", "sync_after_seconds": 3600.0}
MIRRORED: dict[str, Any] = {**SETTINGS, "sync_after_seconds": 0.03, "mirror_probe_seconds": 0.03}
NO_VERSION = "sha256:" + "0" * 64


@dataclass
class Town:
    """One workspace during one schedule, and what is known of it."""

    files: FileToolsFacade
    root: Path
    mirror: Path | None
    chance: Random
    paths: tuple[str, ...] = PATHS
    mint: Mint = field(default_factory=Mint)
    ledger: Ledger = field(default_factory=Ledger)
    plan: Plan | None = None
    """Lets a foreign program act in the instant of an exchange, where the schedule has one."""
    _read: dict[str, Tokens] = field(default_factory=dict)

    def path(self) -> str:
        """Return any of the paths; the first one most of the time, so that all meet there."""
        return self.paths[0] if self.chance.random() < 0.7 else self.chance.choice(self.paths)

    def text(self, path: str) -> str | None:
        """Return what stands on the disk."""
        try:
            return (self.root / path).read_bytes().decode("utf-8")
        except FileNotFoundError:
            return None

    def has_version(self, text: str) -> bool:
        """Whether a text is kept by now."""
        return self.files._parts.journal.contents.has(version_of(text.encode()))

    def document_texts(self) -> dict[str, tuple[int, str]]:
        """Return version and text, as editors see it, of each open document."""
        documents = self.files._parts.journal.documents
        found = (documents.text(document.id) for document in documents.all())
        return {document.path: (document.version, wire_text(text)) for document, text in filter(None, found)}

    def standing(self) -> Standing:
        """Return what stands where now."""
        content = {path: place.read_bytes() if (place := self.root / path).exists() else None for path in self.paths}
        return Standing(
            disk={path: tokens_in(one) for path, one in content.items()},
            documents={path: tokens_in(text) for path, (_, text) in self.document_texts().items()},
            content=content,
        )

    async def kept(self) -> Tokens:
        """Return the tokens of all versions that can be read."""
        found: set[str] = set()
        for path in self.paths:
            for entry in (await self.files.versions(path, limit=1000)).versions:
                if entry.kept and entry.version not in self._read:
                    content = self.files._parts.journal.contents.get(entry.version)
                    self._read[entry.version] = tokens_in(content)
                found |= self._read.get(entry.version, NONE)
        return frozenset(found)

    async def settle(self) -> None:
        """Have documents follow their files, as they do a moment after every change."""
        news = self.files._runner.news
        await news.publish()
        await news.follow()

    async def notice(self) -> None:
        """Have foreign changes recorded, as the next call on a path does, by calls that are refused."""
        for path in self.paths:
            try:
                await self.files.delete_file(path, expected_version=NO_VERSION)
            except filetools.FileToolsError:
                continue
        await self.settle()

    async def end_leases(self) -> None:
        """Do what the leader does when editors have been silent for a minute."""
        parts = self.files._parts
        for handle in parts.journal.documents.handles():
            parts.journal.documents.release(handle.name)
        await parts.workers.run(lambda: list(sweep_handles(parts)))
        await self.settle()

    async def unrest(self) -> list[str]:
        """Return what is pending or left over, which head is not what stands there, and where the mirror differs."""
        journal = self.files._parts.journal
        found = [f"pending: {record}" for record in journal.marks.unfinished("pending")]
        found += [f"left over: {name}" for name in leftovers(self.root)]
        standing = files_in(self.root)
        heads = dict(heads_below(journal, ""))
        # A file that nobody has changed through filetools need not be known, whatever other programs do to it.
        known = {path: content for path, content in standing.items() if path in heads}
        versions = {path: version_of(content) for path, content in known.items()}
        found += [f"heads {heads} are not {versions}"] if heads != versions else []
        return found + await self._mirror_faults(known)

    async def _mirror_faults(self, known: dict[str, bytes]) -> list[str]:
        if self.mirror is None:
            return []
        await caught_up(self.files)
        mirrored = {path: content for path, content in files_in(self.mirror).items() if path in known}
        return [f"the mirror has {mirrored}, not {known}"] if mirrored != known else []
