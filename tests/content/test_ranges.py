from __future__ import annotations

import codecs
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.extracts.ranges import (
    COUNTED_BYTES,
    STEP_BYTES,
    LineScan,
    TextSource,
    TextWindow,
    memory_source,
    read_byte_range,
    read_lines,
    read_text_range,
)  # fmt: skip
from filetools.content.formats import TextFormat, encode
from filetools.errors import EncodingError, InvalidArgumentError
from tests.support.dose import dose
from tests.support.parts import DescriptorSource

UTF8 = TextFormat(encoding="utf-8", bom=b"")
FORMATS = [
    UTF8,
    TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8),
    TextFormat(encoding="utf-16-le", bom=b""),
    TextFormat(encoding="utf-16-le", bom=codecs.BOM_UTF16_LE),
    TextFormat(encoding="utf-16-be", bom=b""),
    TextFormat(encoding="utf-16-be", bom=codecs.BOM_UTF16_BE),
    TextFormat(encoding="utf-32-le", bom=codecs.BOM_UTF32_LE),
    TextFormat(encoding="utf-32-be", bom=b""),
]
LINE_FORMATS = [*FORMATS, TextFormat(encoding="gb18030", bom=b"")]
# Their UTF-16 and UTF-32 hold the bytes of a line feed inside, across or beside the units.
TRAPS = "\u0a0a\u0a05\u0100\u000d\u0d0a\u0a00\u0a0d\U00010a0a"
ALPHABET = st.one_of(
    st.sampled_from("\n\n\n\r"),
    st.sampled_from(TRAPS),
    st.characters(exclude_categories=["Cs"]),
)
TEXTS = st.text(alphabet=ALPHABET, max_size=60)


def lines_of(text: str) -> list[str]:
    end = "\n" if "\n" in text else "\r"
    pieces = [piece + end for piece in text.split(end)]
    pieces[-1] = pieces[-1][: -len(end)]
    return pieces if pieces[-1] else pieces[:-1]


def window_of(text: str, offset: int, limit: int | None) -> TextWindow:
    """What a window has to be, by slicing the whole text."""
    lines = lines_of(text)
    first = offset if offset > 0 else max(1, len(lines) + offset + 1)
    stop = len(lines) if limit is None else min(len(lines), first - 1 + limit)
    more = first - 1 < stop < len(lines)
    return TextWindow(
        content="".join(lines[first - 1 : stop]),
        first=first,
        truncated=more,
        next_offset=stop + 1 if more else None,
        total_lines=len(lines),
    )


def read(
    text: str, text_format: TextFormat, offset: int, limit: int | None = None, max_chars: int = 1_000_000
) -> TextWindow:
    source = memory_source(encode(text, text_format, path="a"))
    return read_lines(source, text_format, offset=offset, limit=limit, max_chars=max_chars, path="a")


@pytest.mark.parametrize(
    ("offset", "limit", "max_chars", "word"),
    [(0, None, 10, "offset"), (1, 0, 10, "limit"), (1, -1, 10, "limit"), (1, 1, 0, "max_chars")],
)
def test_numbers_out_of_range_are_refused(offset: int, limit: int | None, max_chars: int, word: str) -> None:
    with pytest.raises(InvalidArgumentError, match=word):
        read("a", UTF8, offset, limit, max_chars)


def test_bad_byte_is_named_with_its_place_in_the_file() -> None:
    content = b"a\n" * STEP_BYTES + b"b\xc3\n"
    with pytest.raises(EncodingError) as caught:
        read_lines(memory_source(content), UTF8, offset=-1, limit=None, max_chars=10, path="a.txt")
    assert (caught.value.path, caught.value.details["position"]) == ("a.txt", 2 * STEP_BYTES + 1)


@pytest.mark.parametrize(
    ("text", "offset", "content"),
    [
        ("a\rb\rc", 2, "b\rc"),
        ("a\rb\nc", 2, "c"),
        ("a\r\nb\r\nc", 2, "b\r\nc"),
        ("a\nb\r", -1, "b\r"),
        ("a\nb\n\n", -1, "\n"),
        ("a\nb", -9, "a\nb"),
    ],
)
def test_lines_end_with_cr_only_where_there_is_no_lf(text: str, offset: int, content: str) -> None:
    for text_format in LINE_FORMATS:
        assert read(text, text_format, offset).content == content


@given(TEXTS, st.sampled_from(LINE_FORMATS), st.integers(-8, 8).filter(bool), st.none() | st.integers(1, 5))
def test_window_equals_a_slice_of_the_whole(text: str, text_format: TextFormat, offset: int, limit: int | None) -> None:
    found = read(text, text_format, offset, limit)
    expected = window_of(text, offset, limit)
    # How many lines there are is known only if the reading had to go that far.
    assert found.total_lines in (None, expected.total_lines)
    assert (found.content, found.first) == (expected.content, expected.first)
    assert (found.truncated, found.next_offset) == (expected.truncated, expected.next_offset)
    if not found.truncated or offset < 0:
        assert found.total_lines == expected.total_lines


@given(TEXTS, st.sampled_from(LINE_FORMATS), st.integers(1, 12), st.none() | st.integers(1, 3))
def test_paging_brings_every_character_whatever_the_window(
    text: str, text_format: TextFormat, max_chars: int, limit: int | None
) -> None:
    source = memory_source(encode(text, text_format, path="a"))
    paged, offset = "", 1
    while True:
        window = read_lines(source, text_format, offset=offset, limit=limit, max_chars=max_chars, path="a")
        assert len(window.content) <= max_chars
        paged += window.content
        if window.is_cut:
            line = lines_of(text)[offset - 1]
            assert len(line) > len(window.content) == max_chars
            column = max_chars + 1
            rest = read_lines(source, text_format, offset=offset, limit=1, max_chars=99, path="a", column=column)
            assert rest.content == line[max_chars:]
            paged += rest.content
        elif window.truncated:
            assert window.content == "".join(lines_of(text)[offset - 1 : (window.next_offset or 0) - 1])
        if window.next_offset is None:
            break
        assert window.next_offset > offset
        offset = window.next_offset
    assert paged == text


def test_line_longer_than_a_window_is_cut_and_says_so() -> None:
    assert read("äääää\nb\n", TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8), 1, None, 3) == TextWindow(
        content="äää", first=1, truncated=True, next_offset=2, is_cut=True
    )


def test_lines_from_the_end_of_a_large_file_keep_negative_numbers() -> None:
    text = "a" * COUNTED_BYTES + "\nb\nc\nd"
    source = memory_source(text.encode())

    def last(offset: int, limit: int | None, max_chars: int = 100) -> TextWindow:
        return read_lines(source, UTF8, offset=offset, limit=limit, max_chars=max_chars, path="a")

    assert last(-3, 2) == TextWindow(content="b\nc\n", first=-3, truncated=True, next_offset=-1)
    assert last(-1, None) == TextWindow(content="d", first=-1, truncated=False, next_offset=None)
    whole = last(-9, 1)
    assert (whole.content, whole.first, whole.next_offset, whole.is_cut) == ("a" * 100, 1, 2, True)


def test_every_line_of_a_file_of_many_pieces_is_found() -> None:
    lines = [f"line {number} " + "x" * (number % 97) + "\n" for number in range(1, 40_001)]
    source = memory_source("".join(lines).encode())
    for offset in (39_000, 5, 20_000, 40_000, 1, 40_001, -1, -39_999, 12_345):
        window = read_lines(source, UTF8, offset=offset, limit=2, max_chars=10_000, path="a")
        line = offset if offset > 0 else len(lines) + offset + 1
        assert window.content == "".join(lines[line - 1 : line + 1])


@contextmanager
def sparse(path: Path, size: int) -> Iterator[DescriptorSource]:
    """A sparse file of 300 lines, one of NULs, and 300 lines, which begin at `size`."""
    lines = b"".join(b"line %d\n" % number for number in range(1, 301))
    with path.open("wb") as file:
        file.write(lines)
        file.seek(size - 1)
        file.write(b"\n" + lines)
    source = DescriptorSource(path)
    try:
        yield source
    finally:
        source.close()


@pytest.fixture
def large(tmp_path: Path) -> Iterator[DescriptorSource]:
    """A file of 1 GiB, nearly all of it one line."""
    with sparse(tmp_path / "large.txt", 1024**3) as source:
        yield source


def test_ends_of_a_huge_file_cost_two_reads_and_no_memory(large: DescriptorSource) -> None:
    tracemalloc.start()
    first = read_lines(large.source, UTF8, offset=1, limit=100, max_chars=100_000, path="a")
    last = read_lines(large.source, UTF8, offset=-100, limit=60, max_chars=100_000, path="a")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert first.content == "".join(f"line {number}\n" for number in range(1, 101))
    assert (first.truncated, first.next_offset, first.total_lines) == (True, 101, None)
    assert last.content == "".join(f"line {number}\n" for number in range(201, 261))
    assert (last.first, last.truncated, last.next_offset, last.total_lines) == (-100, True, -40, None)
    assert large.bytes_read <= 6 * STEP_BYTES
    assert peak < 2 * 1024**2


def test_a_page_is_found_from_where_the_page_before_began(tmp_path: Path) -> None:
    with sparse(tmp_path / "huge.txt", 64 * STEP_BYTES) as huge:
        for line, steps in ((310, 68), (310, 4), (312, 4), (999, 6), (5, 4), (311, 68)):
            before = huge.bytes_read
            window = read_lines(
                huge.source, UTF8, offset=line, limit=2, max_chars=99, path="a", identity=(0, 0, 0, 0, 1)
            )
            assert huge.bytes_read - before <= steps * STEP_BYTES
            assert window == read_lines(huge.source, UTF8, offset=line, limit=2, max_chars=99, path="a")


def test_middle_of_a_huge_file_is_read_once_with_little_memory(tmp_path: Path) -> None:
    size = min(dose(64), 1024) * 1024**2
    with sparse(tmp_path / "huge.txt", size) as huge:
        tracemalloc.start()
        window = read_lines(huge.source, UTF8, offset=302, limit=10, max_chars=100_000, path="a")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert window.content == "".join(f"line {number}\n" for number in range(1, 11))
        assert peak < 4 * 1024**2
        assert size <= huge.bytes_read <= size + 4 * STEP_BYTES


LINE_ENDS = [*FORMATS[:1], *FORMATS[2:3], *FORMATS[5:8], TextFormat(encoding="cp037", bom=b"")]


@pytest.mark.parametrize("text_format", LINE_ENDS)
@given(text=st.text(alphabet=st.sampled_from("\n\n\r\u0a0a\u0a00\u0100\u0a05a\U00010a0a"), max_size=50))
def test_ends_are_counted_and_placed_in_whole_units(text_format: TextFormat, text: str) -> None:
    encoding = text_format.encoding
    text = text if encoding != "cp037" else text.encode("ascii", "ignore").decode()
    content = text.encode(encoding)
    end = LineScan(TextSource(memory_source(content), text_format, "a"))
    assert end.count(content) == text.count(end.end)
    places = [len(text[: place + 1].encode(encoding)) for place, char in enumerate(text) if char == end.end]
    assert [end.after(content, number) for number in range(1, len(places) + 1)] == places


def read_range(content: bytes, text_format: TextFormat, offset: int, count: int) -> TextWindow:
    return read_text_range(memory_source(content), text_format, offset=offset, count=count, path="a")


@pytest.mark.parametrize(("offset", "count"), [(-1, 1), (0, 0), (0, -5)])
def test_byte_numbers_out_of_range_are_refused(offset: int, count: int) -> None:
    with pytest.raises(InvalidArgumentError):
        read_byte_range(memory_source(b"abc"), offset=offset, count=count)
    with pytest.raises(InvalidArgumentError):
        read_range(b"abc", UTF8, offset, count)


@pytest.mark.parametrize(
    "encoding", ["utf-7", "hz", "iso2022_jp", "gb18030", "shift_jis", "euc_jp", "cp932", "big5hkscs"]
)
def test_encoding_whose_characters_are_found_by_reading_all_before_is_refused(encoding: str) -> None:
    with pytest.raises(InvalidArgumentError, match="in parts"):
        read_range(b"abc", TextFormat(encoding=encoding, bom=b""), 0, 2)


@pytest.mark.parametrize("content", [b"ab\xffcd", b"ab\x80cd", b"ab\xc3"])
def test_damage_inside_the_range_is_named_with_its_place(content: bytes) -> None:
    for offset in range(3):
        with pytest.raises(EncodingError) as caught:
            read_range(content, UTF8, offset, 10)
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
    window = read_range(content, text_format, offset, count)
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
        window = read_range(content, text_format, offset, count)
        paged += window.content
        if window.next_offset is None:
            break
        assert window.next_offset > offset
        offset = window.next_offset
    assert paged == text
