"""MIME types by the first bytes, and by name where these tell nothing."""

from __future__ import annotations

import gzip
import io
import lzma
import sqlite3
import tarfile
import wave
import zipfile
from bz2 import compress
from pathlib import Path

import pytest

from filetools.content.kind import sniff
from filetools.content.media import binary_mime_type, mime_type_of, signature_of, text_mime_type


def mime_of(content: bytes, name: str = "a.txt") -> str | None:
    kind = sniff(content[:8192], complete=len(content) <= 8192, name=name)
    assert kind.format is None
    return kind.mime_type


@pytest.mark.parametrize(
    "text",
    [
        b"BMW builds cars in Munich, and has for a long time now.\n",
        b"MZ are two letters, and this line is made long enough to reach the sixty-fourth byte.\n",
        b"RIFF is a container; WEBP, WAVE and AVI are in it.\n",
        b"true\n",
        b"x" * 257 + b"ustar 00 in the right place",
        b"%PD",
    ],
)
def test_text_that_begins_like_a_signature_stays_text(text: bytes) -> None:
    assert sniff(text, complete=True).format is not None


def test_archives_and_databases_made_by_real_programs_are_known(tmp_path: Path) -> None:
    tar, archive, wav = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as tarred:
        tarred.addfile(tarfile.TarInfo("readme.txt"))
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("readme.txt", "words")
    with wave.open(wav, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(b"ab" * 100)
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    assert {
        mime_of(tar.getvalue()): "tar",
        mime_of(archive.getvalue()): "zip",
        mime_of(wav.getvalue()): "wav",
        mime_of((tmp_path / "a.db").read_bytes()): "sqlite",
        mime_of(gzip.compress(b"words")): "gzip",
        mime_of(compress(b"words")): "bzip2",
        mime_of(lzma.compress(b"words")): "xz",
    } == {
        "application/x-tar": "tar",
        "application/zip": "zip",
        "audio/x-wav": "wav",
        "application/vnd.sqlite3": "sqlite",
        "application/gzip": "gzip",
        "application/x-bzip2": "bzip2",
        "application/x-xz": "xz",
    }


@pytest.mark.parametrize(
    ("head", "mime_type"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"%PDF-1.4", "application/pdf"),
        (b"MZ\x90\0\3\0\0\0" + bytes(56), "application/vnd.microsoft.portable-executable"),
        (b"\xca\xfe\xba\xbe\0\0\0\x3d", "application/java-vm"),
        (b"\0asm\1\0\0\0", "application/wasm"),
        (b"ID3\4\0", "audio/mpeg"),
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"wOF2OTTO", "font/woff2"),
    ],
)
def test_signature_gives_the_type_whatever_the_name(head: bytes, mime_type: str) -> None:
    assert mime_of(head) == mime_type


def test_unknown_binary_takes_its_type_from_the_name_but_never_a_text_one() -> None:
    data = b"\0\0\1\2\xff" * 20
    assert [mime_of(data, name) for name in ("a.swf", "a.txt", "a.json", "a")] == [
        "application/x-shockwave-flash",
        "application/octet-stream",
        "application/octet-stream",
        "application/octet-stream",
    ]


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("src/a.py", "text/x-python"),
        ("a.JSON", "application/json"),
        ("a.svg", "image/svg+xml"),
        ("a.csv.gz", "text/plain"),
        ("a.unknown", "text/plain"),
        ("data:image/png,a.html", "text/html"),
        ("", "text/plain"),
    ],
)
def test_text_takes_its_type_from_the_name_if_that_means_text(name: str, mime_type: str) -> None:
    assert sniff(b"words", complete=True, name=name).mime_type == mime_type


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("a.md", "text/markdown"), ("a.ts", "text/typescript"), ("A.TSX", "text/typescript"), ("a.py", "text/x-python"),
        ("a.yaml", "application/yaml"), ("a.yml", "application/yaml"), ("a.toml", "application/toml"),
        ("a.jsonl", "application/jsonl"), ("a.ipynb", "application/x-ipynb+json"), ("a.json", "application/json"),
        ("a.html", "text/html"), ("a.css", "text/css"), ("a.csv", "text/csv"), ("a.svg", "image/svg+xml"),
        ("a.png", "image/png"), ("a.pdf", "application/pdf"), ("a.txt", "text/plain"),
    ],
)  # fmt: skip
def test_the_ending_of_a_name_decides(name: str, mime_type: str) -> None:
    assert mime_type_of(name) == mime_type


def test_what_nobody_knows_is_a_stream_of_bytes() -> None:
    assert (mime_type_of("a.unheard"), mime_type_of("")) == ("application/octet-stream", "application/octet-stream")


def test_a_text_is_no_video_and_bytes_are_no_program_by_their_name() -> None:
    assert (text_mime_type("a.ts"), binary_mime_type("a.py")) == ("text/typescript", "application/octet-stream")


@pytest.mark.parametrize(
    ("head", "mime_type"),
    [
        ("1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104", "video/webm"),
        ("1a45dfa3a34286810142f7810142f2810442f381084282886d6174726f736b61", "video/x-matroska"),
        (f"{b'OggS'.hex()}{'00' * 24}{b'OpusHead'.hex()}", "audio/ogg"),
        (f"{b'OggS'.hex()}{'00' * 24}80{b'theora'.hex()}", "video/ogg"),
        (f"{b'OggS'.hex()}{'00' * 24}{b'other'.hex()}", "application/ogg"),
        (f"{b'PK'.hex()}0304{'00' * 26}{b'mimetypeapplication/epub+zip'.hex()}", "application/epub+zip"),
    ],
)
def test_kinds_that_share_a_container_are_told_apart(head: str, mime_type: str) -> None:
    assert signature_of(bytes.fromhex(head)) == mime_type
