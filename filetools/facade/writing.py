"""What a write decides: which bytes shall stand at a path, given what stands there. Runs under the path's lock."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
from typing import Final

from filetools.content import ContentFacts, TextFormat, describe, encode, format_named, inspect, sniff, version_of
from filetools.errors import (
    EncodingError,
    FileTooLargeError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
)
from filetools.facade.acquainted import require_acquaintance
from filetools.facade.beside import decide_unsaved
from filetools.facade.encodings import facts_as_read, named_encoding, read_as
from filetools.facade.expected import require_version
from filetools.facade.look import Look, content_of
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.stale import known_text, needs_rebase, stale_stamp
from filetools.facade.steps import (
    Decision,
    Sent,
    disk_text,
    put_beside,
    unsaved_error,
    unsaved_text,
)
from filetools.journal import Stamp
from filetools.models import Actor, Newline
from filetools.paths import WorkspacePath
from filetools.versions import conflict_error, rebase

UTF_8: Final = TextFormat(encoding="utf-8", bom=b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A caller's content as bytes."""

    content: bytes
    text: str | None = None
    """What they say; None for bytes as such."""
    text_format: TextFormat = UTF_8
    keeps_crlf: bool = False
    """Whether LF became CRLF, as the file has it."""


def decide_write(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> Decision:
    """Replace or create: equal bytes win over everything; a text that its writer no longer knows is merged or refused.

    Raises:
        VersionMismatchError, EditConflictError, EncodingError, FileTooLargeError, InvalidArgumentError
    """
    new = encoded(parts, seen, request, actor)
    _refuse_size(parts, seen.path, len(new.content))
    facts = _facts(seen, new)
    if facts.version != seen.version:
        require_acquaintance(parts, seen, request, actor)
        if (opened := unsaved_text(parts, seen)) is not None:
            plain = Decision(content=new.content, facts=facts, newline="crlf" if new.keeps_crlf else None)
            return decide_unsaved(parts, seen, request, actor, plain, text=new.text, opened=opened)
        if request.on_stale != "merge":
            require_version(seen, request.expected_version)
        stale = stale_stamp(parts, seen, actor)
        if stale is not None and needs_rebase(parts, seen, request, actor):
            return _rebased(parts, seen, request, actor, new=new, stale=stale)
        require_version(seen, request.expected_version)
    newline: Newline | None = "crlf" if new.keeps_crlf else None
    return Decision(content=new.content, facts=facts, newline=newline, encoding=_named(parts, seen, request, actor))


def decide_replace(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> Decision:
    """Put bytes there as they are, whatever their writer knows; only with unsaved text they are merged, if they are text.

    Raises:
        VersionMismatchError, EditConflictError, FileTooLargeError
    """
    assert isinstance(request.content, bytes)
    _refuse_size(parts, seen.path, len(request.content))
    facts, text = inspect(request.content, name=seen.path)
    decision = Decision(content=request.content, facts=facts)
    if facts.version != seen.version and (opened := unsaved_text(parts, seen)) is not None:
        return decide_unsaved(parts, seen, request, actor, decision, text=text, opened=opened)
    # Equal bytes are no exception: of two who count one up, each would take the other's number for its own.
    require_version(seen, request.expected_version)
    return decision


def decide_create(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> Decision:
    """Create only.

    Raises:
        PathExistsError: Something stands there.
    """
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    parts.knowledge.forget(actor, seen.key)
    return decide_write(parts, seen, request, actor)


def decide_append(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> Decision:
    """Add to the end of what stands there now; a missing file is created.

    Raises:
        VersionMismatchError, EncodingError, FileTooLargeError, InvalidArgumentError
    """
    require_version(seen, request.expected_version)
    if seen.stat is None:
        parts.knowledge.forget(actor, seen.key)
        return decide_write(parts, seen, request, actor)
    added = encoded(parts, seen, request, actor, is_continuation=True)
    _refuse_size(parts, seen.path, seen.stat.size + len(added.content))
    if (opened := unsaved_text(parts, seen)) is not None and (base := disk_text(parts, seen)) is not None:
        if added.text is None:
            raise unsaved_error(seen.path, opened.document.version, "and what would be added is binary")
        decision = put_beside(parts, seen, opened, base, base + added.text, is_addition=True)
        return replace(decision, added_bytes=len(added.content), is_known=False)
    content = content_of(parts, seen) + added.content
    return Decision(
        content=content,
        facts=inspect(content, name=seen.path)[0],
        added_bytes=len(added.content),
        is_known=_is_known(parts, seen, actor),
        newline="crlf" if added.keeps_crlf else None,
        encoding=named_encoding(parts, seen.key, actor),
    )


def decide_copy(parts: Parts, seen: Look, source: WorkspacePath, *, overwrite: bool) -> Decision:
    """Take over another file's bytes and mode.

    Raises:
        PathExistsError: Something stands there and must not be replaced.
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError: Of the source.
    """
    if seen.stat is not None and not overwrite:
        raise PathExistsError(seen.path)
    if parts.workspace.key(source) == seen.key:
        raise InvalidArgumentError(f"Source and destination are the same file: {source}", path=source)
    content, stat = parts.store.read(source, limit=parts.settings.max_write_bytes)
    return Decision(content=content, facts=inspect(content, name=seen.path)[0], mode=stat.mode)


def _is_known(parts: Parts, seen: Look, actor: Actor) -> bool:
    stamp = parts.knowledge.stamp(actor, seen.key)
    return stamp is not None and stamp.is_whole and stamp.version == seen.version


def _rebased(parts: Parts, seen: Look, request: WriteRequest, actor: Actor, *, new: Encoded, stale: Stamp) -> Decision:
    """Put a proposal on top of what stands there; the base is the text that its writer knows."""
    facts = facts_as_read(parts, seen, actor)
    if seen.stat is None:
        raise conflict_error(seen.path, stale.version, None, reason="it is no longer there")
    if facts is None or new.text is None or not isinstance(request.content, str):
        raise conflict_error(seen.path, stale.version, seen.version, reason="it is binary and cannot be merged")
    base = known_text(parts, seen, stale)
    rebased = rebase(
        seen.path,
        base=base,
        base_facts=read_as(base, stale.encoding, name=seen.path),
        current=content_of(parts, seen),
        facts=facts,
        proposed=request.content,
    )
    merged = inspect(rebased.content, name=seen.path)[0]
    sent = Sent(content=new.content, version=version_of(new.content))
    return Decision(
        content=rebased.content, facts=merged, sent=sent, foreign=rebased.foreign,
        encoding=_named(parts, seen, request, actor),
    )  # fmt: skip


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
        return Encoded(content=_from_base64(request.content, seen.path))
    facts = facts_as_read(parts, seen, actor)
    text_format = format_named(request.encoding) if request.encoding else _format_there(parts, seen, facts)
    if is_continuation:
        text_format = TextFormat(encoding=text_format.encoding, bom=b"")
    text = request.content.removeprefix("\ufeff") if text_format.bom else request.content
    keeps_crlf = _keeps_crlf(facts, request, text)
    if keeps_crlf:
        text = text.replace("\n", "\r\n")
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
    if request.newline is not None or request.encoding is not None:
        return False
    return facts is not None and facts.newline == "crlf" and "\r" not in text


def _from_base64(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise EncodingError(path, "base64", str(exc)) from exc


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
