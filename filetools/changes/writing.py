"""Decisions about texts: whole texts, appended ones, and parts of a text. Each is a pure function of what the call sees."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.decision import (
    BASE_GONE,
    KnownPath,
    PutDecision,
    facts_now,
    overlapping,
    read_as,
    read_now,
    refuse_size,
    require_version,
    stale_error,
    unmergeable,
)
from filetools.content.differences.diff import structured_patch
from filetools.content.differences.merging import merge_bytes
from filetools.content.ends import ends_like
from filetools.content.facts import describe, inspect
from filetools.content.formats import UTF8, TextFormat, decode, encode, format_named
from filetools.content.version import version_of
from filetools.errors import EncodingError, InvalidArgumentError, PathExistsError, VersionMismatchError, require_choice
from filetools.journal.seen_versions import SeenVersion
from filetools.models.words import OnConflict
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings

OnStale: TypeAlias = Literal["merge", "refuse"]
NewlineChoice: TypeAlias = Literal["exact", "keep"]


class WriteRequest(Struct, frozen=True, kw_only=True):
    """The text or bytes of a write, with its options."""

    content: str | bytes
    encoding: str | None = None
    """Codec for text, or "base64" for bytes; None keeps the file's own, UTF-8 for a new file."""
    newline: NewlineChoice | None = None
    """"exact" writes line ends as given; "keep" gives each line the end that it has in the file; None only keeps CRLF."""
    expected_version: str | None = None
    """Version that the writer names: the full form, or 12 or more hex digits of it."""
    on_stale: OnStale | None = None
    """If the file is not at the named version: "merge" merges the text into what is there, None refuses."""
    on_conflict: OnConflict = "merge"
    """What to do about an editor's unsaved text; see `write_file`."""
    require_read: bool = False
    """True if a writer that does not name the version must have read or written all of the file."""
    require_version: bool = False
    """True if a writer that replaces a file must name its version."""
    create_parents: bool = True

    def __post_init__(self) -> None:
        require_choice("on_stale", self.on_stale, ("merge", "refuse", None))
        require_choice("on_conflict", self.on_conflict, get_args(OnConflict))
        require_choice("newline", self.newline, ("exact", "keep", None))
        if not isinstance(self.content, str | bytes):
            raise InvalidArgumentError(f"content must be text or bytes, not {type(self.content).__name__}")
        if not isinstance(self.expected_version, str | None):
            raise InvalidArgumentError(f"expected_version must be text, not {type(self.expected_version).__name__}")

    @property
    def is_strict(self) -> bool:
        """True if nothing may be merged into the named version."""
        return self.expected_version is not None and self.on_stale != "merge"


class EncodedText(Struct, frozen=True, kw_only=True):
    """A caller's content as bytes."""

    content: bytes
    text: str | None = None
    """Their text; None if the caller sent bytes."""
    text_format: TextFormat = UTF8
    keeps_crlf: bool = False
    """True if LF became CRLF, because the file has only that."""


DecideWrite: TypeAlias = Callable[[KnownPath, WriteRequest, Settings], PutDecision]
"""One of the following three functions."""


def decide_write(now: KnownPath, new: WriteRequest, settings: Settings, *, is_forced: bool = False) -> PutDecision:
    """Replace or create a file. What its writer knows is replaced; what others have changed since is merged or refused.

    Args:
        now: The file, and what the writer knows of it.
        new: What is asked for.
        settings: Limits, and which files are prose.
        is_forced: True to replace the file whatever the writer knows.

    Raises:
        VersionMismatchError: The file is not at the named version, or must be read first.
        EditConflictError: Changes of others overlap with these; both sides are in the details.
        EncodingError: The file's encoding lacks a character, or base64 is malformed.
        FileTooLargeError, InvalidArgumentError
    """
    path = now.seen.path
    coded = encoded(now, new)
    refuse_size(path, len(coded.content), settings)
    version = version_of(coded.content)
    named = None if isinstance(new.content, bytes) or new.encoding == "base64" else new.encoding or now.encoding
    plain = PutDecision(
        content=coded.content, sent=coded.content, sent_version=version, encoding=named,
        newline="crlf" if coded.keeps_crlf else None,
        facts=describe(coded.content, coded.text, coded.text_format, name=path, version=version),
        is_strict=new.is_strict, text=coded.text, on_conflict=new.on_conflict,
    )  # fmt: skip
    is_new = version != now.seen.version
    if is_new and not is_forced:
        require_read(now, new)
    known = base_of_write(now, new)
    if not is_new or known is None:
        return plain
    if now.unsaved is not None:  # it is merged with that
        return replace(plain, base=known.base)
    if is_forced or known.base == now.seen.version:
        return plain
    # Bytes are never merged, even if they are text.
    proposed = new.content if coded.text is not None and isinstance(new.content, str) else None
    return merged_into(plain, now, known, proposed, settings)


def decide_create(now: KnownPath, new: WriteRequest, settings: Settings) -> PutDecision:
    """Create only; what the writer knew of an earlier file is not its base.

    Raises:
        PathExistsError: Something is there.
    """
    if now.seen.stat is not None:
        raise PathExistsError(now.seen.path)
    return decide_write(replace(now, rows=()), replace(new, expected_version=None), settings)


def decide_append(now: KnownPath, new: WriteRequest, settings: Settings) -> PutDecision:
    """Add to the end of a file, whatever its content; a missing one is created. Otherwise as `decide_write`."""
    require_version(now, new.expected_version)
    if now.seen.stat is None:
        return decide_create(now, new, settings)
    path = now.seen.path
    added = encoded(now, new, is_continuation=True)
    before = now.content()
    refuse_size(path, len(before) + len(added.content), settings)
    content = before + added.content
    return PutDecision(
        content=content, facts=inspect(content, name=path)[0], added_bytes=len(added.content), is_strict=new.is_strict,
        newline="crlf" if added.keeps_crlf else None, encoding=now.encoding, on_conflict=new.on_conflict,
    )  # fmt: skip


def require_read(now: KnownPath, new: WriteRequest) -> None:
    """Refuse to replace a file whose version the writer does not name, or which it has not read, if that is required.

    An agent that has read only a part of a version cannot replace the file, even if it names the version.

    Raises:
        VersionMismatchError: The current version is in the details.
    """
    if now.seen.stat is None:
        return
    expected = new.expected_version
    known = now.newest if expected is None else now.of_version(expected)
    if now.actor.kind == "agent" and known is not None and not known.is_whole:
        reason = "you have read only a part of it; read the rest first, or change what you have read with an edit"
    elif expected is not None:
        return
    elif new.require_version:
        reason = "it exists already, and replacing it needs expected_version, so that nobody's newer text is lost"
    elif new.require_read and (known is None or not known.is_whole):
        reason = "you have not read all of it; read the whole file first"
    else:
        return
    raise stale_error(now, None, reason=f"{reason}; it is at {now.standing[0]}")


def base_of_write(now: KnownPath, new: WriteRequest) -> SeenVersion | None:
    """Return the version that a text was made from; None if its writer knows none, and replaces the file.

    Raises:
        VersionMismatchError: The file is not at the named version and may not be merged, or the version is unknown.
        InvalidArgumentError: It is not a version.
    """
    expected = new.expected_version
    if expected is None:
        return now.newest
    current = next((version for version in now.standing if now.is_at(expected, version)), None)
    named = current
    if named is None and new.on_stale == "merge" and not expected.startswith("stat:"):
        named = now.named(expected)
    if named is None:
        raise stale_error(now, expected)
    known = now.of_version(named)
    # A text that was made from an older version than its writer has read since would undo the changes in between.
    is_older = known is not None and known.version != named and current is None and known.base in now.standing
    if known is None or is_older or expected.startswith("stat:"):
        return SeenVersion(version=named, base=named)
    return known


def encoded(now: KnownPath, new: WriteRequest, *, is_continuation: bool = False) -> EncodedText:
    """Return the bytes of a new text, in the form of the file that it replaces.

    Args:
        now: The file, and what the writer knows of it.
        new: The text.
        is_continuation: True for text that follows existing text, so that it gets no byte-order mark.

    Raises:
        EncodingError: The file's encoding cannot hold a character, or base64 is malformed.
        InvalidArgumentError: There is no such encoding.
    """
    path = now.seen.path
    if isinstance(new.content, bytes):
        return EncodedText(content=new.content)
    if new.encoding == "base64":
        return EncodedText(content=from_base64(new.content, path))
    facts = None if now.seen.stat is None else facts_now(now)
    text_format = (facts and facts.text_format) or UTF8
    if new.encoding:
        text_format = format_named(new.encoding)
    if is_continuation:
        text_format = TextFormat(encoding=text_format.encoding, bom=b"")
    text = new.content.removeprefix("\ufeff") if text_format.bom else new.content
    newline = None if facts is None else facts.newline
    # Models write LF; a file that has only CRLF keeps it.
    keeps_crlf = newline == "crlf" and "\r" not in text and new.newline != "exact" and new.encoding is None
    if keeps_crlf:
        text = text.replace("\n", "\r\n")
    elif new.newline == "keep" and newline in ("cr", "mixed"):
        text = ends_like(text, read_now(now)[1] or "")
    content = encode(text, text_format, path=path)
    return EncodedText(content=content, text=text, text_format=text_format, keeps_crlf=keeps_crlf)


def from_base64(text: str, path: str) -> bytes:
    """Return the bytes of a text in base64.

    Raises:
        EncodingError: It is malformed.
    """
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise EncodingError(path, "base64", str(exc)) from exc
    # The decoder stops at the first valid padding, and ignores trailing bits.
    last = base64.b64encode(content[(len(content) - 1) // 3 * 3 :]).decode("ascii") if content else ""
    if len(text) != (len(content) + 2) // 3 * 4 or not text.endswith(last):
        raise EncodingError(path, "base64", "its end is not what an encoder writes; the text was cut or padded")
    return content


def merged_into(
    plain: PutDecision, now: KnownPath, known: SeenVersion, proposed: str | None, settings: Settings
) -> PutDecision:
    """Merge a proposed text into the current file.

    Args:
        plain: What would be decided without others' changes.
        now: The file.
        known: The version that the text was made from.
        proposed: The text that the writer wants; None if it is binary.
        settings: Which files are prose, so that a line that both changed may be merged by words.

    Raises:
        EditConflictError: The changes overlap, or one side is binary; both sides are in the details.
        VersionMismatchError: The version that the text was made from has been removed from the history.
        EncodingError: The file's encoding lacks a character of the proposal.
    """
    path, current = now.seen.path, now.seen.version
    if now.seen.stat is None:
        raise unmergeable(path, known.base, None)
    if proposed is None:
        raise unmergeable(path, known.base, current)
    base = now.bytes_of(known.base)
    if base is None:
        raise VersionMismatchError(path, known.base, current, reason=BASE_GONE)
    text_format = facts_now(now).text_format
    base_text = read_as(base, known.encoding, name=path)[1]
    if text_format is None or base_text is None:
        raise unmergeable(path, known.base, current)
    content, by_words = now.content(), settings.is_prose(path)
    merged, result = merge_bytes(base_text, content, proposed, text_format=text_format, path=path, by_words=by_words)
    if merged is None:
        text = decode(content, text_format, path=path)
        raise overlapping(path, known.base, current, result, text, base_text)
    made = inspect(merged, name=path)[0]
    return replace(
        plain,
        content=merged,
        text=None,
        facts=made,
        is_merged=made.version != plain.sent_version,
        foreign=tuple(dict(hunk.to_dict()) for hunk in result.foreign),
        newline=None,
    )


def with_text(
    decision: PutDecision, path: WorkspacePath, text: str, text_format: TextFormat, before: str
) -> PutDecision:
    """Return a decision for another text than it was made for, such as one that a person gave.

    Args:
        decision: The decision.
        path: The file.
        text: The new text.
        text_format: How it is stored.
        before: The current text.

    Raises:
        EncodingError: The encoding lacks a character.
    """
    content = encode(text, text_format, path=path)
    report = decision.report
    if report is not None:
        hunks = tuple(hunk.to_dict() for hunk in structured_patch(before, text, report.context_lines))
        report = replace(report, hunks=hunks, counts=())
    return replace(
        decision,
        content=content,
        text=text,
        facts=describe(content, text, text_format, name=path, version=version_of(content)),
        added_bytes=None,
        newline=None,
        is_merged=False,
        edits=None,
        report=report,
        document=None,
        in_buffer=False,
        shown=None,
        kept_unsaved=None,
    )
