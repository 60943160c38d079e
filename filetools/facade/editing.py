"""Edits and patches: applied under the lock to the bytes that stand there, and only the touched spans change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from msgspec import Struct

from filetools.content.diff import minimal_edits, patch_of_edits
from filetools.content.edits import BytesOutcome, Edit, EditOutcome, apply_edits_to_bytes, insert_lines_in_bytes
from filetools.content.facts import ContentFacts, describe
from filetools.content.formats import TextFormat, encode
from filetools.content.merging import merge, merge_keeping
from filetools.content.text_edits import tally_after
from filetools.content.version import version_of
from filetools.editors.open_text import OpenText
from filetools.errors import (
    EditConflictError,
    EditNotFoundError,
    InvalidArgumentError,
)
from filetools.facade.encodings import facts_as_read, named_encoding, read_as
from filetools.facade.expected import matches
from filetools.facade.look import Look, content_of
from filetools.facade.outcomes import number_of
from filetools.facade.parts import Parts
from filetools.facade.preconditions import require_version
from filetools.facade.steps.decision import PutDecision
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.unsaved import UnsavedQuestion, disk_text, overwritten, put_beside, unsaved_text
from filetools.facade.way import Outcome
from filetools.facade.writing import require_file
from filetools.models.files import EditResult
from filetools.models.records import Actor
from filetools.models.words import OnConflict
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.requests import Settled

CONTEXT_LINES: Final = 3
_ASKING: Final = ("merge_or_ask", "ask_if_attended")
ApplyToBytes = Callable[[bytes, TextFormat], BytesOutcome]


class Beside(Struct, frozen=True, kw_only=True):
    """What a change did where an editor has unsaved text."""

    version_before: str
    """Version of the unsaved text."""
    in_buffer: bool
    disk_version: str | None


class TextChange:
    """One change of a file's text on its way: decided under the lock, remembered for the result. Used once."""

    def __init__(
        self, path: WorkspacePath, apply: ApplyToBytes, actor: Actor, *, expected_version: str | None = None
    ) -> None:
        self.path = path
        self._apply = apply
        self._actor = actor
        self.expected_version = expected_version
        self.outcome = EditOutcome(text="", spans=(), counts=())
        self.version = ""
        self.unsaved: Beside | None = None
        self.on_conflict: OnConflict = "merge"
        self.settled: Settled | None = None
        self.context_lines = CONTEXT_LINES
        self.hunks: list[dict[str, Any]] = []
        """What changed, in the form of a structured patch."""

    def step(self) -> PutFile:
        """Return the step that makes the change."""
        return PutFile(self.path, self.decide, create_parents=False)

    def decide(self, parts: Parts, seen: Look) -> PutDecision:
        """Apply the change to what stands there."""
        opened = unsaved_text(parts, seen)
        if opened is not None:
            return self._beside(parts, seen, opened)
        require_file(seen)
        require_version(parts, seen, self._actor, self.expected_version)
        facts = facts_as_read(parts, seen, self._actor)
        return self.made(content_of(parts, seen), None if facts is None else facts.text_format, facts)

    def _beside(self, parts: Parts, seen: Look, opened: OpenText) -> PutDecision:
        """Apply the change to unsaved text; to the file's where that has what the unsaved one has not."""
        content, version = parts.documents.texts.bytes_of(opened)
        if self.expected_version is not None and not matches(version, self.expected_version):
            require_version(parts, seen, self._actor, self.expected_version)
        if self.settled is not None and self.settled.asked.is_about(opened.document.version, seen.version):
            return self._as_settled(parts, seen, opened, self.settled.text)
        base = opened.text
        try:
            self.made(content, opened.document.text_format)
        except EditNotFoundError:
            base = disk_text(parts, seen) or ""
            with suppress(EditNotFoundError):
                self.made(content_of(parts, seen), opened.document.text_format)
            if not self.version:
                raise
        try:
            decision = put_beside(parts, seen, opened, base, self.outcome.text, edits=self.outcome.spans)
        except EditConflictError as overlap:
            if self.on_conflict not in _ASKING:
                raise
            raise self._question(parts, opened, base, seen.version) from overlap
        self.version = decision.told_version
        self.unsaved = Beside(
            version_before=version,
            in_buffer=decision.in_buffer,
            disk_version=seen.version if decision.in_buffer else decision.facts.version,
        )
        return decision

    def preview_beside(self, parts: Parts, opened: OpenText, on_disk: str, disk_version: str | None) -> str:
        """Return what unsaved text becomes by a change that only fits the file.

        Raises:
            UnsavedQuestion: They overlap, and a person must decide.
            EditNotFoundError, EditAmbiguousError: It fits neither.
        """
        content, _ = parts.store.read(self.path, limit=parts.settings.max_write_bytes)
        self.made(content, opened.document.text_format)
        merged = merge(on_disk, opened.text, self.outcome.text, by_words=parts.settings.is_prose(self.path)).text
        if merged is None and self.on_conflict in _ASKING:
            raise self._question(parts, opened, on_disk, disk_version)
        return self.outcome.text if merged is None else merged

    def _question(self, parts: Parts, opened: OpenText, base: str, disk_version: str | None) -> UnsavedQuestion:
        # Only what overlaps shall give way to an edit; what else is unsaved is none of its business.
        by_words = parts.settings.is_prose(self.path)
        merged = merge_keeping(base, opened.text, self.outcome.text, "theirs", by_words=by_words)
        proposed = self.outcome.text if merged is None else merged
        return UnsavedQuestion(self.path, opened, base_text=base, proposed=proposed, disk_version=disk_version)

    def _as_settled(self, parts: Parts, seen: Look, opened: OpenText, text: str) -> PutDecision:
        """Write what a person decided to have there, in the file and in the document."""
        form = opened.document.text_format
        content = encode(text, form, path=self.path)
        before, self.version = parts.documents.texts.bytes_of(opened)[1], version_of(content)
        self._note(opened.text, EditOutcome(text=text, spans=tuple(minimal_edits(opened.text, text)), counts=()))
        self.unsaved = Beside(version_before=before, in_buffer=False, disk_version=self.version)
        facts = describe(content, text, form, name=self.path, version=self.version)
        return overwritten(parts, seen, opened, PutDecision(content=content, facts=facts))

    def preview(self, parts: Parts) -> str:
        """Apply the change to what stands there without writing it; returns the version it was applied to."""
        document = parts.journal.view(parts.workspace.key(self.path)).document
        opened = None if document is None else parts.documents.texts.newest(document.id)
        if opened is not None and opened.document.is_dirty:
            content, version = parts.documents.texts.bytes_of(opened)
            self.made(content, opened.document.text_format)
            return version
        content, _ = parts.store.read(self.path, limit=parts.settings.max_write_bytes)
        self.made(content, self.format_of(parts, self.path, content))
        return version_of(content)

    def format_of(self, parts: Parts, path: WorkspacePath, content: bytes) -> TextFormat | None:
        """Return how a file's text is stored, as its actor reads it."""
        key = parts.workspace.key(path)
        is_foreign = parts.tracker.changed_by_others(self._actor, key, version_of(content))
        named = named_encoding(parts, key, self._actor)
        return read_as(content, named, name=path, is_foreign=is_foreign).text_format

    def made(self, content: bytes, text_format: TextFormat | None, known: ContentFacts | None = None) -> PutDecision:
        """Return the decision for a file's bytes.

        Args:
            content: The bytes.
            text_format: How they are text; None if they are not.
            known: What is known of them, in this format.

        Raises:
            InvalidArgumentError: They are not text.
            EditNotFoundError, EditAmbiguousError, EncodingError: The change does not fit them.
        """
        if text_format is None:
            raise InvalidArgumentError(f"{self.path} is binary; it can only be replaced as a whole", path=self.path)
        made = self._apply(content, text_format)
        text, spans = made.outcome.text, made.outcome.spans
        self._note(made.before, made.outcome)
        self.version = version_of(made.content)
        tallied = None
        if known is not None and known.newline is not None and known.total_lines is not None:
            tallied = tally_after((known.newline, known.total_lines), made.before, text, spans)
        after = made.text_format or text_format
        facts = describe(made.content, text, after, name=self.path, version=self.version, tallied=tallied)
        return PutDecision(content=made.content, facts=facts, edits=spans)

    def _note(self, before: str, outcome: EditOutcome) -> None:
        # Here, in the worker, and not for the result on the loop: it takes time that grows with the text.
        self.outcome = outcome
        found = patch_of_edits(before, outcome.text, outcome.spans, self.context_lines)
        self.hunks = [hunk.to_dict() for hunk in found]


def edits_change(
    path: WorkspacePath,
    edits: Sequence[Edit],
    actor: Actor,
    *,
    expected_version: str | None,
    context_lines: int = CONTEXT_LINES,
) -> TextChange:
    """Return the change that some replacements make.

    Raises:
        InvalidArgumentError: `context_lines` is negative.
    """
    if context_lines < 0:
        raise InvalidArgumentError(f"context_lines must be at least 0, not {context_lines}")
    change = TextChange(path, partial(_apply_edits, edits=edits, path=path), actor, expected_version=expected_version)
    change.context_lines = context_lines
    return change


def insertion(path: WorkspacePath, line: int, text: str, actor: Actor, *, expected_version: str | None) -> TextChange:
    """Return the change that new lines after a line make; 0 is before the first."""

    def apply(content: bytes, text_format: TextFormat) -> BytesOutcome:
        return insert_lines_in_bytes(content, text_format, line, text, path=path)

    return TextChange(path, apply, actor, expected_version=expected_version)


def edit_result(change: TextChange, outcome: Outcome | None, before: str) -> EditResult:
    """Return the result of one change; `outcome` is None for a dry run."""
    record = outcome.changes[0] if outcome is not None else None
    unsaved = change.unsaved
    before = before if unsaved is None else unsaved.version_before
    return EditResult(
        path=change.path,
        version=change.version,
        replaced_version=before,
        counts=list(change.outcome.counts),
        structured_patch=change.hunks,
        dry_run=outcome is None,
        unchanged=change.version == before,
        in_buffer=unsaved is not None and unsaved.in_buffer,
        disk_version=None if unsaved is None or unsaved.disk_version == change.version else unsaved.disk_version,
        number=number_of(record),
        mirror=outcome.mirror if outcome is not None else "off",
        warnings=[*repaired(change.outcome.repairs), *(outcome.warnings if outcome is not None else ())],
    )


def repaired(repairs: Sequence[str]) -> list[dict[str, Any]]:
    """Return the warnings that tell what was taken for what it means."""
    return [{"code": "REPAIRED", "message": repair} for repair in repairs]


def _apply_edits(content: bytes, text_format: TextFormat, *, edits: Sequence[Edit], path: str) -> BytesOutcome:
    return apply_edits_to_bytes(content, text_format, edits, path=path)
