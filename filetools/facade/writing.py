"""What a write decides: which bytes shall stand at a path, given what stands there. Runs under the path's lock."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from functools import partial
from typing import Any, Final, Protocol

from msgspec import Struct, structs

from filetools.content.elision import left_out
from filetools.content.ends import ends_like
from filetools.content.facts import ContentFacts, describe, inspect
from filetools.content.formats import TextFormat, encode, format_named
from filetools.content.kind import sniff
from filetools.content.text_edits import TextEdit
from filetools.content.version import version_of
from filetools.editors.open_text import OpenText
from filetools.errors import (
    EditConflictError,
    EncodingError,
    FileTooLargeError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
)
from filetools.facade.encodings import facts_as_read, named_encoding, read_as
from filetools.facade.look import Look, content_of
from filetools.facade.parts import Parts
from filetools.facade.preconditions import (
    base_for,
    known_text,
    refuse_changed,
    require_seen,
    require_version,
    same_change,
)
from filetools.facade.requests import WriteRequest
from filetools.facade.steps.decision import PutDecision, SentText
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
from filetools.versions.rebasing import conflict_error, rebase

UTF_8: Final = TextFormat(encoding="utf-8", bom=b"")


class Encoded(Struct, frozen=True, kw_only=True):
    """A caller's content as bytes."""

    content: bytes
    text: str | None = None
    """What they say; None for bytes as such."""
    text_format: TextFormat = UTF_8
    keeps_crlf: bool = False
    """Whether LF became CRLF, as the file has it."""


class DecideWrite(Protocol):
    """One of the `decide_…` functions below."""

    def __call__(self, parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> PutDecision:
        """Return what shall stand there, or raise the refusal."""


def put_step(where: WorkspacePath, request: WriteRequest, actor: Actor, decide: DecideWrite) -> PutFile:
    """Return the step that writes what an actor sends."""
    return PutFile(where, partial(decide, request=request, actor=actor), create_parents=request.create_parents)


def decide_write(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Replace or create: what its writer knows is replaced plainly, what moved on since is merged with or refused.

    Raises:
        VersionMismatchError, EditConflictError, EncodingError, FileTooLargeError, InvalidArgumentError
        UnsavedQuestion: A person must decide first.
    """
    new = encoded(parts, seen, request, actor)
    _refuse_size(parts, seen.path, len(new.content))
    facts = _facts(seen, new)
    plain = PutDecision(
        content=new.content, facts=facts, newline="crlf" if new.keeps_crlf else None,
        sent=SentText(content=new.content, version=facts.version), encoding=_named(parts, seen, request, actor),
    )  # fmt: skip
    opened = unsaved_text(parts, seen)
    if facts.version != seen.version:
        require_seen(parts, seen, request, actor)
        if opened is not None:
            return decide_unsaved(parts, seen, request, actor, plain, text=new.text, opened=opened)
    base = base_for(parts, seen, request, actor, opened)
    if facts.version != seen.version and base is not None and base.base != seen.version:
        plain = _rebased(parts, seen, request, actor, plain, text=new.text, base=base)
    if plain.facts.version == seen.version and opened is None:
        return structs.replace(plain, warnings=same_change(parts, seen, actor, base))
    left_out_of_it = tuple(_left_out(parts, seen, new))
    return structs.replace(plain, warnings=(*plain.warnings, *left_out_of_it)) if left_out_of_it else plain


def _left_out(parts: Parts, seen: Look, new: Encoded) -> Iterator[dict[str, Any]]:
    """Yield the warning for a writer who left most of a file out and said that it stays."""
    # Who leaves most of a file out writes less than there was; so most writes never search their text.
    is_shorter = seen.stat is not None and len(new.content) < seen.stat.size
    line = None if new.text is None or not is_shorter else left_out(partial(disk_text, parts, seen), new.text)
    if line is not None:
        message = (
            f"Line {line} says that the rest is unchanged, but this text is now the whole file and most of what stood"
            f" there is gone. Undo this call, or write the whole text."
        )
        yield {"code": "LEFT_OUT", "path": seen.path, "line": line, "message": message}


def decide_unsaved(
    parts: Parts,
    seen: Look,
    request: WriteRequest,
    actor: Actor,
    plain: PutDecision,
    *,
    text: str | None,
    opened: OpenText,
) -> PutDecision:
    """Decide a whole-file write where an editor has unsaved text of the file.

    Args:
        parts: The workspace.
        seen: What stands on disk.
        request: The write.
        actor: Who writes.
        plain: What would be decided without unsaved text.
        text: The text that is sent, in the file's form; None for bytes.
        opened: The document.

    Raises:
        VersionMismatchError, EditConflictError, EncodingError
        UnsavedQuestion: A person must decide first.
    """
    if request.on_conflict == "cancel":
        raise unsaved_error(seen.path, opened.document.version, is_cancelled=True)
    if text is None:
        raise unsaved_error(seen.path, opened.document.version, "and what would replace it is binary")
    asked = request.asked
    if asked is not None and not asked.is_about(opened.document.version, seen.version):
        request = structs.replace(request, on_conflict="ask", asked=None)  # it is not what the person saw any more
    base = base_for(parts, seen, request, actor, opened)
    if request.on_conflict == "allow":
        return overwritten(parts, seen, opened, plain)
    known = _text_known(parts, seen, opened, base)
    question = UnsavedQuestion(seen.path, opened, base_text=known, proposed=text, disk_version=seen.version)
    if request.on_conflict == "ask":
        raise question
    try:
        placed = put_beside(parts, seen, opened, known, text)
    except EditConflictError as overlap:
        if request.on_conflict not in ("merge_or_ask", "ask_if_attended"):
            raise
        raise question from overlap
    return structs.replace(placed, newline=plain.newline, sent=plain.sent, encoding=plain.encoding)


def _text_known(parts: Parts, seen: Look, opened: OpenText, base: SeenVersion | None) -> str:
    """Return the text that a writer knows, of a file whose unsaved text reads return; of an unknown one the file's."""
    on_disk = disk_text(parts, seen)
    if on_disk is None:
        raise unsaved_error(seen.path, opened.document.version, "and its file is binary")
    if base is None or base.base == seen.version:
        return on_disk
    if base.base == parts.documents.texts.bytes_of(opened)[1]:
        return opened.text
    text = inspect(known_text(parts, seen, base.base), name=seen.path)[1]
    if text is None:
        raise conflict_error(seen.path, base.base, seen.version, reason="it was binary then")
    return text


def decide_replace(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Put bytes there as they are, whatever their writer knows; only with unsaved text they are merged, if they are text.

    Raises:
        VersionMismatchError, EditConflictError, FileTooLargeError
    """
    assert isinstance(request.content, bytes)
    _refuse_size(parts, seen.path, len(request.content))
    facts, text = inspect(request.content, name=seen.path)
    sent = SentText(content=request.content, version=facts.version)
    decision = PutDecision(content=request.content, facts=facts, sent=sent)
    if facts.version != seen.version and (opened := unsaved_text(parts, seen)) is not None:
        return decide_unsaved(parts, seen, request, actor, decision, text=text, opened=opened)
    require_version(parts, seen, actor, request.expected_version)
    return decision


def decide_create(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Create only.

    Raises:
        PathExistsError: Something stands there.
    """
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    return decide_write(parts, seen, structs.replace(request, creates=True), actor)


def decide_append(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> PutDecision:
    """Add to the end of what stands there now; a missing file is created.

    Raises:
        VersionMismatchError, EncodingError, FileTooLargeError, InvalidArgumentError
    """
    require_version(parts, seen, actor, request.expected_version)
    if seen.stat is None:
        return decide_write(parts, seen, structs.replace(request, creates=True), actor)
    added = encoded(parts, seen, request, actor, is_continuation=True)
    _refuse_size(parts, seen.path, seen.stat.size + len(added.content))
    if (opened := unsaved_text(parts, seen)) is not None and (base := disk_text(parts, seen)) is not None:
        if added.text is None:
            raise unsaved_error(seen.path, opened.document.version, "and what would be added is binary")
        decision = put_beside(parts, seen, opened, base, base + added.text, is_addition=True)
        return structs.replace(decision, added_bytes=len(added.content))
    content = content_of(parts, seen) + added.content
    facts, text = inspect(content, name=seen.path)
    place = len(text or "") - len(added.text or "")
    return PutDecision(
        content=content,
        facts=facts,
        edits=None if added.text is None else (TextEdit(place, place, added.text),),
        added_bytes=len(added.content),
        newline="crlf" if added.keeps_crlf else None,
        encoding=named_encoding(parts, seen.key, actor),
    )


def decide_copy(parts: Parts, seen: Look, source: WorkspacePath, actor: Actor, *, overwrite: bool) -> PutDecision:
    """Take over another file's bytes and mode.

    Raises:
        PathExistsError: Something stands there and must not be replaced.
        VersionMismatchError: Others have changed what it would cover since its actor saw it.
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError: Of the source.
    """
    if seen.stat is not None and not overwrite:
        raise PathExistsError(seen.path)
    if parts.workspace.key(source) == seen.key:
        raise InvalidArgumentError(f"Source and destination are the same file: {source}", path=source)
    refuse_changed(parts, actor, seen)
    content, stat = parts.store.read(source, limit=parts.settings.max_write_bytes)
    return PutDecision(content=content, facts=inspect(content, name=seen.path)[0], mode=stat.mode)


def _rebased(
    parts: Parts,
    seen: Look,
    request: WriteRequest,
    actor: Actor,
    plain: PutDecision,
    *,
    text: str | None,
    base: SeenVersion,
) -> PutDecision:
    """Put a proposal on top of what stands there; the base is the text that its writer knows."""
    facts = facts_as_read(parts, seen, actor)
    if seen.stat is None:
        raise conflict_error(seen.path, base.base, None, reason="it is no longer there")
    if facts is None or text is None or not isinstance(request.content, str):
        raise conflict_error(seen.path, base.base, seen.version, reason="it is binary and cannot be merged")
    known = known_text(parts, seen, base.base)
    rebased = rebase(
        seen.path,
        base=known,
        base_facts=read_as(known, base.encoding, name=seen.path),
        current=content_of(parts, seen),
        facts=facts,
        proposed=request.content,
        by_words=parts.settings.is_prose(seen.path),
    )
    merged = inspect(rebased.content, name=seen.path)[0]
    return structs.replace(plain, content=rebased.content, facts=merged, foreign=rebased.foreign, newline=None)


def encoded(parts: Parts, seen: Look, request: WriteRequest, actor: Actor, *, is_continuation: bool = False) -> Encoded:
    """Return the bytes of a request's content, in the form of the file that stands there.

    Args:
        parts: The workspace.
        seen: What stands there.
        request: The content.
        actor: Whose content it is.
        is_continuation: True for text that goes behind existing text, so that it gets no byte-order mark.

    Raises:
        EncodingError: The file's encoding cannot hold a character, or base64 is malformed.
        InvalidArgumentError: There is no such encoding.
    """
    if isinstance(request.content, bytes):
        return Encoded(content=request.content)
    if request.encoding == "base64":
        return Encoded(content=from_base64(request.content, seen.path))
    facts = facts_as_read(parts, seen, actor)
    text_format = format_named(request.encoding) if request.encoding else _format_there(parts, seen, facts)
    if is_continuation:
        text_format = TextFormat(encoding=text_format.encoding, bom=b"")
    text = request.content.removeprefix("\ufeff") if text_format.bom else request.content
    keeps_crlf = _keeps_crlf(facts, request, text)
    if keeps_crlf:
        text = text.replace("\n", "\r\n")
    elif request.newline == "keep" and facts is not None and facts.newline in ("cr", "mixed"):
        text = ends_like(text, disk_text(parts, seen) or "")
    content = encode(text, text_format, path=seen.path)
    return Encoded(content=content, text=text, text_format=text_format, keeps_crlf=keeps_crlf)


def _named(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> str | None:
    """Return the codec that an actor has named for a text; bytes have none."""
    if isinstance(request.content, bytes) or request.encoding == "base64":
        return None
    return request.encoding or named_encoding(parts, seen.key, actor)


def _format_there(parts: Parts, seen: Look, facts: ContentFacts | None) -> TextFormat:
    if facts is not None:
        return facts.text_format or UTF_8
    if seen.stat is None:
        return UTF_8
    reader = parts.store.open(seen.path)
    try:
        return sniff(reader.read_at(0, 8192), complete=False, name=seen.path).format or UTF_8
    finally:
        reader.close()


def _facts(seen: Look, new: Encoded) -> ContentFacts:
    return describe(new.content, new.text, new.text_format, name=seen.path, version=version_of(new.content))


def _keeps_crlf(facts: ContentFacts | None, request: WriteRequest, text: str) -> bool:
    """Whether text gets the file's CRLF: models answer in LF, and a file that has nothing but CRLF keeps it."""
    if request.newline == "exact" or request.encoding is not None:
        return False
    return facts is not None and facts.newline == "crlf" and "\r" not in text


def from_base64(text: str, path: str) -> bytes:
    """Return the bytes of a text in base64; raises EncodingError if it is malformed."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise EncodingError(path, "base64", str(exc)) from exc
    # The decoder stops at the first padding that fits, and drops bits that belong to no byte.
    last = base64.b64encode(content[(len(content) - 1) // 3 * 3 :]).decode("ascii") if content else ""
    if len(text) != (len(content) + 2) // 3 * 4 or not text.endswith(last):
        raise EncodingError(path, "base64", "its end is not what an encoder writes; the text was cut or padded")
    return content


def _refuse_size(parts: Parts, path: WorkspacePath, size: int) -> None:
    limit = parts.settings.max_write_bytes
    if size > limit:
        raise FileTooLargeError(path, size, limit)


def require_file(seen: Look) -> None:
    """Refuse a missing file.

    Raises:
        PathNotFoundError
    """
    if seen.stat is None:
        raise PathNotFoundError(seen.path)
