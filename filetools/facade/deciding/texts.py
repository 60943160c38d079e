"""Decides what a call makes of one file's text: writes, edits and copies, beside unsaved text, and after a person's answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeAlias

from msgspec import Struct, structs
from msgspec.structs import replace

from filetools.changes import writing as changes
from filetools.changes.decision import PutDecision
from filetools.changes.knowledge import (
    Knowledge,
    SeenPath,
    base_bytes,
    bytes_now,
    facts_now,
    is_version,
    read_as,
    refuse_changed,
    refuse_size,
    require_file_or_nothing,
    require_version,
)
from filetools.changes.rebasing import unmergeable
from filetools.changes.writing import CONTEXT_LINES, ChangeBytes, changed_text, with_text
from filetools.content.differences.diff import structured_patch
from filetools.content.differences.merging import merge
from filetools.content.facts import inspect
from filetools.content.formats import UTF8, TextFormat
from filetools.content.version import version_of
from filetools.editors.open_text import OpenText
from filetools.errors import (
    EditConflictError,
    EditNotFoundError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
    VersionMismatchError,
)
from filetools.facade.deciding.actor_knowledge import seen_by
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps.files import Decide
from filetools.facade.steps.look import Look, content_of, facts_of
from filetools.facade.steps.unsaved import (
    UnsavedQuestion,
    disk_text,
    overwritten,
    put_beside,
    unsaved_error,
    unsaved_text,
)
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor
from filetools.models.words import OnConflict
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.gatekeeper import Permit


class DecideWrite(Protocol):
    """One of the `decide_…` functions below."""

    def __call__(self, parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
        """Return what the write puts there, or raise the refusal."""


def decide_write(parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Replace or create a file: what its writer knows is replaced; what others have changed since is merged or refused.

    Raises:
        VersionMismatchError, EditConflictError, EncodingError, FileTooLargeError, InvalidArgumentError
        UnsavedQuestion: A person must decide first.
    """
    return _written(parts, look, request, *seen_by(parts, look, actor))


def _written(parts: Parts, look: Look, request: WriteRequest, now: SeenPath, knowledge: Knowledge) -> PutDecision:
    settings = parts.settings
    opened = None if now.unsaved is None else unsaved_text(parts, look)
    if opened is not None:
        plain, coded = changes.plain_write(now, new=request, knowledge=knowledge, settings=settings)
        if plain.facts.version != now.version:
            changes.require_read(now, knowledge, request)
            return _beside(parts, look, request, now, knowledge, plain, text=coded.text, opened=opened)
    return changes.decide_write(now, new=request, knowledge=knowledge, settings=settings)


def _beside(
    parts: Parts,
    look: Look,
    request: WriteRequest,
    now: SeenPath,
    knowledge: Knowledge,
    plain: PutDecision,
    *,
    text: str | None,
    opened: OpenText,
) -> PutDecision:
    """Decide a whole-file write where an editor has unsaved text of the file.

    Args:
        parts: The workspace.
        look: What is on disk.
        request: The write.
        now: What its writer sees.
        knowledge: What its writer knows.
        plain: What would be decided without unsaved text.
        text: The text that is sent, in the file's form; None for bytes.
        opened: The document.

    Raises:
        VersionMismatchError, EditConflictError, EncodingError
        UnsavedQuestion: A person must decide first.
    """
    if request.on_conflict == "cancel":
        raise unsaved_error(look.path, opened.document.version, is_cancelled=True)
    if text is None:
        raise unsaved_error(look.path, opened.document.version, "and what would replace it is binary")
    base = changes.base_of_write(now, knowledge, request)
    if request.on_conflict == "allow":
        return overwritten(parts, look, opened, plain)
    known = _text_known(parts, look, opened, base, now, knowledge)
    question = partial(UnsavedQuestion, look.path, opened, base_text=known, proposed=text, disk_version=look.version)
    if request.on_conflict == "ask":
        raise question()
    try:
        return put_beside(parts, look, opened, known, text, plain)
    except EditConflictError as overlap:
        if request.on_conflict not in ("merge_or_ask", "ask_if_attended"):
            raise
        raise question() from overlap


def _text_known(
    parts: Parts, look: Look, opened: OpenText, base: SeenVersion | None, now: SeenPath, knowledge: Knowledge
) -> str:
    """Return the text that a writer knows of a file with unsaved text; the file's if it knows none."""
    on_disk = disk_text(parts, look)
    if on_disk is None:
        raise unsaved_error(look.path, opened.document.version, "and its file is binary")
    if base is None or base.base == now.version:
        return on_disk
    if base.base == now.standing[0]:
        return opened.text
    text = inspect(base_bytes(now, knowledge, base.base), name=look.path)[1]
    if text is None:
        raise unmergeable(look.path, base.base, look.version, reason="it was binary then")
    return text


def decide_replace(parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Put bytes there as they are, whatever their writer knows; only unsaved text is merged with them, if they are text.

    Raises:
        VersionMismatchError, EditConflictError, FileTooLargeError
    """
    now, knowledge = seen_by(parts, look, actor)
    opened = unsaved_text(parts, look)
    plain, _ = changes.plain_write(now, new=request, knowledge=knowledge, settings=parts.settings)
    if opened is None or plain.facts.version == now.version:
        require_version(now, knowledge, request.expected_version)
        return plain
    return _beside(parts, look, request, now, knowledge, plain, text=plain.text_for(look.path), opened=opened)


def decide_create(parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Create only.

    Raises:
        PathExistsError: Something is there.
    """
    if look.stat is not None:
        raise PathExistsError(look.path)
    now, knowledge = seen_by(parts, look, actor)
    request = structs.replace(request, expected_version=None)
    # What its writer knew of an earlier file is not its base.
    return _written(parts, look, request, now, structs.replace(knowledge, rows=()))


def decide_append(parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Add to the end of a file; a missing one is created.

    Raises:
        VersionMismatchError, EncodingError, FileTooLargeError, InvalidArgumentError
    """
    now, knowledge = seen_by(parts, look, actor)
    if look.stat is None:
        require_version(now, knowledge, request.expected_version)
        return decide_create(parts, look, request, actor)
    plain = changes.decide_append(now, new=request, knowledge=knowledge, settings=parts.settings)
    opened, base = unsaved_text(parts, look), disk_text(parts, look)
    if opened is None or base is None:
        return plain
    if not plain.edits:
        raise unsaved_error(look.path, opened.document.version, "and what would be added is binary")
    return put_beside(parts, look, opened, base, base + plain.edits[0].text, plain, is_addition=True)


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
    refuse_changed(*seen_by(parts, look, actor))
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


DecideWith: TypeAlias = Callable[[OnConflict], Decide]
"""Returns the decision of a call for one policy about unsaved text."""


class AnsweredPut(Struct, frozen=True, kw_only=True):
    """Applies a person's answer if the file and its unsaved text are still what they saw. A `Decide`."""

    text: str
    """The text that the person allowed or gave."""
    unsaved_version: str | None
    disk_version: str | None
    own: Decide
    """The call's own decision; what it refuses is refused."""
    again: Decide | None = None
    """Decides about unsaved text that they have not seen; None if they saw none that would be dropped."""
    actor: Actor

    def __call__(self, parts: Parts, look: Look) -> PutDecision:
        """Return the decision for the person's text.

        Raises:
            VersionMismatchError: The file is not what the person saw.
            UnsavedQuestion: The unsaved text is not what they saw, so they must be asked again.
            FileToolsError: As the call itself.
        """
        opened = unsaved_text(parts, look)
        unsaved = None if opened is None else parts.documents.texts.bytes_of(opened)[1]
        if (unsaved, look.version) != (self.unsaved_version, self.disk_version):
            if self.again is not None:
                return self.again(parts, look)
            seen, current = (self.unsaved_version or self.disk_version), (unsaved or look.version)
            reason = "it is not what the person saw who gave it another text; repeat the call unchanged"
            raise VersionMismatchError(look.path, seen, current, reason=reason)
        own = self.own(parts, look)
        if own.text_for(look.path) == self.text:
            return own
        made = self._instead(parts, look, own, (disk_text(parts, look) or "") if opened is None else opened.text)
        if opened is not None and self.again is None:
            # They saw the unsaved text, and their change of it is merged into it like any other change.
            made = put_beside(parts, look, opened, opened.text, self.text, made)
        elif opened is not None:
            made = overwritten(parts, look, opened, made)
        hunks = structured_patch(own.text_for(look.path) or "", made.text_for(look.path) or "")
        return replace(made, is_merged=True, foreign=tuple(dict(hunk.to_dict()) for hunk in hunks))

    def _instead(self, parts: Parts, look: Look, own: PutDecision, before: str) -> PutDecision:
        """Return the decision for the person's text, ignoring unsaved text."""
        now, knowledge = seen_by(parts, look, self.actor)
        there = facts_of(parts, look)
        form = own.facts.text_format or (there and there.text_format) or UTF8
        made = with_text(own, look.path, self.text, form, before)
        refuse_size(look.path, len(made.content), parts.settings)
        known = knowledge.newest
        if made.sent is None and known is not None and known.base in now.standing:
            # Its actor knows only what it sent, so that its next whole text is merged with the person's.
            if own.shown is not None and known.base == own.shown.before:
                made = replace(made, sent=own.shown.content, sent_version=own.shown.version)
            elif own.in_buffer:  # it knows the file as it is
                made = replace(made, sent=content_of(parts, look), sent_version=known.base)
            else:
                made = replace(made, sent=own.content, sent_version=own.facts.version)
        return made


def decide_as_allowed(permit: Permit, decide: DecideWith, on_conflict: OnConflict, actor: Actor) -> Decide:
    """Return the decision of a call that a person has allowed."""
    proposal, drops = permit.proposal, permit.proposal.replacing_unsaved is not None
    text = proposal.replacing_unsaved if permit.edited_text is None else permit.edited_text
    if text is None:
        return decide(on_conflict)
    return AnsweredPut(
        text=text, unsaved_version=proposal.unsaved_version, disk_version=proposal.version,
        own=decide("allow" if drops else on_conflict), again=decide("ask") if drops else None, actor=actor,
    )  # fmt: skip


def decide_as_settled(question: UnsavedQuestion, text: str | None, decide: DecideWith, actor: Actor) -> Decide:
    """Return the decision of a call after a person let it replace unsaved text, by its own text or by one that they gave."""
    return AnsweredPut(
        text=question.proposed if text is None else text, unsaved_version=question.unsaved_version,
        disk_version=question.disk_version, own=decide("allow"), again=decide("ask"), actor=actor,
    )  # fmt: skip
