"""Edits and patches: applied in a turn to the current bytes; only the edited spans change."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.decision import PutDecision
from filetools.changes.editing import CONTEXT_LINES, ChangeBytes, changed_text, with_text
from filetools.changes.knowledge import (
    Knowledge,
    bytes_now,
    facts_now,
    is_version,
    read_as,
    require_file_or_nothing,
    require_version,
)
from filetools.content.differences.merging import merge
from filetools.content.formats import TextFormat
from filetools.content.version import version_of
from filetools.editors.open_text import OpenText
from filetools.errors import EditConflictError, EditNotFoundError, PathNotFoundError
from filetools.facade.deciding.seeing import seen_by
from filetools.facade.parts import Parts
from filetools.facade.steps.look import Look, content_of
from filetools.facade.steps.unsaved import UnsavedQuestion, disk_text, overwritten, put_beside, unsaved_text
from filetools.models.records import Actor
from filetools.models.words import OnConflict
from filetools.paths.workspace_path import WorkspacePath


class TextChange(Struct, frozen=True, kw_only=True):
    """One change of a file's text; its `decide` is called in a turn."""

    path: WorkspacePath
    apply: ChangeBytes
    actor: Actor
    expected_version: str | None = None
    on_conflict: OnConflict = "merge"
    """What to do where it overlaps with unsaved text: "allow" replaces only what overlaps."""
    context_lines: int = CONTEXT_LINES
    mode: int | None = None
    """Permission bits that the file gets; None keeps its own."""

    def decide(self, parts: Parts, seen: Look) -> PutDecision:
        """Apply the change to the current content.

        Raises:
            EditNotFoundError, EditAmbiguousError, EncodingError, VersionMismatchError, PathNotFoundError
            EditConflictError: It overlaps with unsaved text.
            UnsavedQuestion: It overlaps with unsaved text, and a person must decide.
        """
        now, knowledge = seen_by(parts, seen, self.actor)
        opened = unsaved_text(parts, seen)
        if opened is not None:
            if self.expected_version is not None and not is_version(now.standing[0], self.expected_version):
                require_version(now, knowledge, self.expected_version)
            return self._beside(parts, seen, opened)
        require_file_or_nothing(now, parts.settings)
        if now.kind is None:
            raise PathNotFoundError(now.path)
        require_version(now, knowledge, self.expected_version)
        return self.made(bytes_now(now), facts_now(now, knowledge).text_format)

    def _beside(self, parts: Parts, seen: Look, opened: OpenText) -> PutDecision:
        """Apply the change to the unsaved text, or to the file's if only that contains what is edited."""
        form = opened.document.text_format
        made, base = None, opened.text
        try:
            made = self.made(parts.documents.texts.bytes_of(opened)[0], form)
        except EditNotFoundError:
            if seen.stat is not None:
                base = disk_text(parts, seen) or ""
                with suppress(EditNotFoundError):
                    made = self.made(content_of(parts, seen), form)
            if made is None:
                raise
        assert made.report is not None
        text = made.report.text
        try:
            return put_beside(parts, seen, opened, base, text, made, edits=made.edits)
        except EditConflictError as overlap:
            if self.on_conflict in ("merge", "cancel"):
                raise
            # An edit replaces only what it overlaps with; other unsaved text stays.
            by_words = parts.settings.is_prose(self.path)
            merged = merge(base, opened.text, text, keep="theirs", by_words=by_words).text
            proposed = text if merged is None else merged
            if self.on_conflict == "allow":
                return overwritten(parts, seen, opened, with_text(made, self.path, proposed, form, opened.text))
            raise UnsavedQuestion(
                self.path, opened, base_text=base, proposed=proposed, disk_version=seen.version
            ) from overlap

    def format_of(self, parts: Parts, path: WorkspacePath, content: bytes) -> TextFormat | None:
        """Return how a file's text is stored, as its actor reads it."""
        known = Knowledge(actor=self.actor, rows=parts.tracker.rows(self.actor, parts.workspace.key(path)))
        is_foreign = known.is_outdated(version_of(content))
        return read_as(content, known.encoding, name=path, is_foreign=is_foreign)[0].text_format

    def made(self, content: bytes, text_format: TextFormat | None) -> PutDecision:
        """Return the decision for a file's bytes.

        Args:
            content: The bytes.
            text_format: How they are text; None if they are not.

        Raises:
            InvalidArgumentError: They are not text.
            EditNotFoundError, EditAmbiguousError, EncodingError: The change does not fit them.
        """
        # Hunks are made here, in the worker, and not on the loop: the time for them grows with the text.
        made = changed_text(self.path, content, text_format, self.apply, context_lines=self.context_lines)
        return replace(made, is_strict=self.expected_version is not None, mode=self.mode)
