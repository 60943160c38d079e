from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.formats import TextFormat
from filetools.content.kind import SAMPLE_BYTES, sniff

CONTROLS = sorted((set(range(1, 0x20)) - set(b"\t\n\f\r\x1b")) | {0x7F})
LATIN = "Plain words in a row, every one of them Latin.\n" * 20
CYRILLIC = "Съешьещёэтихмягкихфранцузскихбулок" * 20
CYRILLIC_PROSE = "Съешь ещё этих мягких французских булок, да выпей чаю.\n" * 20
CHINESE = "天地玄黄宇宙洪荒日月盈昃辰宿列张" * 20


def encoding_of(sample: bytes, *, complete: bool = True, name: str = "") -> str | None:
    kind = sniff(sample, complete=complete, name=name)
    return kind.format.encoding if kind.format else None


@pytest.mark.parametrize("name", ["a.txt", "a.py", "a.json", "README"])
@pytest.mark.parametrize("sample", [b"\x89PNG\r\n\x1a\n", b"a\0b\0\0", bytes(100), bytes(range(1, 32)) + b"\xff"])
def test_ending_of_a_text_does_not_make_binary_text(sample: bytes, name: str) -> None:
    assert encoding_of(sample, name=name) is None


@pytest.mark.parametrize("name", ["a.png", "a.zip", "a.exe", "a.so", "a.pdf", "a.gz"])
def test_ending_of_a_binary_does_not_make_text_binary(name: str) -> None:
    kind = sniff(b"words\n", complete=True, name=name)
    assert (kind.format is None, kind.mime_type) == (False, "text/plain")


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@pytest.mark.parametrize("rest", ["", "words\n", "a\0", CHINESE])
def test_mark_means_text_before_anything_else(bom: bytes, encoding: str, rest: str) -> None:
    kind = sniff(bom + rest.encode(encoding), complete=True)
    assert kind.format == TextFormat(encoding=encoding, bom=bom)


def test_mark_of_utf32_wins_over_the_mark_of_utf16_that_it_begins_with() -> None:
    assert encoding_of(codecs.BOM_UTF16_LE + b"\0\0") == "utf-32-le"


def test_signature_comes_before_valid_utf8() -> None:
    assert sniff(b"%PDF-1.7\nwords only\n", complete=True, name="a.txt").mime_type == "application/pdf"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_latin_text_in_wide_units_needs_no_mark(encoding: str) -> None:
    assert encoding_of(LATIN.encode(encoding)) == encoding


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", [CYRILLIC, CYRILLIC_PROSE, CHINESE, "😀" * 50])
def test_every_script_in_utf32_needs_no_mark(text: str, encoding: str) -> None:
    assert encoding_of(text.encode(encoding)) == encoding


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [CYRILLIC + "\n", CYRILLIC_PROSE, CHINESE + "\n"])
def test_other_scripts_in_utf16_have_too_few_zeros_to_be_told_from_data(text: str, encoding: str) -> None:
    assert encoding_of(text.encode(encoding)) is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_with_a_nul_character_is_binary(encoding: str) -> None:
    assert encoding_of((LATIN + "\0" + LATIN).encode(encoding)) is None


@pytest.mark.parametrize("tail", [b"\x00\xd8", b"a"])
def test_wide_text_that_does_not_decode_to_its_end_is_binary(tail: bytes) -> None:
    assert encoding_of(LATIN.encode("utf-16-le") + tail) is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("cut", range(1, 5))
def test_wide_character_cut_by_the_edge_is_valid(encoding: str, cut: int) -> None:
    sample = (LATIN[:200] + "😀").encode(encoding)[:-cut]
    assert encoding_of(sample, complete=False) == encoding


@pytest.mark.parametrize("character", ["é", "€", "天", "😀"])
def test_character_cut_at_every_edge_of_the_sample_is_valid(character: str) -> None:
    encoded = character.encode()
    for shown in range(1, len(encoded)):
        sample = b"a" * (SAMPLE_BYTES - shown) + encoded[:shown]
        assert encoding_of(sample, complete=False) == "utf-8"
        assert encoding_of(sample, complete=True) == "latin-1"


def test_bad_byte_that_no_more_bytes_can_mend_is_not_utf8() -> None:
    assert encoding_of(b"a" * 8000 + b"\xff" + b"a" * 191, complete=False) == "latin-1"
    assert encoding_of(b"a" * 8190 + b"\xe2\x28", complete=False) == "latin-1"


@pytest.mark.parametrize("control", CONTROLS)
def test_controls_count_from_five_in_a_hundred(control: int) -> None:
    few = bytes([control]) * 4 + b"\xe9" * 96
    many = bytes([control]) * 5 + b"\xe9" * 95
    assert (encoding_of(few), encoding_of(many)) == ("latin-1", None)


@pytest.mark.parametrize("harmless", [*b"\t\n\f\r\x1b", *range(0x80, 0xA0)])
def test_layout_controls_and_the_upper_ones_never_count(harmless: int) -> None:
    assert encoding_of(bytes([harmless]) * 99 + b"\xff") == "latin-1"


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_any_cut_of_utf8_text_is_utf8_or_a_signature(text: str) -> None:
    content = text.encode()
    for stop in range(1, len(content) + 1):
        kind = sniff(content[:stop], complete=False)
        assert kind.format is None or kind.format.encoding == "utf-8"
        if kind.format is None:
            assert kind.mime_type != "application/octet-stream"
