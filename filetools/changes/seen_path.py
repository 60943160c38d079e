"""What a decision sees of a path."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from filetools.content.facts import ContentFacts
from filetools.content.version import stat_version
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath


class UnsavedText(Struct, frozen=True, kw_only=True):
    """Text of an editor that is not in the file; reads return it in place of the file's."""

    version: str
    content: bytes


class SeenPath(Struct, frozen=True, kw_only=True):
    """What was at a path when a call was decided."""

    path: WorkspacePath
    """As the disk spells it, which may differ from what the call asked for where case is ignored."""
    kind: EntryType | None = None
    """None if nothing is there."""
    version: str | None = None
    """Of a file its bytes', of a link its target's; None for the rest."""
    size: int | None = None
    mode: int | None = None
    content: bytes | Callable[[], bytes] | None = None
    """Bytes of a file, target of a link, or what reads them; None unless the call asked for them."""
    facts: ContentFacts | None = None
    """Facts of the bytes, for calls that name no encoding."""
    identity: tuple[int, int, int, int, int] | None = None
    """Of a file: device, inode, size and times. They make its version where it is too large to be hashed."""
    unsaved: UnsavedText | None = None

    @property
    def standing(self) -> tuple[str | None, ...]:
        """The versions that are there: what a read returns first, the file's last."""
        return (self.version,) if self.unsaved is None else (self.unsaved.version, self.version)

    @property
    def stat_version(self) -> str | None:
        """The version of a file too large to be hashed."""
        return None if self.identity is None else stat_version(self.identity)
