"""What a write decides: which bytes shall stand at a path, given what stands there. Runs under the path's lock."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from filetools.content import ContentFacts, TextFormat, encode, format_named, sniff, version_of
from filetools.errors import (
    EncodingError,
    FileTooLargeError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
    VersionMismatchError,
)
from filetools.facade.look import Look, content_of, facts_of
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps import Decision
from filetools.models import VERSION_PREFIX
from filetools.paths import WorkspacePath

UTF_8: Final = TextFormat(encoding="utf-8", bom=b"")
SHORTEST_PREFIX: Final = 12
"""Hex digits that a shortened version must have."""
_SHORT_VERSION: Final = re.compile(r"[0-9a-f]{12,64}")


def decide_write(parts: Parts, seen: Look, request: WriteRequest) -> Decision:
    """Replace or create: equal bytes win over everything, then the expected version must stand there.

    Raises:
        VersionMismatchError, EncodingError, FileTooLargeError, InvalidArgumentError
    """
    content = encoded(parts, seen, request)
    _refuse_size(parts, seen.path, len(content))
    version = version_of(content)
    if version != seen.version:
        require_version(seen, request.expected_version)
    return Decision(content=content, version=version, newline="crlf" if _keeps_crlf(parts, seen, request) else None)


def decide_create(parts: Parts, seen: Look, request: WriteRequest) -> Decision:
    """Create only.

    Raises:
        PathExistsError: Something stands there.
    """
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    return decide_write(parts, seen, request)


def decide_append(parts: Parts, seen: Look, request: WriteRequest) -> Decision:
    """Add to the end of what stands there now; a missing file is created.

    Raises:
        VersionMismatchError, EncodingError, FileTooLargeError, InvalidArgumentError
    """
    require_version(seen, request.expected_version)
    if seen.stat is None:
        return decide_write(parts, seen, request)
    added = encoded(parts, seen, request, is_continuation=True)
    _refuse_size(parts, seen.path, seen.stat.size + len(added))
    content = content_of(parts, seen) + added
    return Decision(content=content, version=version_of(content), added_bytes=len(added))


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
    return Decision(content=content, version=version_of(content), mode=stat.mode)


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


def stat_version(identity: tuple[int, int, int, int, int]) -> str:
    """Return the version of a file too large to be hashed for a read of a part."""
    return "stat:" + "-".join(str(part) for part in identity)


def encoded(parts: Parts, seen: Look, request: WriteRequest, *, is_continuation: bool = False) -> bytes:
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
        return request.content
    if request.encoding == "base64":
        return _from_base64(request.content, seen.path)
    facts = facts_of(parts, seen)
    text_format = format_named(request.encoding) if request.encoding else _format_there(parts, seen, facts)
    if is_continuation:
        text_format = TextFormat(encoding=text_format.encoding, bom=b"")
    text = request.content.removeprefix("\ufeff") if text_format.bom else request.content
    if _keeps_crlf(parts, seen, request):
        text = text.replace("\n", "\r\n")
    return encode(text, text_format, path=seen.path)


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


def _keeps_crlf(parts: Parts, seen: Look, request: WriteRequest) -> bool:
    """Whether text gets the file's CRLF: models answer in LF, and a file that has nothing but CRLF keeps it."""
    if not isinstance(request.content, str) or request.newline is not None or request.encoding is not None:
        return False
    facts = facts_of(parts, seen)
    return facts is not None and facts.newline == "crlf" and "\r" not in request.content


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
