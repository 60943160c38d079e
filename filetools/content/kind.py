"""Detects the kind of a file, text or binary, and its encoding, from its bytes by rules in a fixed order."""

from __future__ import annotations

import codecs
from typing import Final

from msgspec import Struct

from filetools.content.formats import LATIN1, RAW_UTF8, UTF8, TextFormat, marked_format
from filetools.content.media import binary_mime_type, signature_of, text_mime_type

SAMPLE_BYTES: Final = 8192
"""Number of bytes at the start of a file that decide its kind."""

_CONTROLS: Final = bytes(set(range(0x20)) - set(b"\t\n\f\r\x1b")) + b"\x7f"


class ContentKind(Struct, frozen=True, kw_only=True):
    """The kind of a file according to its first bytes."""

    format: TextFormat | None
    """Its text format; None if binary."""
    mime_type: str | None


def sniff(sample: bytes, *, complete: bool, name: str = "") -> ContentKind:
    """Return the kind of a file from its first bytes.

    In this order: a byte-order mark means text; a known signature, binary; a NUL, UTF-16 or UTF-32 without a mark if it
    matches, else binary; valid UTF-8, text; at least 5 % control characters, binary. The rest is text: UTF-8 with invalid
    bytes if at least half of the bytes above 0x7F are valid UTF-8, else Latin-1.

    Args:
        sample: The first `SAMPLE_BYTES` bytes of the file, or all of it.
        complete: True if the sample is the whole file. If not, its end may split a character.
        name: Name or path of the file; it refines the MIME type but never decides the kind.
    """
    marked = marked_format(sample)
    return text_kind(marked, name) if marked is not None else sniff_unmarked(sample, complete=complete, name=name)


def sniff_unmarked(sample: bytes, *, complete: bool, name: str = "") -> ContentKind:
    """Return the kind of a file as `sniff` does, but ignore a byte-order mark."""
    signature = signature_of(sample)
    if signature is not None:
        return ContentKind(format=None, mime_type=signature)
    if b"\0" in sample:
        found = _wide_format(sample, complete)
    elif _decodes(sample, "utf-8", complete):
        found = UTF8
    elif _has_few_controls(sample):
        bom = codecs.BOM_UTF8 if sample.startswith(codecs.BOM_UTF8) else b""
        found = TextFormat(encoding=RAW_UTF8, bom=bom) if _is_mostly_utf8(sample, complete) else LATIN1
    else:
        found = None
    return binary_kind(name) if found is None else text_kind(found, name)


def binary_kind(name: str) -> ContentKind:
    """Return the kind of a binary file without a known signature."""
    return ContentKind(format=None, mime_type=binary_mime_type(name))


def text_kind(text_format: TextFormat, name: str) -> ContentKind:
    """Return the kind of a text file in a format."""
    return ContentKind(format=text_format, mime_type=text_mime_type(name))


def _wide_format(sample: bytes, complete: bool) -> TextFormat | None:
    # UTF-32 first: its text also has UTF-16's column of zeros. Its highest byte is always zero; in UTF-16, the high byte of
    # Latin text is. Zeros in both columns of UTF-16 do not occur in text.
    low, high = _mostly_zero(sample[0::2], sample), _mostly_zero(sample[1::2], sample)
    candidates = {
        "utf-32-le": _mostly_zero(sample[3::4], sample, width=4),
        "utf-32-be": _mostly_zero(sample[0::4], sample, width=4),
        "utf-16-le": high and not low,
        "utf-16-be": low and not high,
    }
    found = (encoding for encoding, fits in candidates.items() if fits and _decodes(sample, encoding, complete))
    return next((TextFormat(encoding=encoding, bom=b"") for encoding in found), None)


def _mostly_zero(column: bytes, sample: bytes, width: int = 2) -> bool:
    units = len(sample) // width
    return units > 0 and column.count(0) * 10 >= units * 3


def _decodes(sample: bytes, encoding: str, complete: bool) -> bool:
    try:
        # Of an incomplete sample, the incremental decoder ignores a character that is cut off at the end.
        text = codecs.getincrementaldecoder(encoding)().decode(sample, complete)
    except UnicodeDecodeError:
        return False
    return "\0" not in text


def _is_mostly_utf8(sample: bytes, complete: bool) -> bool:
    kept, consumed = codecs.utf_8_decode(sample, "ignore", complete)
    ascii_bytes = len(kept.encode("ascii", "ignore"))
    return 2 * (len(kept.encode()) - ascii_bytes) >= consumed - ascii_bytes


def _has_few_controls(sample: bytes) -> bool:
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls * 20 < len(sample)
