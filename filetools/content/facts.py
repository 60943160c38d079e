"""Facts about a whole file's content: version, kind, encoding, line ends."""

from __future__ import annotations

from msgspec import Struct

from filetools.content.formats import TextFormat, decode, format_named
from filetools.content.kind import SAMPLE_BYTES, ContentKind, binary_kind, sniff, sniff_unmarked, text_kind
from filetools.content.lines import tally
from filetools.content.media import signature_of
from filetools.content.version import version_of
from filetools.models.words import Newline


class ContentFacts(Struct, frozen=True, kw_only=True):
    """Facts that depend only on a file's bytes and its name. Cached until the bytes change."""

    version: str
    size: int
    """Bytes."""
    newline: Newline | None
    """Its line ends; None if binary."""
    total_lines: int | None
    """None if binary."""
    mime_type: str | None
    text_format: TextFormat | None
    """Its text format; None if binary."""


def inspect(content: bytes, *, name: str = "", encoding: str | None = None) -> tuple[ContentFacts, str | None]:
    """Return the facts of a whole file and its text.

    The kind is that of `sniff`, verified against the whole file: content that does not decode in the format of its beginning
    is examined as a whole, and a NUL after the beginning makes it binary.

    Args:
        content: All bytes of the file.
        name: Name or path of the file, for the MIME type and for errors.
        encoding: Read it as text in this encoding, without detection.

    Returns:
        The facts and the text without byte-order mark, line ends unchanged; None instead of the text if binary.

    Raises:
        InvalidArgumentError: The encoding is unknown.
        EncodingError: The content is not text in the given encoding.
    """
    if encoding is not None:
        text_format = format_named(encoding, content)
        text = decode(content, text_format, path=name)
        return _facts(content, text_kind(text_format, name), text), text
    kind, sniffed = _read(
        content, sniff(content[:SAMPLE_BYTES], complete=len(content) <= SAMPLE_BYTES, name=name), name
    )
    return _facts(content, kind, sniffed), sniffed


def text_of(content: bytes, *, name: str = "") -> str | None:
    """Return the text of a whole file as `inspect` does; None if it is binary."""
    if content.isascii() and b"\0" not in content and signature_of(content[:SAMPLE_BYTES]) is None:
        return str(content, "ascii")  # fast path for most texts, without detection
    return _read(content, sniff(content[:SAMPLE_BYTES], complete=len(content) <= SAMPLE_BYTES, name=name), name)[1]


def describe(
    content: bytes,
    text: str | None,
    text_format: TextFormat,
    *,
    name: str,
    version: str,
) -> ContentFacts:
    """Return the facts of bytes that were encoded from a text, or already decoded, without decoding them again.

    Args:
        content: All bytes of the file.
        text: The text, without byte-order mark; None uses `inspect`.
        text_format: The format of the text.
        name: Name or path of the file, for the MIME type.
        version: `version_of(content)`.
    """
    # Facts depend on the bytes alone, and text in other encodings without a mark may be detected as something else.
    if text is None or "\0" in text or not (text_format.bom or text_format.encoding == "utf-8"):
        return inspect(content, name=name)[0]
    return _facts(content, text_kind(text_format, name), text, version)


def _read(content: bytes, kind: ContentKind, name: str) -> tuple[ContentKind, str | None]:
    if kind.format is None:
        return kind, None
    try:
        text = str(memoryview(content)[len(kind.format.bom) :], kind.format.encoding)
    except UnicodeDecodeError:
        if b"\0" in content:
            return binary_kind(name), None
        # Use the whole content as the sample: a format found this way also decodes.
        return _read(content, sniff_unmarked(content, complete=True, name=name), name)
    return (binary_kind(name), None) if _has_late_nul(content, text, kind.format) else (kind, text)


def _has_late_nul(content: bytes, text: str, text_format: TextFormat) -> bool:
    # A byte-order mark takes precedence over a NUL in the sample, so only the rest counts.
    if len(content) <= SAMPLE_BYTES:
        return False
    if not text_format.encoding.startswith(("utf-16", "utf-32")):
        return content.find(0, SAMPLE_BYTES) >= 0
    if "\0" not in text:
        return False
    sampled = content[len(text_format.bom) : SAMPLE_BYTES].decode(text_format.encoding, "ignore")
    return text.find("\0", len(sampled)) >= 0


def _facts(content: bytes, kind: ContentKind, text: str | None, version: str | None = None) -> ContentFacts:
    newline, total_lines = (None, None) if text is None else tally(text)
    return ContentFacts(
        version=version or version_of(content),
        size=len(content),
        newline=newline,
        total_lines=total_lines,
        mime_type=kind.mime_type,
        text_format=kind.format,
    )
