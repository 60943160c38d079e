"""What a write decides: which bytes shall stand at a path, given what stands there. Runs under the path's lock."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

from filetools.content import ContentFacts, TextFormat, describe, encode, format_named, inspect, sniff, version_of
from filetools.errors import (
    EncodingError,
    FileTooLargeError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
    VersionGoneError,
    VersionMismatchError,
)
from filetools.facade.look import Look, content_of, facts_of
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps import Decision, Sent
from filetools.journal import Stamp
from filetools.models import VERSION_PREFIX, Actor
from filetools.paths import WorkspacePath
from filetools.versions import conflict_error, rebase

UTF_8: Final = TextFormat(encoding="utf-8", bom=b"")
SHORTEST_PREFIX: Final = 12
"""Hex digits that a shortened version must have."""
_SHORT_VERSION: Final = re.compile(r"[0-9a-f]{12,64}")
_FULL_VERSION: Final = re.compile(r"[0-9a-f]{64}")


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
    new = encoded(parts, seen, request)
    _refuse_size(parts, seen.path, len(new.content))
    facts = _facts(seen, new)
    if facts.version != seen.version:
        if request.on_stale != "merge":
            require_version(seen, request.expected_version)
        stale = stale_stamp(parts, seen, actor)
        if stale is not None and _needs_rebase(parts, seen, request, actor):
            return _rebased(parts, seen, request, new, stale)
        require_version(seen, request.expected_version)
    return Decision(content=new.content, facts=facts, newline="crlf" if new.keeps_crlf else None)


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
    added = encoded(parts, seen, request, is_continuation=True)
    _refuse_size(parts, seen.path, seen.stat.size + len(added.content))
    content = content_of(parts, seen) + added.content
    return Decision(
        content=content,
        facts=inspect(content, name=seen.path)[0],
        added_bytes=len(added.content),
        is_known=_is_known(parts, seen, actor),
        newline="crlf" if added.keeps_crlf else None,
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


def stale_stamp(parts: Parts, seen: Look, actor: Actor) -> Stamp | None:
    """Return what an actor knows of a path, if that is not what stands there now."""
    stamp = parts.knowledge.stamp(actor, seen.key)
    return None if stamp is None or stamp.version == seen.version else stamp


def require_known(parts: Parts, actor: Actor, *looks: Look) -> None:
    """Refuse to take away, or to cover, what others have changed since the actor got to know it.

    Raises:
        VersionMismatchError: Somebody has changed it since.
    """
    for seen in looks:
        if seen.stat is not None and parts.knowledge.is_surprised(actor, seen.key, seen.version):
            reason = "somebody changed it since you read or wrote it"
            raise VersionMismatchError(seen.path, None, seen.version, reason=reason)


def _needs_rebase(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> bool:
    """Whether a write is put on top of what its actor knows not to be there.

    Who names the version that stands there knows it better than its stamp does, with one exception: the version of a merged
    result names a text that its actor has never seen, and a write made from what was sent would undo the other side.
    """
    if request.expected_version is None or not is_version(seen, request.expected_version):
        return True
    newest = parts.journal.records(key=seen.key, limit=1, newest_first=True)
    return bool(newest) and (newest[0].actor.kind, newest[0].actor.id) == (actor.kind, actor.id)


def _rebased(parts: Parts, seen: Look, request: WriteRequest, new: Encoded, stale: Stamp) -> Decision:
    """Put a proposal on top of what stands there; the base is the text that its writer knows."""
    facts = facts_of(parts, seen)
    if seen.stat is None:
        raise conflict_error(seen.path, stale.version, None, reason="it is no longer there")
    if facts is None or new.text is None or not isinstance(request.content, str):
        raise conflict_error(seen.path, stale.version, seen.version, reason="it is binary and cannot be merged")
    try:
        base = parts.knowledge.text(stale.version)
    except VersionGoneError as exc:
        reason = "the text you knew is no longer kept, so it cannot be merged"
        raise VersionMismatchError(seen.path, stale.version, seen.version, reason=reason) from exc
    rebased = rebase(
        seen.path,
        base=base,
        base_version=stale.version,
        current=content_of(parts, seen),
        facts=facts,
        proposed=request.content,
    )
    merged = inspect(rebased.content, name=seen.path)[0]
    sent = Sent(content=new.content, version=version_of(new.content))
    return Decision(content=rebased.content, facts=merged, sent=sent, foreign=rebased.foreign)


def require_version(seen: Look, expected: str | None) -> None:
    """Refuse unless the version that a caller expects stands there; None expects nothing.

    Raises:
        VersionMismatchError: Another one does.
        InvalidArgumentError: It is no version.
    """
    if expected is None or is_version(seen, expected):
        return
    raise VersionMismatchError(seen.path, expected, seen.version)


def is_version(seen: Look, expected: str) -> bool:
    """Whether what stands there has this version; a shortened one counts from 12 hex digits on."""
    if expected.startswith("stat:"):
        return seen.stat is not None and expected == stat_version(seen.stat.identity)
    digits = expected.removeprefix(VERSION_PREFIX).lower()
    if not _SHORT_VERSION.fullmatch(digits):
        raise InvalidArgumentError(
            f"expected_version must be a version that a read returned, or at least {SHORTEST_PREFIX} hex digits of it, not"
            f" {expected!r}"
        )
    return seen.version is not None and seen.version.startswith(VERSION_PREFIX + digits)


def full_version(version: str) -> str:
    """Return a version in its full form.

    Raises:
        InvalidArgumentError: It is none; a shortened one does not say which bytes are meant.
    """
    digits = str(version).removeprefix(VERSION_PREFIX).lower()
    if not _FULL_VERSION.fullmatch(digits):
        raise InvalidArgumentError(f"A version is {VERSION_PREFIX!r} and 64 hex digits, not {version!r}")
    return VERSION_PREFIX + digits


def stat_version(identity: tuple[int, int, int, int, int]) -> str:
    """Return the version of a file too large to be hashed for a read of a part."""
    return "stat:" + "-".join(str(part) for part in identity)


def encoded(parts: Parts, seen: Look, request: WriteRequest, *, is_continuation: bool = False) -> Encoded:
    """Return the bytes of a request's content, in the form of the file that stands there.

    Args:
        parts: The workspace.
        seen: What stands there.
        request: The content.
        is_continuation: True for text that goes behind existing text, so that it gets no byte-order mark.

    Raises:
        EncodingError: The file's encoding cannot hold a character, or base64 is malformed.
        InvalidArgumentError: There is no such encoding.
    """
    if isinstance(request.content, bytes):
        return Encoded(content=request.content)
    if request.encoding == "base64":
        return Encoded(content=_from_base64(request.content, seen.path))
    facts = facts_of(parts, seen)
    text_format = format_named(request.encoding) if request.encoding else _format_there(parts, seen, facts)
    if is_continuation:
        text_format = TextFormat(encoding=text_format.encoding, bom=b"")
    text = request.content.removeprefix("\ufeff") if text_format.bom else request.content
    keeps_crlf = _keeps_crlf(facts, request, text)
    if keeps_crlf:
        text = text.replace("\n", "\r\n")
    content = encode(text, text_format, path=seen.path)
    return Encoded(content=content, text=text, text_format=text_format, keeps_crlf=keeps_crlf)


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
