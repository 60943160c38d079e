"""Decides what a call makes of one file, in a turn, and records what its actor knows of the file afterwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.decision import (
    EditReport,
    KnownPath,
    PutDecision,
    facts_now,
    is_version,
    read_as,
    refuse_changed,
    refuse_size,
    require_version,
)
from filetools.changes.parts import Parts
from filetools.changes.steps.files import Decide, MoveFile, PutFile, RemoveFile
from filetools.changes.steps.folders import MoveFolder, RemoveFolderStep
from filetools.changes.steps.look import Look, content_of
from filetools.changes.steps.step import Step
from filetools.changes.steps.unsaved import (
    disk_text,
    overwritten,
    put_beside,
    unsaved_error,
    unsaved_text,
    with_document,
)
from filetools.changes.writing import DecideWrite, WriteRequest, with_text
from filetools.content.differences.diff import patch_of_edits, structured_patch
from filetools.content.editing.edits import BytesOutcome
from filetools.content.facts import describe, inspect
from filetools.content.formats import UTF8, TextFormat
from filetools.content.version import version_of
from filetools.errors import (
    EditNotFoundError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
    VersionMismatchError,
)
from filetools.models.records import Actor
from filetools.models.words import OnConflict
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.gatekeeper import Permit
from filetools.permissions.requests import Proposal

ChangeBytes = Callable[[bytes, TextFormat], BytesOutcome]
CONTEXT_LINES: Final = 3
LOOKED_THROUGH: Final = 1000
"""Records of a path that are searched for a shortened version."""


def seen_by(parts: Parts, look: Look, actor: Actor) -> KnownPath:
    """Return what a decision about one path is based on: what is there, and what its actor knows of it.

    Bytes are read when they are needed.

    Raises:
        HeadMovedError: The path's open document has moved on since the look.
    """
    return KnownPath(
        seen=look, actor=actor, rows=parts.tracker.rows(actor, look.key), unsaved=unsaved_text(parts, look),
        content=partial(content_of, parts, look), had=partial(versions_had, parts, look.key), kept=parts.tracker.text,
    )  # fmt: skip


def versions_had(parts: Parts, key: str) -> Collection[str]:
    """Return the versions that a path has had, according to its newest records."""
    records = parts.journal.records(key=key, limit=LOOKED_THROUGH, newest_first=True)
    return {version for record in records for version in (record.after, record.before) if version is not None}


def refuse_unsaved(parts: Parts, seen: Look) -> None:
    """Refuse to remove or cover a file whose document has unsaved text.

    Raises:
        EditConflictError
    """
    if (opened := unsaved_text(parts, seen)) is not None:
        raise unsaved_error(seen.path, opened.document.version)


def permit_leaving(parts: Parts, actor: Actor, seen: Look) -> None:
    """Refuse to let an agent remove a file whose document has unsaved text.

    Raises:
        EditConflictError
    """
    if actor.kind == "agent":
        refuse_unsaved(parts, seen)


def permit_removal(parts: Parts, actor: Actor, expected: str | None, seen: Look) -> None:
    """Refuse to delete a file that is not at the version that its actor names, or else knows, or has unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    permit_leaving(parts, actor, seen)
    now = seen_by(parts, seen, actor)
    if expected is None:
        refuse_changed(now)
    require_version(now, expected)


def permit_move(parts: Parts, actor: Actor, source: Look, destination: Look) -> None:
    """Refuse to move or cover what others have changed since its actor saw it, and to cover unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    if destination.key != source.key:
        refuse_unsaved(parts, destination)
    for seen in (source, destination):
        refuse_changed(seen_by(parts, seen, actor))


def record_steps(parts: Parts, actor: Actor, steps: Sequence[Step]) -> None:
    """Record what an actor knows after its change."""
    tracker = parts.tracker
    for step in steps:
        if isinstance(step, PutFile):
            _record_put(parts, actor, step)
        elif isinstance(step, RemoveFile):
            tracker.forget(actor, step.seen.key)
        elif isinstance(step, RemoveFolderStep):
            tracker.forget_below(actor, parts.workspace.key(step.paths[0]))
        elif isinstance(step, MoveFile):
            tracker.move(actor, *(end.key for end in step.seen))
        elif isinstance(step, MoveFolder):
            tracker.move_below(actor, *map(parts.workspace.key, step.paths))


def _record_put(parts: Parts, actor: Actor, step: PutFile) -> None:
    decision = step.decision
    key, sent = step.seen.key, decision.sent_version
    if decision.sent is None:
        _record_made(parts, actor, key, step)
        return
    parts.tracker.record_seen(actor, key, sent, content=decision.sent, encoding=decision.encoding)
    told = {step.decision.facts.version, decision.told_version, step.seen.version if decision.in_buffer else None}
    for version in told - {sent}:
        if version is not None:
            parts.tracker.record_reported(actor, key, version, base=sent)


def _record_made(parts: Parts, actor: Actor, key: str, step: PutFile) -> None:
    """Record an edit of the file, of its unsaved text, or of both; the one that the actor knew comes first."""
    decision = step.decision
    made: list[tuple[str | None, str, bytes | None]] = []
    if not decision.in_buffer:
        made.append((step.seen.version, step.decision.facts.version, None))
    if decision.shown is not None:
        made.append((decision.shown.before, decision.shown.version, decision.shown.content))
    known = parts.tracker.base(actor, key)
    base = None if known is None else known.base
    for before, after, content in sorted(made, key=lambda change: change[0] != base):
        parts.tracker.record_made(actor, key, before, after, content=content)


def decide_as_asked(
    parts: Parts, look: Look, *, decide: DecideWrite, request: WriteRequest, actor: Actor
) -> PutDecision:
    """Return what a write puts at a path, as one of the functions in `writing` decides it."""
    return decide(seen_by(parts, look, actor), request, parts.settings)


def decide_copy(parts: Parts, look: Look, source: WorkspacePath, actor: Actor, *, overwrite: bool) -> PutDecision:
    """Copy another file's bytes and mode.

    Raises:
        PathExistsError: Something is there, and `overwrite` is False.
        VersionMismatchError: Others have changed what it would cover since its actor saw it.
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError: Of the source.
    """
    if look.stat is not None and not overwrite:
        raise PathExistsError(look.path)
    if parts.workspace.key(source) == look.key:
        raise InvalidArgumentError(f"Source and destination are the same file: {source}", path=source)
    refuse_changed(seen_by(parts, look, actor))
    content, stat = parts.store.read(source, limit=parts.settings.max_write_bytes)
    return PutDecision(content=content, facts=inspect(content, name=look.path)[0], mode=stat.mode, is_strict=True)


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
        """Apply the change to the unsaved text if there is one, else to the file.

        Raises:
            EditNotFoundError, EditAmbiguousError, EncodingError, VersionMismatchError, PathNotFoundError
        """
        now, expected = seen_by(parts, seen, self.actor), self.expected_version
        if now.unsaved is None:
            if seen.stat is None:
                raise PathNotFoundError(seen.path)
            require_version(now, expected)
            return self.made(now.content(), facts_now(now).text_format)
        if expected is not None and not is_version(now.unsaved.version, expected):
            require_version(now, expected)
        try:
            return replace(self.made(*now.unsaved.shown), base=now.unsaved.version)
        except EditNotFoundError:  # perhaps only the file contains what is edited
            if seen.stat is not None and disk_text(parts, seen) is not None:
                with suppress(EditNotFoundError):
                    return self.made(now.content(), now.unsaved.document.text_format)
            raise

    def format_of(self, parts: Parts, path: WorkspacePath, content: bytes) -> TextFormat | None:
        """Return how a file's text is stored, as its actor reads it."""
        known = parts.tracker.base(self.actor, parts.workspace.key(path))
        is_foreign = known is not None and known.base != version_of(content)
        encoding = None if known is None else known.encoding
        return read_as(content, encoding, name=path, is_foreign=is_foreign)[0].text_format

    def made(self, content: bytes, text_format: TextFormat | None) -> PutDecision:
        """Return the decision for a file's bytes.

        Args:
            content: The bytes.
            text_format: How they are text; None if they are not.

        Raises:
            InvalidArgumentError: They are not text.
            EditNotFoundError, EditAmbiguousError, EncodingError: The change does not fit them.
        """
        if text_format is None:
            raise InvalidArgumentError(f"{self.path} is binary; it can only be replaced as a whole", path=self.path)
        made, lines = self.apply(content, text_format), self.context_lines
        text, edits = made.outcome.text, made.outcome.spans
        after, version = made.text_format or text_format, version_of(made.content)
        # Hunks are made here, in the worker, and not on the loop: the time for them grows with the text.
        hunks = tuple(hunk.to_dict() for hunk in patch_of_edits(made.before, text, edits, lines))
        counts, repairs = made.outcome.counts, made.outcome.repairs
        return PutDecision(
            content=made.content,
            facts=describe(made.content, text, after, name=self.path, version=version),
            text=text,
            edits=edits,
            report=EditReport(hunks=hunks, counts=counts, repairs=repairs, context_lines=lines),
            is_strict=self.expected_version is not None,
            mode=self.mode,
            on_conflict=self.on_conflict,
        )


class AnsweredPut(Struct, frozen=True, kw_only=True):
    """Applies a person's answer if the file and its unsaved text are still what they saw. A `Decide`."""

    text: str
    """The text that the person allowed or gave."""
    proposal: Proposal
    """What they saw; they are asked again if another unsaved text would be dropped."""
    own: Decide
    """The call's own decision; what it refuses is refused."""
    actor: Actor

    def __call__(self, parts: Parts, look: Look) -> PutDecision:
        """Return the decision for the person's text.

        Raises:
            VersionMismatchError: The file is not what the person saw.
            UnsavedQuestion: The unsaved text is not what they saw, so they must be asked again.
            FileToolsError: As the call itself.
        """
        now, shown = seen_by(parts, look, self.actor), self.proposal
        opened = now.unsaved
        drops_unsaved = shown.replacing_unsaved is not None
        seen = (shown.version,) if shown.unsaved_version is None else (shown.unsaved_version, shown.version)
        is_seen = now.standing == seen
        if not is_seen and not drops_unsaved:
            reason = "it is not what the person saw who gave it another text; repeat the call unchanged"
            raise VersionMismatchError(look.path, seen[0], now.standing[0], reason=reason)
        own = self.own(parts, look)
        if drops_unsaved:
            own = replace(own, on_conflict="allow" if is_seen else "ask")
        if not is_seen:
            return own
        own = with_document(parts, look, own)
        if own.text_for(look.path) == self.text:
            return own
        made = self._instead(parts, now, own, (disk_text(parts, look) or "") if opened is None else opened.text)
        if opened is not None and not drops_unsaved:
            # They saw the unsaved text, and their change of it is merged into it like any other change.
            made = put_beside(parts, look, opened, opened.text, self.text, made)
        elif opened is not None:
            made = overwritten(look, opened, made)
        hunks = structured_patch(own.text_for(look.path) or "", made.text_for(look.path) or "")
        return replace(made, is_merged=True, foreign=tuple(dict(hunk.to_dict()) for hunk in hunks))

    def _instead(self, parts: Parts, now: KnownPath, own: PutDecision, before: str) -> PutDecision:
        """Return the decision for the person's text, ignoring unsaved text."""
        there = now.seen.facts
        form = own.facts.text_format or (there and there.text_format) or UTF8
        made = with_text(own, now.seen.path, self.text, form, before)
        refuse_size(now.seen.path, len(made.content), parts.settings)
        known = now.newest
        if made.sent is None and known is not None and known.base in now.standing:
            # Its actor knows only what it sent, so that its next whole text is merged with the person's.
            if own.shown is not None and known.base == own.shown.before:
                made = replace(made, sent=own.shown.content, sent_version=own.shown.version)
            elif own.in_buffer:  # it knows the file as it is
                made = replace(made, sent=now.content(), sent_version=known.base)
            else:
                made = replace(made, sent=own.content, sent_version=own.facts.version)
        return made


def decide_as_allowed(permit: Permit, own: Decide, actor: Actor) -> Decide:
    """Return the decision of a call that a person has allowed: its own one, or that for the text that they saw or gave."""
    proposal = permit.proposal
    text = proposal.replacing_unsaved if permit.edited_text is None else permit.edited_text
    if text is None:
        return own
    return AnsweredPut(text=text, proposal=proposal, own=own, actor=actor)
