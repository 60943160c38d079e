"""Edits and patches: applied under the lock to the bytes that stand there, and only the touched spans change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from filetools.content import (
    BytesOutcome,
    Edit,
    EditOutcome,
    FilePatch,
    TextFormat,
    apply_edits_to_bytes,
    apply_file_patch,
    decode,
    describe,
    encode,
    insert_lines_in_bytes,
    inspect,
    merge_keeping,
    minimal_edits,
    parse_patch,
    patch_of_edits,
    version_of,
)
from filetools.editors import OpenText
from filetools.errors import (
    EditConflictError,
    EditNotFoundError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
)
from filetools.facade.encodings import facts_as_read, named_encoding, read_as
from filetools.facade.expected import matches
from filetools.facade.look import Look, content_of
from filetools.facade.outcomes import number_of
from filetools.facade.parts import Parts
from filetools.facade.preconditions import permit_move, permit_removal, require_version
from filetools.facade.requests import MOST_FILES, Settled
from filetools.facade.runner import Runner
from filetools.facade.steps import (
    Decision,
    MoveFile,
    PutFile,
    RemoveFile,
    UnsavedQuestion,
    disk_text,
    overwritten,
    put_beside,
    unsaved_error,
    unsaved_text,
)
from filetools.facade.way import Outcome
from filetools.facade.writing import UTF_8, require_file
from filetools.models import Actor, EditResult, OnConflict, PatchedFile, PatchResult
from filetools.paths import WorkspacePath

CONTEXT_LINES: Final = 3
ApplyToBytes = Callable[[bytes, TextFormat], BytesOutcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
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

    def decide(self, parts: Parts, seen: Look) -> Decision:
        """Apply the change to what stands there."""
        opened = unsaved_text(parts, seen)
        if opened is not None:
            return self._beside(parts, seen, opened)
        require_file(seen)
        require_version(parts, seen, self._actor, self.expected_version)
        facts = facts_as_read(parts, seen, self._actor)
        return self.made(content_of(parts, seen), facts.text_format if facts is not None else None)

    def _beside(self, parts: Parts, seen: Look, opened: OpenText) -> Decision:
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
            decision = put_beside(parts, seen, opened, base, self.outcome.text)
        except EditConflictError as overlap:
            if self.on_conflict != "merge_or_ask":
                raise
            # Only what overlaps shall give way to an edit; what else is unsaved is none of its business.
            by_words = parts.settings.is_prose(seen.path)
            merged = merge_keeping(base, opened.text, self.outcome.text, "theirs", by_words=by_words)
            proposed = self.outcome.text if merged is None else merged
            question = UnsavedQuestion(seen.path, opened, base_text=base, proposed=proposed, disk_version=seen.version)
            raise question from overlap
        self.version = decision.told_version
        self.unsaved = Beside(
            version_before=version,
            in_buffer=decision.in_buffer,
            disk_version=seen.version if decision.in_buffer else decision.facts.version,
        )
        return decision

    def _as_settled(self, parts: Parts, seen: Look, opened: OpenText, text: str) -> Decision:
        """Write what a person decided to have there, in the file and in the document."""
        form = opened.document.text_format
        content = encode(text, form, path=self.path)
        before, self.version = parts.documents.texts.bytes_of(opened)[1], version_of(content)
        self._note(opened.text, EditOutcome(text=text, spans=tuple(minimal_edits(opened.text, text)), counts=()))
        self.unsaved = Beside(version_before=before, in_buffer=False, disk_version=self.version)
        facts = describe(content, text, form, name=self.path, version=self.version)
        return overwritten(parts, seen, opened, Decision(content=content, facts=facts))

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

    def made(self, content: bytes, text_format: TextFormat | None) -> Decision:
        """Return the decision for a file's bytes.

        Raises:
            InvalidArgumentError: They are not text.
            EditNotFoundError, EditAmbiguousError, EncodingError: The change does not fit them.
        """
        if text_format is None:
            raise InvalidArgumentError(f"{self.path} is binary; it can only be replaced as a whole", path=self.path)
        made = self._apply(content, text_format)
        self._note(decode(content, text_format, path=self.path), made.outcome)
        self.version = version_of(made.content)
        facts = describe(made.content, made.outcome.text, text_format, name=self.path, version=self.version)
        return Decision(content=made.content, facts=facts)

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


class PatchCall:
    """One patch over any number of files on its way: a step for each file, all or nothing. Used once."""

    def __init__(self, runner: Runner, actor: Actor, text: str) -> None:
        """Parse an actor's patch.

        Raises:
            InvalidArgumentError: It is malformed, or names a file twice.
        """
        self.patches = parse_patch(text)
        self._repairs = [hunk.repair for patch in self.patches for hunk in patch.hunks if hunk.repair]
        self.steps: list[PutFile | RemoveFile | MoveFile] = []
        self._changes: list[TextChange | None] = []
        self.deleted = [runner.resolve(patch.path) for patch in self.patches if patch.kind == "delete"]
        self._runner = runner
        self._actor = actor
        if len(self.patches) > MOST_FILES:
            raise InvalidArgumentError(f"At most {MOST_FILES} files in one call, not {len(self.patches)}")
        for patch in self.patches:
            self._add(patch)
        self.paths = [path for step in self.steps for path in step.paths]
        if len({runner.parts.workspace.key(path) for path in self.paths}) < len(self.paths):
            raise InvalidArgumentError("The patch names one file twice; put all its hunks under one header")

    def preview(self, parts: Parts) -> None:
        """Apply it to what stands there without writing anything.

        Raises:
            EditNotFoundError, EditAmbiguousError, PathNotFoundError, PathExistsError, EncodingError
        """
        for patch, change in zip(self.patches, self._changes, strict=True):
            where = self._runner.resolve(patch.path)
            stands = parts.store.stat(where) is not None
            if patch.kind == "add" and stands:
                raise PathExistsError(where)
            if patch.kind != "add" and not stands:
                raise PathNotFoundError(where)
            if change is not None and patch.kind == "update" and patch.move_to is None:
                change.preview(parts)
            elif change is not None and patch.kind == "update":
                content, _ = parts.store.read(where, limit=parts.settings.max_write_bytes)
                if patch.hunks:
                    change.made(content, change.format_of(parts, where, content))
                change.version = change.version or version_of(content)
            elif change is not None:
                change.made(b"", UTF_8)

    def result(self, outcome: Outcome | None) -> PatchResult:
        """Return what it did; `outcome` is None for a dry run."""
        files = [
            PatchedFile(
                path=patch.move_to or patch.path,
                kind="move" if patch.move_to and not patch.hunks else patch.kind,
                old_path=patch.path if patch.move_to else None,
                version=change.version if change is not None else None,
                structured_patch=change.hunks if change is not None else [],
            )
            for patch, change in zip(self.patches, self._changes, strict=True)
        ]
        return PatchResult(
            files=files,
            dry_run=outcome is None,
            number=outcome.records[-1].number if outcome is not None and outcome.records else None,
            mirror=outcome.mirror if outcome is not None else "off",
            warnings=[*repaired(self._repairs), *(outcome.warnings if outcome is not None else ())],
        )

    def _add(self, patch: FilePatch) -> None:
        leaves = patch.kind == "delete" or patch.move_to is not None
        where = (self._runner.resolve_name if leaves else self._runner.resolve)(patch.path)
        for made in (patch.path if patch.kind == "add" else None, patch.move_to):
            if made is not None:
                self._runner.resolve_new(made, as_name=True)
        if patch.kind == "delete":
            self._take(RemoveFile(where, partial(permit_removal, self._runner.parts, self._actor, None)), None)
        elif patch.kind == "add":
            change = TextChange(where, partial(_apply_patch, patch=patch, path=where), self._actor)
            self._take(PutFile(where, partial(_decide_added, change, patch)), change)
        elif patch.move_to is None:
            change = TextChange(where, partial(_apply_patch, patch=patch, path=where), self._actor)
            self._take(PutFile(where, partial(_decide_mode, change, patch), create_parents=False), change)
        elif not patch.hunks and patch.mode is None:
            permit = partial(permit_move, self._runner.parts, self._actor)
            self._take(MoveFile(where, self._runner.resolve_name(patch.move_to), overwrite=False, permit=permit), None)
        else:
            self._add_moved(patch, where, self._runner.resolve_name(patch.move_to))

    def _add_moved(self, patch: FilePatch, source: WorkspacePath, destination: WorkspacePath) -> None:
        # The bytes change on the way, so it is a new file and a deleted one, in one transaction.
        change = TextChange(destination, partial(_apply_patch, patch=patch, path=source), self._actor)
        self.steps.append(PutFile(destination, partial(_decide_moved, change, patch, source)))
        self._take(RemoveFile(source, partial(_permit_leaving, self._runner.parts, self._actor)), change)

    def _take(self, step: PutFile | RemoveFile | MoveFile, change: TextChange | None) -> None:
        self.steps.append(step)
        self._changes.append(change)


def _apply_edits(content: bytes, text_format: TextFormat, *, edits: Sequence[Edit], path: str) -> BytesOutcome:
    return apply_edits_to_bytes(content, text_format, edits, path=path)


def _apply_patch(content: bytes, text_format: TextFormat, *, patch: FilePatch, path: str) -> BytesOutcome:
    return apply_file_patch(content, text_format, patch, path=path)


def _decide_added(change: TextChange, patch: FilePatch, _parts: Parts, seen: Look) -> Decision:
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    made = change.made(b"", UTF_8)
    return Decision(content=made.content, facts=made.facts, mode=patch.mode)


def _decide_mode(change: TextChange, patch: FilePatch, parts: Parts, seen: Look) -> Decision:
    return replace(change.decide(parts, seen), mode=patch.mode)


def _permit_leaving(parts: Parts, actor: Actor, seen: Look) -> None:
    """Refuse to take away a file whose unsaved text would not come along; the hunks themselves tell what is known."""
    if actor.kind == "agent" and (opened := unsaved_text(parts, seen)) is not None:
        raise unsaved_error(seen.path, opened.document.version)


def _decide_moved(change: TextChange, patch: FilePatch, source: WorkspacePath, parts: Parts, seen: Look) -> Decision:
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    content, stat = parts.store.read(source, limit=parts.settings.max_write_bytes)
    mode = stat.mode if patch.mode is None else patch.mode
    if not patch.hunks:  # only name and mode change; it need not be text
        facts = inspect(content, name=seen.path)[0]
        change.version = facts.version
        return Decision(content=content, facts=facts, mode=mode, like=source)
    made = change.made(content, change.format_of(parts, source, content))
    return Decision(content=made.content, facts=made.facts, mode=mode, like=source)
