"""Decides which bytes a write puts at a path. Runs in a turn."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from msgspec import structs

from filetools.changes import writing as changes
from filetools.changes.decision import PutDecision
from filetools.changes.knowledge import Knowledge, base_bytes, refuse_changed, require_version
from filetools.changes.rebasing import unmergeable
from filetools.changes.seen_path import SeenPath
from filetools.content.facts import inspect
from filetools.editors.open_text import OpenText
from filetools.errors import EditConflictError, InvalidArgumentError, PathExistsError
from filetools.facade.deciding.preconditions import same_change
from filetools.facade.deciding.seeing import seen_by
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps.look import Look
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
from filetools.paths.workspace_path import WorkspacePath


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
    settings, opened = parts.settings, unsaved_text(parts, look)
    if opened is not None:
        plain, coded = changes.plain_write(now, new=request, knowledge=knowledge, settings=settings)
        if plain.facts.version != now.version:
            changes.require_read(now, knowledge, request)
            return _beside(parts, look, request, now, knowledge, plain, text=coded.text, opened=opened)
    decision = changes.decide_write(now, new=request, knowledge=knowledge, settings=settings)
    if decision.is_same_change and opened is None:
        return structs.replace(decision, warnings=same_change(parts, look, knowledge.actor))
    return decision


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
