"""Text formats: a file's codec and byte-order mark, and the conversion between bytes and text."""

from __future__ import annotations

import codecs
import re
from typing import Any, Final

from msgspec import Struct, structs

from filetools.content.lines import position_in
from filetools.errors import EncodingError, InvalidArgumentError

RAW_UTF8: Final = "utf-8-raw"
"""UTF-8 in which each invalid byte is one character, so that reading and writing are lossless.

Such a byte, 0x80 to 0xFF, is read as U+F780 to U+F7FF, in Unicode's private use area, and written back as that byte.
If a file actually contains one of these characters, its three bytes are read as three characters.
"""
# UTF-32 comes first: its little-endian mark begins with that of UTF-16.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARK_OF: Final = {encoding: mark for mark, encoding in _MARKS} | {RAW_UTF8: codecs.BOM_UTF8}

_FIRST_PRIVATE: Final = 0xF700
_PRIVATE: Final = re.compile(rb"\xef[\x9e\x9f][\x80-\xbf]")
"""U+F780 to U+F7FF in UTF-8."""
_AS_BYTES: Final = re.compile("[\uf780-\uf7ff\udc80-\udcff]+")
"""These characters, and invalid bytes as decoded with the error handler "surrogateescape"."""

# Codecs whose byte order or mark depends on the content; without a mark they are little-endian, as on the web.
_BY_MARK: Final = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}

# Escapes and host names, which do not reproduce the original bytes.
_NOT_FOR_FILES: Final = frozenset({"unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined"})


class TextFormat(Struct, frozen=True, kw_only=True):
    """How the text of one file is stored."""

    encoding: str
    """Python codec name that neither reads nor writes a mark, such as "utf-8", "utf-16-le", "latin-1" or our "utf-8-raw"."""
    bom: bytes
    """The byte-order mark at the start of the file, or b"" if it has none."""


UTF8: Final = TextFormat(encoding="utf-8", bom=b"")
LATIN1: Final = TextFormat(encoding="latin-1", bom=b"")


def unit_bytes(encoding: str) -> int:
    """Return the size of a code unit: 2 for UTF-16, 4 for UTF-32, else 1."""
    return {"utf-16": 2, "utf-32": 4}.get(encoding[:6], 1)


def marked_format(head: bytes) -> TextFormat | None:
    """Return the format given by a byte-order mark at the start of `head`, or None if there is no mark."""
    return next((TextFormat(encoding=encoding, bom=mark) for mark, encoding in _MARKS if head.startswith(mark)), None)


def marked(text_format: TextFormat, *, has_mark: bool) -> TextFormat:
    """Return a format with the byte-order mark of its encoding, if that has one, or without."""
    return structs.replace(text_format, bom=_MARK_OF.get(text_format.encoding, b"") if has_mark else b"")


def format_named(encoding: str, head: bytes | None = None) -> TextFormat:
    """Return the format of a new file in a named encoding, or of an existing file that a caller wants to read in it.

    Args:
        encoding: Any spelling of a Python text codec. New files in "utf-8-sig", "utf-16" and "utf-32" have a mark, all others
            none; "utf-16" and "utf-32" take their byte order from the mark of a file and are little-endian without one.
        head: The first bytes of the existing file; a mark of the named encoding becomes part of the format.

    Raises:
        InvalidArgumentError: The text codec is unknown, or not suitable for files.
    """
    name = _codec_name(encoding)
    found = marked_format(head or b"")
    if found is not None and name in ("utf-16", "utf-32") and found.encoding.startswith(name):
        return found
    exact = _BY_MARK.get(name, name)
    mark = _MARK_OF.get(exact, b"")
    has_mark = name in _BY_MARK if head is None else head.startswith(mark)
    return TextFormat(encoding=exact, bom=mark if has_mark else b"")


def decode(content: bytes | memoryview, text_format: TextFormat, *, path: str) -> str:
    """Return the text of a whole file, without its byte-order mark, line ends unchanged.

    Raises:
        EncodingError: The bytes are not text of this format; `details["position"]` is the byte offset in the file.
    """
    mark = text_format.bom
    skipped = len(mark) if mark and content[: len(mark)] == mark else 0
    try:
        return str(content[skipped:] if skipped else content, text_format.encoding)
    except UnicodeDecodeError as exc:
        raise undecodable(exc, text_format, path=path, position=skipped + exc.start) from exc


def encode(text: str, text_format: TextFormat, *, path: str) -> bytes:
    """Return the bytes of a whole file, beginning with its byte-order mark; the inverse of `decode`.

    Raises:
        EncodingError: A character does not exist in the encoding. `details` has `character` ("U+20AC"), `position`
            (its index in the text, from 0), `line` and `column` (from 1).
    """
    try:
        body = text.encode(text_format.encoding)
    except UnicodeEncodeError as exc:
        raise _unencodable(exc, text, text_format, path=path) from exc
    return text_format.bom + body if text_format.bom else body


def undecodable(exc: UnicodeDecodeError, text_format: TextFormat, *, path: str, position: int) -> EncodingError:
    """Return the error for a byte of a file that is not text.

    Args:
        exc: The codec's error.
        text_format: The format that was tried.
        path: Workspace-relative path of the file.
        position: Offset of the byte in the file, from 0.
    """
    bad = exc.object[exc.start]
    error = EncodingError(
        path, text_format.encoding, f"byte 0x{bad:02X} at position {position}: {exc.reason}", position=position
    )
    error.suggested_action = (
        f"Read it with encoding={RAW_UTF8!r}, which keeps each invalid byte as a private-use character."
        if text_format.encoding == "utf-8"
        else "Read the file with another encoding, such as latin-1, which decodes every byte."
    )
    return error


def _unencodable(exc: UnicodeEncodeError, text: str, text_format: TextFormat, *, path: str) -> EncodingError:
    character = text[exc.start]
    line, column = position_in(text, exc.start)
    code_point = f"U+{ord(character):04X}"
    shown = f"{code_point} {character!r}" if character.isprintable() else code_point
    reason = f"cannot encode {shown} at line {line}, column {column} (index {exc.start})"
    error = EncodingError(path, text_format.encoding, reason, position=exc.start)
    error.details.update(character=code_point, line=line, column=column)
    error.suggested_action = (
        "Leave the character out, or write the whole file in an encoding that has it, such as utf-8."
    )
    return error


def _codec_name(encoding: str) -> str:
    try:
        found = codecs.lookup(encoding)
    except (LookupError, ValueError) as exc:
        raise InvalidArgumentError(f"Unknown encoding: {encoding!r}") from exc
    # Python marks bytes-to-bytes codecs such as "base64" and "zlib" with this attribute only.
    if not found._is_text_encoding or found.name in _NOT_FOR_FILES:
        raise InvalidArgumentError(f"Not an encoding for text files: {encoding!r}")
    return "latin-1" if found.name == "iso8859-1" else found.name


def _characters(found: re.Match[str]) -> str:
    return "".join(chr(_FIRST_PRIVATE + byte) for byte in found[0].encode("utf-8", "surrogateescape"))


def _decode_raw(content: Any, errors: str = "strict", final: bool = True) -> tuple[str, int]:
    text, consumed = codecs.utf_8_decode(content, "surrogateescape", final)
    return _AS_BYTES.sub(_characters, text), consumed


def _encode_raw(text: str, errors: str = "strict") -> tuple[bytes, int]:
    bare = _PRIVATE.sub(lambda each: bytes((ord(each[0].decode()) - _FIRST_PRIVATE,)), text.encode("utf-8", errors))
    return bare, len(text)


class _Decoder(codecs.BufferedIncrementalDecoder):
    def _buffer_decode(self, content: Any, errors: str, final: bool) -> tuple[str, int]:
        return _decode_raw(content, errors, final)


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != RAW_UTF8:
        return None
    return codecs.CodecInfo(_encode_raw, _decode_raw, incrementaldecoder=_Decoder, name=RAW_UTF8)


codecs.register(_find_codec)
