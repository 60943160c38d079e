"""MIME types by name, and by the first bytes where the name tells nothing."""

from __future__ import annotations

import pytest

from filetools.content.media import binary_mime_type, mime_type_of, signature_of, text_mime_type


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
