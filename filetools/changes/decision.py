"""The bytes that a call puts at a path, and what changes in the document that editors have open there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from filetools.content.editing.text_edits import TextEdit
from filetools.content.facts import ContentFacts
from filetools.content.formats import decode
from filetools.journal.documents import DocumentChange
from filetools.journal.records import Relation
from filetools.models.words import Newline, OnConflict
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
    """Its text."""


class EditReport(Struct, frozen=True, kw_only=True):
    """The effect of edits on a text."""

    text: str
    """The new text."""
    hunks: tuple[dict[str, Any], ...]
    """The changes as a structured patch."""
    counts: tuple[int, ...] = ()
    """How many matches each edit replaced."""
    repairs: tuple[str, ...] = ()
    """A sentence for each edit that was applied although it did not match exactly."""
    context_lines: int = 3
    """Unchanged lines around each change in the hunks."""


class PutDecision(Struct, frozen=True, kw_only=True):
    """The bytes that a call puts at its path."""

    content: bytes
    facts: ContentFacts
    text: str | None = None
    """The text of the bytes, in the encoding that its writer meant; None if they must be decoded to know it."""
    base: str | None = None
    """Version of the text that the change was made from, which may be unsaved; None for the file's."""
    on_conflict: OnConflict = "merge"
    """What to do about an editor's unsaved text; edits care only where they overlap with it."""
    mode: int | None = None
    """Permission bits; None keeps those of the replaced file."""
    like: WorkspacePath | None = None
    """File whose owner, attributes and access list a new file gets, because it replaces it."""
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
    """Codec that the actor named in this call, or when it read the file."""
    is_merged: bool = False
    """True if others' text is in it."""
    is_strict: bool = False
    """True if the caller named the version that it changes, so that a transaction merges nothing into it."""
    edits: Sequence[TextEdit] | None = None
    """The edits that make the file's text this one, in order, if they are known."""
    report: EditReport | None = None
    """The effect of edits; None for other calls."""
    document: DocumentChange | None = None
    """The change of the path's open document."""
    in_buffer: bool = False
    """True if only the open document changes, because the change needs its unsaved text; `content` is that text's."""
    shown: ShownText | None = None
    """The text that reads return, if it is an open document's unsaved text."""
    kept_unsaved: bytes | None = None
    """Unsaved text that is replaced on purpose, as bytes; it is kept as a version first."""
    relations: tuple[Relation, ...] = ()
    """Older records that this change undoes or builds on."""

    @property
    def told_version(self) -> str:
        """The version that the result names: that of what a read returns afterwards."""
        return self.facts.version if self.shown is None else self.shown.version

    def text_for(self, path: WorkspacePath) -> str | None:
        """Return what a read would return afterwards; None for binary content."""
        if self.shown is not None:
            return self.shown.text
        return None if self.facts.text_format is None else decode(self.content, self.facts.text_format, path=path)
