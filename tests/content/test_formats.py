from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.formats import TextFormat, decode, encode, format_named
from filetools.errors import EncodingError, InvalidArgumentError

FORMATS = [
    TextFormat(encoding="utf-8", bom=b""),
    TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8),
    TextFormat(encoding="utf-16-le", bom=b""),
    TextFormat(encoding="utf-16-le", bom=codecs.BOM_UTF16_LE),
    TextFormat(encoding="utf-16-be", bom=codecs.BOM_UTF16_BE),
    TextFormat(encoding="utf-32-le", bom=codecs.BOM_UTF32_LE),
    TextFormat(encoding="utf-32-be", bom=codecs.BOM_UTF32_BE),
]


@pytest.mark.parametrize(
    "encoding",
    [
        "no-such",
        "",
        "base64",
        "rot13",
        "a\0b",
        "\ud800",
    ],
)
def test_named_encoding_that_holds_no_files_is_refused(encoding: str) -> None:
    with pytest.raises(InvalidArgumentError):
        format_named(encoding)


def test_character_outside_the_encoding_is_named_with_its_position() -> None:
    with pytest.raises(EncodingError) as caught:
        encode("one\r\ntwo €\r\n", TextFormat(encoding="latin-1", bom=b""), path="a.txt")
    assert caught.value.message == (
        "Encoding error in a.txt (latin-1): cannot encode U+20AC '€' at line 2, column 5 (index 9)"
    )
    assert caught.value.details == {
        "encoding": "latin-1",
        "position": 9,
        "character": "U+20AC",
        "line": 2,
        "column": 5,
    }


def test_lone_surrogate_is_refused_without_being_printed() -> None:
    with pytest.raises(EncodingError) as caught:
        encode("a\udc80", TextFormat(encoding="utf-8", bom=b""), path="a.txt")
    assert "U+DC80" in caught.value.message
    caught.value.message.encode("utf-8")


def test_bad_byte_is_named_with_its_place_in_the_file_behind_the_mark() -> None:
    with pytest.raises(EncodingError) as caught:
        decode(codecs.BOM_UTF8 + b"ab\xff", TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8), path="a.txt")
    assert caught.value.details == {"encoding": "utf-8", "position": 5}
    assert "0xFF" in caught.value.message


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8-sig", TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8)),
        ("utf-16", TextFormat(encoding="utf-16-le", bom=codecs.BOM_UTF16_LE)),
        ("utf-32", TextFormat(encoding="utf-32-le", bom=codecs.BOM_UTF32_LE)),
    ],
)
def test_name_gives_the_format_of_a_new_file(encoding: str, expected: TextFormat) -> None:
    assert format_named(encoding) == expected


@pytest.mark.parametrize(
    ("encoding", "head", "expected"),
    [
        ("utf-8", codecs.BOM_UTF8 + b"a", TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8)),
        ("utf-8-sig", b"a", TextFormat(encoding="utf-8", bom=b"")),
        ("utf-16", codecs.BOM_UTF16_BE + b"\0a", TextFormat(encoding="utf-16-be", bom=codecs.BOM_UTF16_BE)),
        ("utf-16", b"a\0", TextFormat(encoding="utf-16-le", bom=b"")),
        ("utf-16-le", codecs.BOM_UTF16_LE + b"\0\0", TextFormat(encoding="utf-16-le", bom=codecs.BOM_UTF16_LE)),
        ("utf-32", codecs.BOM_UTF32_LE, TextFormat(encoding="utf-32-le", bom=codecs.BOM_UTF32_LE)),
        ("latin-1", codecs.BOM_UTF8, TextFormat(encoding="latin-1", bom=b"")),
    ],
)
def test_existing_file_is_read_with_the_mark_it_has(encoding: str, head: bytes, expected: TextFormat) -> None:
    assert format_named(encoding, head) == expected


@given(text=st.text(), text_format=st.sampled_from(FORMATS))
def test_text_survives_encoding_and_decoding(text: str, text_format: TextFormat) -> None:
    content = encode(text, text_format, path="a")
    assert content.startswith(text_format.bom)
    if text_format.bom:
        assert decode(content, text_format, path="a") == text
    assert encode(decode(content, text_format, path="a"), text_format, path="a") == content


@given(content=st.binary(), encoding=st.sampled_from(["utf-8", "utf-16-le", "utf-32-be", "latin-1", "cp1252"]))
def test_whatever_decodes_comes_back_byte_for_byte(content: bytes, encoding: str) -> None:
    text_format = format_named(encoding, content)
    try:
        text = decode(content, text_format, path="a")
    except EncodingError:
        return
    assert encode(text, text_format, path="a") == content
