"""Edits and patches: applied in a turn to the bytes that stand there, and only the touched spans change."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from msgspec import Struct

from filetools.changes.editing import CONTEXT_LINES, ChangeBytes, EditAnswer, changed_text, existing_file
from filetools.changes.knowledge import Knowledge, bytes_now, facts_now, is_version, read_as, require_version
from filetools.changes.operations import SeenPath
from filetools.content.differences.diff import minimal_edits, patch_of_edits
from filetools.content.differences.merging import merge
from filetools.content.editing.edits import Edit, apply_edits_to_bytes, insert_lines_in_bytes
from filetools.content.facts import describe
from filetools.content.formats import TextFormat, encode
from filetools.content.version import version_of
from filetools.editors.open_text import OpenText
from filetools.errors import (
    EditConflictError,
    EditNotFoundError,
    InvalidArgumentError,
)
from filetools.facade.deciding.outcomes import number_of
from filetools.facade.deciding.seeing import seen_by
from filetools.facade.parts import Parts
from filetools.facade.steps.decision import PutDecision
from filetools.facade.steps.look import Look, content_of
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.unsaved import UnsavedQuestion, disk_text, overwritten, put_beside, unsaved_text
from filetools.facade.steps.way import Outcome
from filetools.models.files import EditResult
from filetools.models.records import Actor
from filetools.models.words import OnConflict
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.requests import Settled

_ASKING: Final = ("merge_or_ask", "ask_if_attended")


class Beside(Struct, frozen=True, kw_only=True):
    """What a change did where an editor has unsaved text."""

    version_before: str
    """Version of the unsaved text."""
    in_buffer: bool
    disk_version: str | None


class TextChange:
    """One change of a file's text on its way: decided in a turn, remembered for the result. Used once."""

    def __init__(
        self, path: WorkspacePath, apply: ChangeBytes, actor: Actor, *, expected_version: str | None = None
    ) -> None:
        self.path = path
        self._apply = apply
        self._actor = actor
        self.expected_version = expected_version
        self._answer: EditAnswer | None = None
        self.version = ""
        self.unsaved: Beside | None = None
        self.on_conflict: OnConflict = "merge"
        self.settled: Settled | None = None
        self.context_lines = CONTEXT_LINES
        self.hunks: list[dict[str, Any]] = []
        """What changed, in the form of a structured patch."""

    @property
    def repairs(self) -> tuple[str, ...]:
        """Where a text was taken for what it means."""
        return () if self._answer is None else self._answer.repairs

    @property
    def answer(self) -> EditAnswer:
        """What it made of the text."""
        assert self._answer is not None
        return self._answer

    def step(self) -> PutFile:
        """Return the step that makes the change."""
        return PutFile(self.path, self.decide, create_parents=False)

    def decide(self, parts: Parts, seen: Look) -> PutDecision:
        """Apply the change to what stands there."""
        opened = unsaved_text(parts, seen)
        if opened is not None:
            return self._beside(parts, seen, opened)
        at, now, knowledge = seen_by(parts, seen, self._actor)
        existing_file(at, seen.path, parts.settings)
        require_version(at, now, knowledge, self.expected_version)
        facts = facts_now(at, now, knowledge)
        return self.made(bytes_now(at, now), facts.text_format)

    def _beside(self, parts: Parts, seen: Look, opened: OpenText) -> PutDecision:
        """Apply the change to unsaved text; to the file's where that has what the unsaved one has not."""
        content, version = parts.documents.texts.bytes_of(opened)
        if self.expected_version is not None and not is_version(version, self.expected_version):
            require_version(*seen_by(parts, seen, self._actor), self.expected_version)
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
            decision = put_beside(parts, seen, opened, base, self.answer.text, edits=self.answer.edits)
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
        merged = merge(on_disk, opened.text, self.answer.text, by_words=parts.settings.is_prose(self.path)).text
        if merged is None and self.on_conflict in _ASKING:
            raise self._question(parts, opened, on_disk, disk_version)
        return self.answer.text if merged is None else merged

    def _question(self, parts: Parts, opened: OpenText, base: str, disk_version: str | None) -> UnsavedQuestion:
        # Only what overlaps shall give way to an edit; what else is unsaved is none of its business.
        by_words = parts.settings.is_prose(self.path)
        merged = merge(base, opened.text, self.answer.text, keep="theirs", by_words=by_words).text
        proposed = self.answer.text if merged is None else merged
        return UnsavedQuestion(self.path, opened, base_text=base, proposed=proposed, disk_version=disk_version)

    def _as_settled(self, parts: Parts, seen: Look, opened: OpenText, text: str) -> PutDecision:
        """Write what a person decided to have there, in the file and in the document."""
        form = opened.document.text_format
        content = encode(text, form, path=self.path)
        before, self.version = parts.documents.texts.bytes_of(opened)[1], version_of(content)
        spans = tuple(minimal_edits(opened.text, text))
        self.unsaved = Beside(version_before=before, in_buffer=False, disk_version=self.version)
        facts = describe(content, text, form, name=self.path, version=self.version)
        self._keep(EditAnswer(
            path=self.path, content=content, text=text, facts=facts, counts=(),
            hunks=tuple(patch_of_edits(opened.text, text, spans, self.context_lines)), edits=spans,
        ))  # fmt: skip
        return overwritten(parts, seen, opened, PutDecision(content=content, facts=facts))

    def preview(self, parts: Parts) -> str:
        """Apply the change to what stands there without writing it; returns the version it was applied to."""
        document = parts.view(parts.workspace.key(self.path)).document
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
        known = Knowledge(actor=self._actor, rows=parts.tracker.rows(self._actor, parts.workspace.key(path)))
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
        # Here, in the worker, and not for the result on the loop: it takes time that grows with the text.
        now = SeenPath(path=self.path)
        answer = changed_text(now, content, text_format, self._apply, context_lines=self.context_lines)
        self._keep(answer)
        self.version = answer.facts.version
        return PutDecision(content=answer.content, facts=answer.facts, edits=answer.edits)

    def _keep(self, answer: EditAnswer) -> None:
        self._answer = answer
        self.hunks = [hunk.to_dict() for hunk in answer.hunks]


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
    change = TextChange(
        path, partial(apply_edits_to_bytes, edits=edits, path=path), actor, expected_version=expected_version
    )
    change.context_lines = context_lines
    return change


def insertion(path: WorkspacePath, line: int, text: str, actor: Actor, *, expected_version: str | None) -> TextChange:
    """Return the change that new lines after a line make; 0 is before the first."""
    change = partial(insert_lines_in_bytes, line=line, new_text=text, path=path)
    return TextChange(path, change, actor, expected_version=expected_version)


def edit_result(change: TextChange, outcome: Outcome | None, before: str) -> EditResult:
    """Return the result of one change; `outcome` is None for a dry run."""
    record = outcome.changes[0] if outcome is not None else None
    unsaved = change.unsaved
    before = before if unsaved is None else unsaved.version_before
    return EditResult(
        path=change.path,
        version=change.version,
        replaced_version=before,
        counts=list(change.answer.counts),
        structured_patch=change.hunks,
        dry_run=outcome is None,
        unchanged=change.version == before,
        in_buffer=unsaved is not None and unsaved.in_buffer,
        disk_version=None if unsaved is None or unsaved.disk_version == change.version else unsaved.disk_version,
        number=number_of(record),
        mirror=outcome.mirror if outcome is not None else "off",
        warnings=[*repaired(change.repairs), *(outcome.warnings if outcome is not None else ())],
    )


def repaired(repairs: Sequence[str]) -> list[dict[str, Any]]:
    """Return the warnings that tell what was taken for what it means."""
    return [{"code": "REPAIRED", "message": repair} for repair in repairs]
