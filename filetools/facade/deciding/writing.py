"""Deciding a write: which bytes a path gets, given what it has. Runs in a turn."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from msgspec import structs

from filetools.changes import writing as changes
from filetools.changes.knowledge import base_bytes, require_version
from filetools.changes.rebasing import unmergeable
from filetools.changes.writing import WriteAnswer
from filetools.content.facts import inspect
from filetools.content.version import version_of
from filetools.editors.open_text import OpenText
from filetools.errors import EditConflictError, InvalidArgumentError, PathExistsError
from filetools.facade.deciding.preconditions import refuse_changed, same_change
from filetools.facade.deciding.seeing import SeenByActor, seen_by
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps.decision import PutDecision, SentText
from filetools.facade.steps.look import Look
from filetools.facade.steps.put import PutFile
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
        """Return what shall stand there, or raise the refusal."""


def put_step(where: WorkspacePath, request: WriteRequest, actor: Actor, decide: DecideWrite) -> PutFile:
    """Return the step that writes what an actor sends."""
    decision = partial(decide, request=structs.replace(request, create_parents=True), actor=actor)
    return PutFile(where, decision, create_parents=request.create_parents)


def decide_write(parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Replace or create: what its writer knows is replaced plainly, what moved on since is merged with or refused.

    Raises:
        VersionMismatchError, EditConflictError, EncodingError, FileTooLargeError, InvalidArgumentError
        UnsavedQuestion: A person must decide first.
    """
    return _written(parts, look, request, *seen_by(parts, look, actor))


def _written(parts: Parts, look: Look, request: WriteRequest, *seen_by_actor: *SeenByActor) -> PutDecision:
    path, settings, opened = look.path, parts.settings, unsaved_text(parts, look)
    seen, now, knowledge = seen_by_actor
    if opened is not None:
        plain, coded = changes.plain_write(seen, path=path, new=request, knowledge=knowledge, settings=settings)
        if plain.facts.version != now.version:
            return _beside(parts, look, request, seen_by_actor, _decision(plain), text=coded.text, opened=opened)
    answer = changes.decide_write(seen, path=path, new=request, knowledge=knowledge, settings=settings)
    if answer.is_same_change and opened is None:
        return structs.replace(_decision(answer), warnings=same_change(parts, look, knowledge.actor))
    return _decision(answer)


def _decision(answer: WriteAnswer) -> PutDecision:
    sent = answer.sent
    if sent is not None:
        version = version_of(sent) if answer.merged else answer.facts.version
    return PutDecision(
        content=answer.content, facts=answer.facts, added_bytes=answer.added_bytes, newline=answer.newline,
        encoding=answer.encoding, edits=answer.edits, sent=None if sent is None else SentText(content=sent, version=version),
        foreign=tuple(dict(hunk.to_dict()) for hunk in answer.foreign), warnings=_left_out(answer),
    )  # fmt: skip


def _left_out(answer: WriteAnswer) -> tuple[dict[str, Any], ...]:
    """Return the warning for a writer who left most of a file out and said that it stays."""
    if answer.left_out is None:
        return ()
    message = (
        f"Line {answer.left_out} says that the rest is unchanged, but this text is now the whole file and most of what stood"
        f" there is gone. Undo this call, or write the whole text."
    )
    return ({"code": "LEFT_OUT", "path": answer.path, "line": answer.left_out, "message": message},)


def _beside(
    parts: Parts,
    look: Look,
    request: WriteRequest,
    seen_by_actor: SeenByActor,
    plain: PutDecision,
    *,
    text: str | None,
    opened: OpenText,
) -> PutDecision:
    """Decide a whole-file write where an editor has unsaved text of the file.

    Args:
        parts: The workspace.
        look: What stands on disk.
        request: The write.
        seen_by_actor: What its writer sees and knows.
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
    asked = request.asked
    if asked is not None and not asked.is_about(opened.document.version, look.version):
        request = structs.replace(request, on_conflict="ask", asked=None)  # it is not what the person saw any more
    base = changes.base_of_write(*seen_by_actor, request)
    if request.on_conflict == "allow":
        return overwritten(parts, look, opened, plain)
    known = _text_known(parts, look, opened, base, seen_by_actor)
    question = UnsavedQuestion(look.path, opened, base_text=known, proposed=text, disk_version=look.version)
    if request.on_conflict == "ask":
        raise question
    try:
        placed = put_beside(parts, look, opened, known, text)
    except EditConflictError as overlap:
        if request.on_conflict not in ("merge_or_ask", "ask_if_attended"):
            raise
        raise question from overlap
    return structs.replace(placed, newline=plain.newline, sent=plain.sent, encoding=plain.encoding)


def _text_known(
    parts: Parts, look: Look, opened: OpenText, base: SeenVersion | None, seen_by_actor: SeenByActor
) -> str:
    """Return the text that a writer knows, of a file whose unsaved text reads return; of an unknown one the file's."""
    seen, now, _ = seen_by_actor
    on_disk = disk_text(parts, look)
    if on_disk is None:
        raise unsaved_error(look.path, opened.document.version, "and its file is binary")
    if base is None or base.base == now.version:
        return on_disk
    if base.base == now.standing[0]:
        return opened.text
    text = inspect(base_bytes(seen, now, base.base), name=look.path)[1]
    if text is None:
        raise unmergeable(look.path, base.base, look.version, reason="it was binary then")
    return text


def decide_replace(parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Put bytes there as they are, whatever their writer knows; only with unsaved text they are merged, if they are text.

    Raises:
        VersionMismatchError, EditConflictError, FileTooLargeError
    """
    assert isinstance(request.content, bytes)
    seen_by_actor = seen, now, knowledge = seen_by(parts, look, actor)
    opened = unsaved_text(parts, look)
    expected = request.expected_version if opened is None else None
    answer = changes.decide_replace(
        seen, path=look.path, content=request.content, knowledge=knowledge, settings=parts.settings,
        expected_version=expected,
    )  # fmt: skip
    if opened is None or answer.facts.version == now.version:
        require_version(seen, now, knowledge, request.expected_version)
        return _decision(answer)
    text = inspect(request.content, name=look.path)[1]
    return _beside(parts, look, request, seen_by_actor, _decision(answer), text=text, opened=opened)


def decide_create(parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Create only.

    Raises:
        PathExistsError: Something stands there.
    """
    if look.stat is not None:
        raise PathExistsError(look.path)
    seen, now, knowledge = seen_by(parts, look, actor)
    request = structs.replace(request, expected_version=None)
    # What its writer knew of an earlier file does not count.
    return _written(parts, look, request, seen, now, structs.replace(knowledge, rows=()))


def decide_append(parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Add to the end of what stands there now; a missing file is created.

    Raises:
        VersionMismatchError, EncodingError, FileTooLargeError, InvalidArgumentError
    """
    seen, now, knowledge = seen_by(parts, look, actor)
    if look.stat is None:
        require_version(seen, now, knowledge, request.expected_version)
        return decide_create(parts, look, request, actor)
    answer = changes.decide_append(seen, path=look.path, new=request, knowledge=knowledge, settings=parts.settings)
    opened, base = unsaved_text(parts, look), disk_text(parts, look)
    if opened is None or base is None:
        return _decision(answer)
    if not answer.edits:
        raise unsaved_error(look.path, opened.document.version, "and what would be added is binary")
    decision = put_beside(parts, look, opened, base, base + answer.edits[0].text, is_addition=True)
    return structs.replace(decision, added_bytes=answer.added_bytes)


def decide_copy(parts: Parts, look: Look, source: WorkspacePath, actor: Actor, *, overwrite: bool) -> PutDecision:
    """Take over another file's bytes and mode.

    Raises:
        PathExistsError: Something stands there and must not be replaced.
        VersionMismatchError: Others have changed what it would cover since its actor saw it.
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError: Of the source.
    """
    if look.stat is not None and not overwrite:
        raise PathExistsError(look.path)
    if parts.workspace.key(source) == look.key:
        raise InvalidArgumentError(f"Source and destination are the same file: {source}", path=source)
    refuse_changed(parts, actor, look)
    content, stat = parts.store.read(source, limit=parts.settings.max_write_bytes)
    return PutDecision(content=content, facts=inspect(content, name=look.path)[0], mode=stat.mode)
