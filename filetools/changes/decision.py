"""What a call wants to stand at a path, and what becomes of the document that editors have open there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from filetools.content.editing.text_edits import TextEdit
from filetools.content.facts import ContentFacts
from filetools.content.formats import decode
from filetools.journal.changes import Relation
from filetools.journal.documents import DocumentChange
from filetools.models.words import Newline
from filetools.paths.workspace_path import WorkspacePath


class ShownText(Struct, frozen=True, kw_only=True):
    """What reads return around a change, where unsaved text makes that another text than the file's."""

    before: str
    """Version of the unsaved text before the change."""
    version: str
    """Version of what a read returns afterwards."""
    content: bytes
    """Its bytes."""
    text: str
    """What they say."""


class EditReport(Struct, frozen=True, kw_only=True):
    """What edits did to a text."""

    text: str
    """What they made of it."""
    hunks: tuple[dict[str, Any], ...]
    """What changed, in the form of a structured patch."""
    counts: tuple[int, ...] = ()
    """How many matches each edit replaced."""
    repairs: tuple[str, ...] = ()
    """Where a text was not there as it was sent and was taken for what it means: a sentence each."""
    context_lines: int = 3
    """Unchanged lines around each change in the hunks."""


class PutDecision(Struct, frozen=True, kw_only=True):
    """What a call wants to stand at its path."""

    content: bytes
    facts: ContentFacts
    mode: int | None = None
    """Permission bits; None keeps those of the replaced file."""
    like: WorkspacePath | None = None
    """File whose owner, attributes and access list a new one takes over, since it stands for it."""
    added_bytes: int | None = None
    """For append: how many bytes were added."""
    sent: bytes | None = None
    """The whole text that the caller sent, unmerged; None for a change of the current content."""
    sent_version: str = ""
    foreign: tuple[dict[str, Any], ...] = ()
    """Hunks of the merged text that the caller did not send."""
    newline: Newline | None = None
    """Line end that was kept although the caller wrote another."""
    encoding: str | None = None
    """Codec that its actor named, in this call or when it read the file."""
    is_merged: bool | None = None
    """Whether others' text is in it; None if it is where something else was sent than shall stand there."""
    is_same_change: bool = False
    """Whether others have made the same change since the writer knew the file."""
    is_strict: bool = False
    """Whether the caller named the version that it changes, so that a transaction merges nothing into it."""
    edits: Sequence[TextEdit] | None = None
    """What should make the file's text this one, in order, where that is known."""
    report: EditReport | None = None
    """What edits did; None for other calls."""
    document: DocumentChange | None = None
    """What becomes of the path's open document along with it."""
    in_buffer: bool = False
    """Whether the open document alone changes, since the change needs its unsaved text; `content` is that text's."""
    shown: ShownText | None = None
    """What reads return, where that is an open document's unsaved text."""
    kept_unsaved: bytes | None = None
    """Unsaved text that is replaced on purpose, as bytes; kept as a version first."""
    relations: tuple[Relation, ...] = ()
    """Older records that this change undoes or builds on."""
    warnings: tuple[dict[str, Any], ...] = ()
    """What its caller should hear."""

    @property
    def merged(self) -> bool:
        """Whether others' text is in it."""
        if self.is_merged is not None:
            return self.is_merged
        return self.sent is not None and self.sent_version != self.facts.version

    @property
    def told_version(self) -> str:
        """The version that the result names: that of what a read returns afterwards."""
        return self.facts.version if self.shown is None else self.shown.version

    def text_for(self, path: WorkspacePath) -> str | None:
        """Return what a read would return afterwards; None for binary content."""
        if self.shown is not None:
            return self.shown.text
        return None if self.facts.text_format is None else decode(self.content, self.facts.text_format, path=path)
