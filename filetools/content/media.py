"""MIME types, by the signature in a file's first bytes and by its name; the name never decides if a file is text.

If a signature could also begin a text, more of the format's header is required. This is why we have our own table:
`filetype` and `puremagic` treat a text that begins with "BM" or "MZ" as an image or a program.

Source: the formats' own specifications; the collection in Gary Kessler's file signature table and the `file` program.
"""

from __future__ import annotations

import mimetypes
import posixpath
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple


class _Signature(NamedTuple):
    start: bytes
    mime_type: str
    rest: Callable[[bytes], bool] | None = None
    """A further condition, if the letters alone could begin a text."""


def _has(offset: int, *choices: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(choices, offset)


_BITMAP_HEADERS: Final = (12, 40, 52, 56, 64, 108, 124)
"""All defined sizes of the second header."""

_SIGNATURES: Final = (
    _Signature(b"\x89PNG\r\n\x1a\n", "image/png"),
    _Signature(b"\xff\xd8\xff", "image/jpeg"),
    _Signature(b"GIF87a", "image/gif"),
    _Signature(b"GIF89a", "image/gif"),
    _Signature(b"RIFF", "image/webp", _has(8, b"WEBP")),
    _Signature(b"RIFF", "audio/x-wav", _has(8, b"WAVE")),
    _Signature(b"RIFF", "video/x-msvideo", _has(8, b"AVI ")),
    # The reserved field is zero.
    _Signature(
        b"BM",
        "image/bmp",
        lambda head: head[6:10] == bytes(4) and int.from_bytes(head[14:18], "little") in _BITMAP_HEADERS,
    ),
    _Signature(b"II*\0", "image/tiff"),
    _Signature(b"MM\0*", "image/tiff"),
    _Signature(b"\0\0\1\0", "image/vnd.microsoft.icon", lambda head: head[4:6] not in (b"", b"\0\0")),
    _Signature(b"8BPS\0\1", "image/vnd.adobe.photoshop"),
    _Signature(b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
    _Signature(b"%PDF-", "application/pdf"),
    _Signature(b"PK\3\4", "application/epub+zip", _has(30, b"mimetypeapplication/epub+zip")),
    _Signature(b"PK\3\4", "application/zip"),
    _Signature(b"PK\5\6", "application/zip"),
    _Signature(b"PK\7\x08", "application/zip"),
    _Signature(b"\x1f\x8b\x08", "application/gzip"),
    _Signature(b"BZh", "application/x-bzip2", _has(4, b"1AY&SY", b"\x17rE8P\x90")),
    _Signature(b"\xfd7zXZ\0", "application/x-xz"),
    _Signature(b"\x28\xb5\x2f\xfd", "application/zstd"),
    _Signature(b"\x04\x22\x4d\x18", "application/x-lz4"),
    _Signature(b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    _Signature(b"Rar!\x1a\7", "application/vnd.rar"),
    _Signature(b"MSCF\0\0\0\0", "application/vnd.ms-cab-compressed"),
    _Signature(b"!<arch>\n", "application/x-archive"),
    _Signature(b"\xed\xab\xee\xdb", "application/x-rpm"),
    _Signature(b"\x7fELF", "application/x-elf"),
    # The header's reserved words are zero in every linker's output; a text has no NUL there.
    _Signature(
        b"MZ",
        "application/vnd.microsoft.portable-executable",
        lambda head: len(head) >= 64 and b"\0\0" in head[28:64],
    ),
    _Signature(b"\xfe\xed\xfa\xce", "application/x-mach-binary"),
    _Signature(b"\xfe\xed\xfa\xcf", "application/x-mach-binary"),
    _Signature(b"\xce\xfa\xed\xfe", "application/x-mach-binary"),
    _Signature(b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    # A fat Mach-O file has the same signature; at the position of a class's version, 45 or more, it has the small number of
    # its architectures.
    _Signature(b"\xca\xfe\xba\xbe", "application/java-vm", lambda head: int.from_bytes(head[6:8], "big") >= 45),
    _Signature(b"\xca\xfe\xba\xbe", "application/x-mach-binary"),
    _Signature(b"\0asm", "application/wasm"),
    _Signature(b"dex\n03", "application/vnd.android.dex"),
    _Signature(b"SQLite format 3\0", "application/vnd.sqlite3"),
    _Signature(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    _Signature(b"\x89HDF\r\n\x1a\n", "application/x-hdf5"),
    _Signature(b"\x93NUMPY", "application/x-npy"),
    _Signature(b"PAR1\x15", "application/vnd.apache.parquet"),
    _Signature(b"ARROW1\0\0", "application/vnd.apache.arrow.file"),
    _Signature(b"OggS\0", "video/ogg", _has(28, b"\x80theora")),
    _Signature(b"OggS\0", "audio/ogg", _has(28, b"\1vorbis", b"OpusHead", b"\x7fFLAC", b"Speex   ")),
    _Signature(b"OggS\0", "application/ogg"),
    _Signature(b"fLaC", "audio/flac", _has(4, b"\0\0\0\x22", b"\x80\0\0\x22")),
    _Signature(b"ID3", "audio/mpeg", _has(3, b"\2", b"\3", b"\4")),
    _Signature(b"MThd\0\0\0\6", "audio/midi"),
    _Signature(b"\x1a\x45\xdf\xa3", "video/webm", lambda head: b"\x42\x82\x84webm" in head[:64]),
    _Signature(b"\x1a\x45\xdf\xa3", "video/x-matroska"),
    _Signature(b"FLV\1", "video/x-flv"),
    _Signature(b"wOFF", "font/woff", _has(4, b"\0\1\0\0", b"OTTO", b"true")),
    _Signature(b"wOF2", "font/woff2", _has(4, b"\0\1\0\0", b"OTTO", b"true", b"ttcf")),
    _Signature(b"\0\1\0\0\0", "font/ttf"),
    _Signature(b"OTTO\0", "font/otf"),
    _Signature(b"true\0", "font/ttf"),
    _Signature(b"ttcf\0", "font/collection"),
)

_BRANDS: Final = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"qt  ": "video/quicktime",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"M4V ": "video/x-m4v",
}


_BY_FIRST_BYTE: Final = {
    byte: [signature for signature in _SIGNATURES if signature.start[0] == byte]
    for byte in {signature.start[0] for signature in _SIGNATURES}
}


def signature_of(head: bytes) -> str | None:
    """Return the MIME type whose signature is in the first bytes of a file, or None.

    Args:
        head: The first 265 bytes of the file or more; fewer only if the file has no more.
    """
    if not head:
        return None
    for start, mime_type, rest in _BY_FIRST_BYTE.get(head[0], ()):
        if head.startswith(start) and (rest is None or rest(head)):
            return mime_type
    # The size before "ftyp" is below 16 MiB, so its first byte is zero; a text has no NUL.
    if head[0] == 0 and head.startswith(b"ftyp", 4):
        return _BRANDS.get(head[8:12], "video/mp4")
    if head.startswith((b"ustar\0", b"ustar  \0"), 257):
        return "application/x-tar"
    return None


PLAIN_TEXT: Final = "text/plain"
OCTET_STREAM: Final = "application/octet-stream"

_TEXTS: Final = {
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".toml": "application/toml",
    ".ts": "text/typescript",
    ".tsx": "text/typescript",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".ipynb": "application/x-ipynb+json",
}
"""Text types that some versions of Python do not know, or treat as video."""
_TEXT_APPLICATIONS: Final = frozenset(
    {
        "application/ecmascript",
        "application/javascript",
        "application/json",
        "application/jsonl",
        "application/n-quads",
        "application/n-triples",
        "application/postscript",
        "application/sql",
        "application/toml",
        "application/trig",
        "application/x-csh",
        "application/x-javascript",
        "application/x-latex",
        "application/x-sh",
        "application/x-tex",
        "application/x-texinfo",
        "application/xml",
        "application/yaml",
    }
)


def text_mime_type(name: str) -> str:
    """Return the MIME type of a text file: "text/plain" unless its extension is known for another text type."""
    found = mime_type_of(name)
    return found if _is_text(found) else PLAIN_TEXT


def binary_mime_type(name: str) -> str:
    """Return the MIME type of a binary file without a known signature, by its extension."""
    found = _by_ending(posixpath.splitext(name)[1])
    return found if found is not None and not _is_text(found) else OCTET_STREAM


def mime_type_of(name: str) -> str:
    """Return the MIME type of a file by its extension."""
    ending = posixpath.splitext(name)[1]
    return _TEXTS.get(ending.lower()) or _by_ending(ending) or OCTET_STREAM


@lru_cache(maxsize=1024)
def _by_ending(ending: str) -> str | None:
    # `guess_type` would parse the name as a URL and read the machine's own tables; both would make results vary.
    return _table().types_map[True].get(ending.lower())


@lru_cache(maxsize=1)
def _table() -> mimetypes.MimeTypes:
    return mimetypes.MimeTypes()


def _is_text(mime_type: str) -> bool:
    return (
        mime_type.startswith(("text/", "message/"))
        or mime_type.endswith(("+xml", "+json"))
        or mime_type in _TEXT_APPLICATIONS
    )
