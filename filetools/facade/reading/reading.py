"""Reads files and former versions: whole, in parts, or as streams. Never takes a turn.

What the system has in memory is read on the event loop, everything else in a worker thread.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from functools import partial
from typing import Final

from msgspec.structs import replace

from filetools.changes.deciding.files import versions_had
from filetools.changes.parts import Parts
from filetools.changes.read_tracker import END_OF_FILE, Span
from filetools.changes.requests import ReadRequest
from filetools.content.extracts.ranges import (
    ByteSource,
    memory_source,
    read_byte_range,
    read_lines,
    read_text_range,
)
from filetools.content.facts import ContentFacts, describe, inspect
from filetools.content.formats import UTF8, TextFormat, decode
from filetools.content.kind import sniff
from filetools.content.version import stat_version, version_of
from filetools.errors import (
    ChangedMeanwhileError,
    FileTooLargeError,
    FileToolsError,
    InvalidArgumentError,
    VersionGoneError,
)
from filetools.models.files import ReadResult
from filetools.models.records import Actor
from filetools.models.words import VERSION_PREFIX
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.listing import moment
from filetools.stores.store import FileStat, Reader

NO_HOP_BYTES: Final = 256 * 1024
"""Largest file to decode on the event loop; above that, memory allocation alone would stall the loop."""
LARGEST_PART_BYTES: Final = 10 * 1024 * 1024
CHUNK_BYTES: Final = 256 * 1024
SHORTEST_PREFIX: Final = 4
"""Minimum number of hex digits of a shortened version."""
_SHORT_VERSION: Final = re.compile(r"[0-9a-f]{4,64}")
_FULL_VERSION: Final = re.compile(r"[0-9a-f]{64}")


def read_now(parts: Parts, path: WorkspacePath, request: ReadRequest, actor: Actor) -> ReadResult | None:
    """Read a small file on the event loop; None if that would have to wait for the disk."""
    known = parts.documents.known
    if not request.is_whole or (known.is_any and known.is_dirty(parts.workspace.key(path))):
        return None
    taken_ns = time.time_ns()
    found = parts.store.read_now(path, min(NO_HOP_BYTES, parts.settings.max_read_bytes))
    return None if found is None else _of_file(parts, path, request, actor, *found, taken_ns=taken_ns)


def read(parts: Parts, path: WorkspacePath, request: ReadRequest, actor: Actor) -> ReadResult:
    """Read a file or a part of it; call it in a worker thread.

    Raises:
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        FileTooLargeError: The whole file was requested and is over the limit.
        VersionGoneError: The requested version is not kept.
        EncodingError, InvalidArgumentError: The request does not fit the file.
    """
    if request.version is not None:
        return _version(parts, path, request, request.version, actor)
    if request.view != "disk" and (shown := _buffer(parts, path, request, actor)) is not None:
        return shown
    if (request.is_lines or request.is_bytes) and (part := _part_of_large(parts, path, request)) is not None:
        return part
    taken_ns = time.time_ns()
    content, stat = parts.store.read(path, limit=parts.settings.max_read_bytes)
    return _of_file(parts, path, request, actor, content, stat, taken_ns=taken_ns)


def _seen(
    parts: Parts,
    actor: Actor,
    key: str,
    whole: ReadResult,
    facts: ContentFacts,
    content: bytes | memoryview,
    request: ReadRequest,
) -> ReadResult:
    """Return the requested part of a file, and record that the actor has seen it."""
    result, request = _requested(parts, whole, facts, content, request)
    span = None if result is whole or request.is_bytes else _span(request, result)
    is_whole = result.content == whole.content
    parts.tracker.record_seen(
        actor, key, whole.version, content=content, is_whole=is_whole, span=span, encoding=request.encoding
    )
    return result


def _requested(
    parts: Parts, whole: ReadResult, facts: ContentFacts, content: bytes | memoryview, request: ReadRequest
) -> tuple[ReadResult, ReadRequest]:
    """Return the requested part of a text, and the request, limited to one page if it asked for one."""
    is_part = request.is_bytes
    if request.is_lines or (request.page and _exceeds_page(parts, whole)):
        request, is_part = _bounded(parts, request), True
    return (_part(whole, facts, bytes(content), request) if is_part else whole), request


def _exceeds_page(parts: Parts, whole: ReadResult) -> bool:
    """True if a text is longer than one page."""
    settings = parts.settings
    is_long = len(whole.content) > settings.max_text_characters or (whole.total_lines or 0) > settings.max_text_lines
    return is_long and not whole.is_binary


def _bounded(parts: Parts, request: ReadRequest) -> ReadRequest:
    """Return a request limited to one page, if a page was requested, and not bytes."""
    if not request.page or request.is_bytes:
        return request
    settings = parts.settings
    limit = min(request.limit or settings.max_text_lines, settings.max_text_lines)
    most = min(request.max_characters or settings.max_text_characters, settings.max_text_characters)
    return replace(request, limit=limit, max_characters=most)


def _span(request: ReadRequest, result: ReadResult) -> Span | None:
    """Return the part of a file that a result shows, as start and end (line, character); None if unknown."""
    first, column = request.offset or 1, request.column or 1
    if first < 0:
        if result.total_lines is None:
            return None
        first = max(1, result.total_lines + first + 1)
    if result.next_offset is None:
        return (first, column), END_OF_FILE
    return (first, column), (result.next_offset, result.next_column or 1)


def _buffer(parts: Parts, path: WorkspacePath, request: ReadRequest, actor: Actor) -> ReadResult | None:
    """Read the unsaved text of a path; None if there is none."""
    key = parts.workspace.key(path)
    document = parts.view(key).document if parts.documents.known.is_dirty(key) else None
    opened = None if document is None else parts.documents.newest(document.id)
    if opened is None or not opened.document.is_dirty:
        return None
    form = opened.document.text_format
    facts = describe(opened.content, opened.text, form, name=path, version=opened.version)
    head = parts.view(key).head
    disk_version = opened.document.base if head is None else head.version
    whole = _result(path, facts, opened.text, None).model_copy(
        update={
            "origin": "buffer",
            "disk_version": disk_version,
            "disk_is_newer": disk_version is not None and disk_version != opened.document.base,
        }
    )
    result = _seen(parts, actor, key, whole, facts, opened.content, request)
    if disk_version is not None and disk_version != opened.version:
        # The result also names this version. A caller that gives it as `expected_version` has seen the unsaved text, which
        # must not get into the file as the caller's own change.
        parts.tracker.record_reported(actor, key, disk_version)
    return result


def _of_file(
    parts: Parts,
    path: WorkspacePath,
    request: ReadRequest,
    actor: Actor,
    content: bytes | memoryview,
    stat: FileStat,
    *,
    taken_ns: int,
) -> ReadResult:
    """Return what was requested of a file, and record that the actor has seen it."""
    facts = None if request.encoding is not None else parts.facts.get(stat.identity)
    if facts is None:
        content = bytes(content)
        facts, text = inspect(content, name=path, encoding=request.encoding)
        if request.encoding is None:
            parts.facts.put(stat.identity, facts, taken_ns=taken_ns)
    else:
        text = None if facts.text_format is None else decode(content, facts.text_format, path=path)
    whole = _result(path, facts, _shown(content, text), stat.modified_ns)
    return _seen(parts, actor, parts.workspace.key(path), whole, facts, content, request)


def _shown(content: bytes | memoryview, text: str | None) -> str:
    return base64.b64encode(content).decode("ascii") if text is None else text


def _result(path: WorkspacePath, facts: ContentFacts, shown: str, modified_ns: int | None) -> ReadResult:
    return ReadResult(
        path=path,
        content=shown,
        encoding="base64" if facts.text_format is None else facts.text_format.encoding,
        size=facts.size,
        version=facts.version,
        modified=None if modified_ns is None else moment(modified_ns),
        total_lines=facts.total_lines,
        newline=facts.newline,
        bom=None if facts.text_format is None else bool(facts.text_format.bom),
        is_binary=facts.text_format is None,
        mime_type=facts.mime_type if facts.text_format is None else None,
    )


def _version(parts: Parts, path: WorkspacePath, request: ReadRequest, version: str, actor: Actor) -> ReadResult:
    content = _bytes_of(parts, path, full_version(parts, path, version, actor))
    facts, text = inspect(content, name=path, encoding=request.encoding)
    whole = _result(path, facts, _shown(content, text), None).model_copy(update={"origin": "version"})
    return _requested(parts, whole, facts, content, request)[0]


def _bytes_of(parts: Parts, path: WorkspacePath, version: str) -> bytes:
    """Return the bytes of a version, from the journal or from the file if it is at this version."""
    try:
        return parts.journal.contents.get(version)
    except VersionGoneError:
        with suppress(FileToolsError):
            content, _ = parts.store.read(path, limit=parts.settings.max_read_bytes)
            if version_of(content) == version:
                return content
        raise


def _part(whole: ReadResult, facts: ContentFacts, content: bytes, request: ReadRequest) -> ReadResult:
    form = facts.text_format
    if form is not None and not request.is_bytes:
        content, form = whole.content.encode(), UTF8  # the lines are the same, and UTF-8 can encode them all
    part = _window(memory_source(content), form, whole.path, request, max(len(content), 1))
    return whole.model_copy(update=part)


def _part_of_large(parts: Parts, path: WorkspacePath, request: ReadRequest) -> ReadResult | None:
    """Return a part of a file that is over `max_read_bytes`; None for a smaller file."""
    with closing(parts.store.open(path)) as reader:
        stat = reader.stat
        if stat.size <= parts.settings.max_read_bytes:
            return None
        kind = sniff(reader.read_at(0, 8192), complete=False, name=path)
        request, source = _bounded(parts, request), ByteSource(stat.size, reader.read_at)
        part = _window(source, kind.format, path, request, LARGEST_PART_BYTES, stat.identity)
    facts, text_format = parts.facts.get(stat.identity), kind.format
    result = ReadResult(
        path=path,
        content="",
        encoding="base64" if text_format is None else text_format.encoding,
        size=stat.size,
        version=facts.version if facts is not None else stat_version(stat.identity),
        modified=moment(stat.modified_ns),
        bom=None if text_format is None else bool(text_format.bom),
        is_binary=text_format is None,
        mime_type=kind.mime_type if text_format is None else None,
    )
    return result.model_copy(update=part)


def _window(
    source: ByteSource, text_format: TextFormat | None, path: str, request: ReadRequest, most: int,
    identity: tuple[int, int, int, int, int] | None = None,
) -> dict[str, object]:  # fmt: skip
    """Return the fields of a result that describe a part."""
    if request.is_bytes:
        return _byte_part(source, text_format, path, request, most)
    if text_format is None:
        is_large = identity is not None
        raise InvalidArgumentError(
            f"{path} is binary: use byte_offset and byte_count, not lines",
            path=path,
            suggested_action="Continue without it: as a whole it is too large."
            if is_large
            else "Leave out the lines to read all of it.",
        )
    offset = 1 if request.offset is None else request.offset
    most = most if request.max_characters is None else min(most, request.max_characters)
    column = 1 if request.column is None else request.column
    window = read_lines(
        source,
        text_format,
        offset=offset,
        limit=request.limit,
        max_chars=most,
        path=path,
        column=column,
        identity=identity,
    )
    part: dict[str, object] = {
        "content": window.content,
        "truncated": window.truncated,
        # After a cut line, the next read starts with the rest of it.
        "next_offset": window.first if window.is_cut else window.next_offset,
        "next_column": column + len(window.content) if window.is_cut else None,
        "column": column if column > 1 else None,
    }
    if window.total_lines is not None:
        part["total_lines"] = window.total_lines
    return part


def _byte_part(
    source: ByteSource, text_format: TextFormat | None, path: str, request: ReadRequest, most: int
) -> dict[str, object]:
    offset = request.byte_offset or 0
    count = most if request.byte_count is None else request.byte_count
    if count > LARGEST_PART_BYTES:
        raise FileTooLargeError(path, count, LARGEST_PART_BYTES)
    if text_format is not None:
        window = read_text_range(source, text_format, offset=offset, count=count, path=path)
        return {"content": window.content, "truncated": window.truncated, "next_offset": window.next_offset}
    content = read_byte_range(source, offset=offset, count=count)
    end = offset + len(content)
    more = end < source.size
    shown = base64.b64encode(content).decode("ascii")
    return {"content": shown, "truncated": more, "next_offset": end if more else None}


def full_version(parts: Parts, path: WorkspacePath, version: str, actor: Actor) -> str:
    """Return the full form of a version; a shortened one is looked up among the recorded versions of the path.

    A full version may be of another path, unless the actor may read none of the paths that have had it.

    Raises:
        InvalidArgumentError: The version is malformed or ambiguous.
        VersionGoneError: The path has no such recorded version, or it is withheld from the actor.
    """
    digits = str(version).removeprefix(VERSION_PREFIX).lower()
    key = parts.workspace.key(path)
    if _FULL_VERSION.fullmatch(digits):
        full = VERSION_PREFIX + digits
        is_withheld = parts.gatekeeper.policy.withholding(actor, "read_file")
        if is_withheld is not None and all(row.version != full for row in parts.tracker.rows(actor, key)):
            paths = parts.journal.history.paths_of(full)
            if paths and all(map(is_withheld, paths)):
                raise VersionGoneError(path, version)
        return full
    if not _SHORT_VERSION.fullmatch(digits):
        raise InvalidArgumentError(
            f"{version!r} is not a version; pass one of a read or of versions(), or at least {SHORTEST_PREFIX} digits of it",
            suggested_action="Omit the version to get the current text.",
        )
    found = [each for each in versions_had(parts, key) if each.startswith(VERSION_PREFIX + digits)]
    if not found:
        raise VersionGoneError(path, version)
    if len(found) > 1:
        raise InvalidArgumentError(f"Several versions of {path} begin with {version!r}; give more digits", path=path)
    return found[0]


async def chunks(
    parts: Parts, path: WorkspacePath, reader: Reader, offset: int, count: int | None
) -> AsyncIterator[bytes]:
    """Yield the bytes of an open file in chunks of at most 256 KiB.

    Args:
        parts: The workspace.
        path: The file's path.
        reader: The open file.
        offset: First byte from 0.
        count: Maximum number of bytes; None reads to the end.

    Raises:
        InvalidArgumentError: `offset` or `count` is negative.
        ChangedMeanwhileError: Another program wrote into the file in place while it was read.
    """
    if offset < 0 or (count is not None and count < 0):
        raise InvalidArgumentError("offset and count must not be negative")
    end = reader.stat.size if count is None else min(reader.stat.size, offset + count)
    while offset < end:
        chunk = await parts.workers.run(partial(reader.read_at, offset, min(CHUNK_BYTES, end - offset)))
        if not chunk or reader.has_changed():
            raise ChangedMeanwhileError(path, 1)
        offset += len(chunk)
        yield chunk
