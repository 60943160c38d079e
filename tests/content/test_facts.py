from __future__ import annotations

import codecs
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.facts import ContentFacts, inspect, text_of
from filetools.content.formats import LATIN1, TextFormat, encode
from filetools.content.kind import SAMPLE_BYTES
from filetools.content.version import version_of
from filetools.errors import EncodingError

WORDS = b"words in a row\n" * 1000


def test_content_outside_the_given_encoding_is_refused_with_the_place() -> None:
    with pytest.raises(EncodingError) as caught:
        inspect(b"abc\xff", name="a.txt", encoding="utf-8")
    assert (caught.value.path, caught.value.details["position"]) == ("a.txt", 3)


def test_text_is_described_whole() -> None:
    content = codecs.BOM_UTF8 + "eins\r\nzwölf".encode()
    assert inspect(content, name="a.py") == (
        ContentFacts(
            version=version_of(content),
            size=14 + 1,
            newline="crlf",
            total_lines=2,
            mime_type="text/x-python",
            text_format=TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8),
        ),
        "eins\r\nzwölf",
    )


def test_given_encoding_overrides_mark_signature_and_nul() -> None:
    for content in (codecs.BOM_UTF16_LE + b"a\0", b"\x89PNG\r\n\x1a\n", b"a\0b"):
        facts, text = inspect(content, encoding="latin-1")
        assert (facts.text_format, text) == (LATIN1, content.decode("latin-1"))


@pytest.mark.parametrize("beginning", [WORDS, b"\xe9" + WORDS, codecs.BOM_UTF8 + WORDS])
def test_nul_behind_the_sample_makes_it_binary_after_all(beginning: bytes) -> None:
    assert len(beginning) > SAMPLE_BYTES
    assert inspect(beginning)[1] is not None
    facts, text = inspect(beginning + b"\0")
    assert (facts.text_format, facts.mime_type, text) == (None, "application/octet-stream", None)


def test_nul_in_the_sample_does_not_outrank_a_mark() -> None:
    assert inspect(codecs.BOM_UTF8 + b"a\0" + WORDS)[1] == "a\0" + WORDS.decode()
    assert inspect(codecs.BOM_UTF16_BE + b"\0a\0\0" + bytes(0) * 3)[1] == "a\0"


def test_mark_that_the_content_does_not_bear_out_leaves_the_bytes_readable() -> None:
    facts, text = inspect(codecs.BOM_UTF8 + b"caf\xe9")
    assert (facts.text_format, text) == (TextFormat(encoding="utf-8-raw", bom=codecs.BOM_UTF8), "caf\uf7e9")
    assert inspect(codecs.BOM_UTF16_LE + b"a\0b")[0].text_format is None


@given(st.binary(max_size=300) | st.text(max_size=100).map(str.encode), st.integers(0, 3))
def test_text_of_any_content_gives_back_its_bytes(content: bytes, padding: int) -> None:
    content += b"a" * (padding * 3000)
    facts, text = inspect(content)
    assert (text is None) == (facts.text_format is None)
    if text is not None and facts.text_format is not None:
        assert encode(text, facts.text_format, path="a") == content


@given(
    st.sampled_from([b"", b"%PDF-1.4\n", b"\x89PNG", codecs.BOM_UTF8, b"PK\x03\x04", b"GIF89a"]),
    st.binary(max_size=50) | st.text(max_size=50).map(str.encode) | st.text("a\0\x01\r\n").map(str.encode),
    st.sampled_from([b"", b"a" * 9000, b"a" * 9000 + b"\0", b"a" * 9000 + b"\xff"]),
)  # fmt: skip
def test_the_text_alone_is_that_of_the_facts(head: bytes, body: bytes, tail: bytes) -> None:
    content = head + body + tail
    assert text_of(content) == inspect(content)[1]


def test_random_data_is_binary() -> None:
    chance = random.Random(1)
    assert all(inspect(chance.randbytes(4096))[1] is None for _ in range(50))
