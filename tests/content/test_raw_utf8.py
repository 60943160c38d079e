"""UTF-8 with foreign bytes: nothing is lost on the way to text and back, however the bytes come."""

from __future__ import annotations

import codecs
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from filetools.content.facts import inspect
from filetools.content.formats import RAW_UTF8, UTF8, TextFormat, decode, encode
from filetools.content.kind import sniff

RAW = TextFormat(encoding=RAW_UTF8, bom=b"")
PIECES = st.sampled_from(
    [b"a", b"\n", "é".encode(), "€".encode(), "\uf782".encode(), b"\xe2", b"\x82", b"\xff", b"\xef\x9e"]
)
CONTENTS = st.lists(PIECES, max_size=12).map(b"".join) | st.binary(max_size=40)


def encoding_of(content: bytes) -> str | None:
    text_format = inspect(content)[0].text_format
    return None if text_format is None else text_format.encoding


@given(content=CONTENTS)
@example(content="\uf782\uf7ff".encode() + b"\xef\x9e")
def test_every_byte_comes_back(content: bytes) -> None:
    assert encode(decode(content, RAW, path="a"), RAW, path="a") == content


@given(content=CONTENTS, cut=st.integers(0, 40))
def test_pieces_are_read_as_the_whole_is(content: bytes, cut: int) -> None:
    decoder = codecs.getincrementaldecoder(RAW_UTF8)()
    assert decoder.decode(content[:cut]) + decoder.decode(content[cut:], True) == decode(content, RAW, path="a")


def test_valid_text_is_read_as_utf_8_reads_it() -> None:
    assert decode("größer €😀".encode(), RAW, path="a") == "größer €😀"


def test_foreign_bytes_are_private_characters() -> None:
    assert decode(b"a\xe2\x82\nb\xff", RAW, path="a") == "a\uf7e2\uf782\nb\uf7ff"


def test_a_private_character_of_the_file_stays_three_bytes() -> None:
    assert decode("\uf782".encode(), RAW, path="a") == "\uf7ef\uf79e\uf782"


def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        "a\udce2".encode(RAW_UTF8)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("schön\n".encode() * 3 + b"cut: \xe2\x82\n", "utf-8-raw"),
        ("one ü".encode() + b" \xfc", "utf-8-raw"),
        (b"only \xfc and \xe4", "latin-1"),
        ("ü".encode() + b" \xfc \xe4 \xf6", "latin-1"),
        ("日本語のテキスト\n".encode("shift_jis") * 5, "latin-1"),
        ("这是一个测试\n".encode("gbk") * 5, "latin-1"),
        ("schön\n".encode() * 5 + b"\x01\x02\x03" * 20 + b"\xff", None),
        ("schön".encode() + b"\0\xff", None),
        ("schön\n".encode() * 3000 + b"\xff\n", "utf-8-raw"),
    ],
)
def test_what_most_bytes_are_decides(content: bytes, expected: str | None) -> None:
    assert encoding_of(content) == expected


def test_a_character_that_the_sample_cuts_is_not_foreign() -> None:
    sample = "ä".encode() + b"\xff" + "😀".encode()[:3]
    kinds = [sniff(sample, complete=complete).format for complete in (False, True)]
    assert kinds == [RAW, TextFormat(encoding="latin-1", bom=b"")]


def test_a_mark_stays_a_mark() -> None:
    content = codecs.BOM_UTF8 + "schön ".encode() + b"\xff"
    facts, text = inspect(content)
    assert facts.text_format == TextFormat(encoding=RAW_UTF8, bom=codecs.BOM_UTF8)
    assert (text, encode(text or "", facts.text_format, path="a")) == ("schön \uf7ff", content)


def test_a_file_without_foreign_bytes_is_utf_8_again() -> None:
    assert inspect("schön".encode())[0].text_format == UTF8


def test_many_private_characters_cost_no_square() -> None:
    tracemalloc.start()
    assert len(decode("\uf782".encode() * 100_000, RAW, path="a")) == 300_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000
