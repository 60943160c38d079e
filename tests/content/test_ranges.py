from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.extracts.ranges import TextWindow, memory_source, read_byte_range, read_text_range
from filetools.content.formats import TextFormat, encode
from filetools.errors import EncodingError, InvalidArgumentError

UTF8 = TextFormat(encoding="utf-8", bom=b"")
FORMATS = [
    UTF8,
    TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8),
    TextFormat(encoding="utf-16-le", bom=codecs.BOM_UTF16_LE),
    TextFormat(encoding="utf-16-be", bom=b""),
    TextFormat(encoding="utf-32-le", bom=codecs.BOM_UTF32_LE),
    TextFormat(encoding="utf-32-be", bom=b""),
]


def read(content: bytes, text_format: TextFormat, offset: int, count: int) -> TextWindow:
    return read_text_range(memory_source(content), text_format, offset=offset, count=count, path="a")


@pytest.mark.parametrize(("offset", "count"), [(-1, 1), (0, 0), (0, -5)])
def test_numbers_out_of_range_are_refused(offset: int, count: int) -> None:
    with pytest.raises(InvalidArgumentError):
        read_byte_range(memory_source(b"abc"), offset=offset, count=count)
    with pytest.raises(InvalidArgumentError):
        read(b"abc", UTF8, offset, count)


@pytest.mark.parametrize(
    "encoding", ["utf-7", "hz", "iso2022_jp", "gb18030", "shift_jis", "euc_jp", "cp932", "big5hkscs"]
)
def test_encoding_whose_characters_are_found_by_reading_all_before_is_refused(encoding: str) -> None:
    with pytest.raises(InvalidArgumentError, match="in parts"):
        read(b"abc", TextFormat(encoding=encoding, bom=b""), 0, 2)


@pytest.mark.parametrize("content", [b"ab\xffcd", b"ab\x80cd", b"ab\xc3"])
def test_damage_inside_the_range_is_named_with_its_place(content: bytes) -> None:
    for offset in range(3):
        with pytest.raises(EncodingError) as caught:
            read(content, UTF8, offset, 10)
        assert caught.value.details["position"] == 2


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(FORMATS),
    st.integers(0, 90),
    st.integers(1, 12),
)
def test_range_holds_the_characters_that_begin_in_it(
    text: str, text_format: TextFormat, offset: int, count: int
) -> None:
    content = encode(text, text_format, path="a")
    starts = [len(text_format.bom)]
    for character in text:
        starts.append(starts[-1] + len(character.encode(text_format.encoding)))
    window = read(content, text_format, offset, count)
    if offset >= len(content):
        assert window == TextWindow(content="", first=offset, truncated=False, next_offset=None)
        return
    first = next(place for place in starts if place >= offset)
    ends = [place for place in starts if first < place <= offset + count]
    stop = ends[-1] if ends else first
    if stop == first < min(offset + count, len(content)):
        stop = starts[starts.index(first) + 1]
    inside = text[starts.index(first) : starts.index(stop)]
    more = stop < len(content)
    assert window == TextWindow(content=inside, first=first, truncated=more, next_offset=stop if more else None)


@given(
    st.text(alphabet="日本語カタカナ表ソab\n", min_size=1, max_size=40),
    st.sampled_from(FORMATS),
    st.integers(1, 9),
)
def test_paging_brings_every_character_whatever_the_range(text: str, text_format: TextFormat, count: int) -> None:
    content = encode(text, text_format, path="a")
    paged, offset = "", 0
    while True:
        window = read(content, text_format, offset, count)
        paged += window.content
        if window.next_offset is None:
            break
        assert window.next_offset > offset
        offset = window.next_offset
    assert paged == text
