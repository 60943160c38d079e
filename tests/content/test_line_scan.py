from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.formats import TextFormat, encode
from filetools.content.line_index import LineIndex, LineScan
from filetools.content.ranges import STEP_BYTES, MemorySource, TextSource

FORMATS = [
    TextFormat(encoding="utf-8", bom=b""),
    TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8),
    TextFormat(encoding="utf-16-le", bom=codecs.BOM_UTF16_LE),
    TextFormat(encoding="utf-16-be", bom=b""),
    TextFormat(encoding="utf-32-le", bom=b""),
]
TEXTS = st.text(alphabet=st.sampled_from("\n\n\ra\u0a0a\u0100\u0a05é"), max_size=30)


def lines_of(text: str) -> list[str]:
    end = "\n" if "\n" in text else "\r"
    pieces = [piece + end for piece in text.split(end)]
    pieces[-1] = pieces[-1][: -len(end)]
    return pieces if pieces[-1] else pieces[:-1]


def scan_of(content: bytes, text_format: TextFormat) -> tuple[LineScan, LineIndex]:
    index = LineIndex()
    return LineScan(TextSource(MemorySource(content), text_format, "a"), index), index


def start_in_bytes(lines: list[str], text_format: TextFormat) -> int:
    return len(encode("".join(lines), text_format, path="a"))


@given(TEXTS, st.sampled_from(FORMATS), st.integers(1, 8))
def test_lines_are_found_from_the_end(text: str, text_format: TextFormat, count: int) -> None:
    lines = lines_of(text)
    scan, index = scan_of(encode(text, text_format, path="a"), text_format)
    is_whole = count >= len(lines)
    assert scan.start_from_end(count) == (start_in_bytes(lines[:-count], text_format), is_whole)
    assert index.total_lines == (len(lines) if is_whole else None)


@given(TEXTS, st.sampled_from(FORMATS), st.integers(1, 8))
def test_lines_are_found_from_the_start(text: str, text_format: TextFormat, line: int) -> None:
    lines = lines_of(text)
    scan, index = scan_of(encode(text, text_format, path="a"), text_format)
    found = scan.start_of(line)
    assert found == (start_in_bytes(lines[: line - 1], text_format) if line <= len(lines) else None)
    assert index.total_lines == (len(lines) if found is None else None)
    assert scan.total_lines() == len(lines)


@pytest.mark.parametrize("text_format", FORMATS)
@pytest.mark.parametrize("shift", range(-3, 4))
@pytest.mark.parametrize("tail", ["", "tail"])
def test_ends_at_the_edge_of_a_backward_read_are_found(text_format: TextFormat, shift: int, tail: str) -> None:
    unit = len("a".encode(text_format.encoding))
    lines = ["é" * 7 + "\n", "x\n", "\n", "y" * (STEP_BYTES // unit + shift) + "\n", tail]
    content = encode("".join(lines), text_format, path="a")
    kept = lines if tail else lines[:-1]
    for count in range(1, len(kept) + 1):
        scan, _ = scan_of(content, text_format)
        assert scan.start_from_end(count)[0] == start_in_bytes(kept[:-count], text_format)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_wide_file_with_half_a_unit_at_its_end_is_scanned_in_step(encoding: str) -> None:
    text_format = TextFormat(encoding=encoding, bom=b"")
    text = "ab\n" * STEP_BYTES
    scan, _ = scan_of(text.encode(encoding) + b"\n", text_format)
    unit = len("a".encode(encoding))
    assert scan.start_from_end(1) == (len(text) * unit, False)
    assert scan.start_from_end(60_000) == ((len(text) - 59_999 * 3) * unit, False)


def test_half_a_unit_that_looks_like_an_end_with_the_unit_before_it_is_text() -> None:
    scan, index = scan_of("ab\n\u0a05".encode("utf-16-le") + b"\0", TextFormat(encoding="utf-16-le", bom=b""))
    assert scan.start_from_end(1) == (6, False)
    assert scan.start_from_end(2) == (0, True)
    assert index.total_lines == 2


def test_file_without_any_end_is_one_line() -> None:
    scan, index = scan_of(b"a" * (3 * STEP_BYTES), FORMATS[0])
    assert scan.start_from_end(1) == (0, True)
    assert index.total_lines == 1


def test_cr_ends_lines_only_if_the_last_byte_is_no_lf_either() -> None:
    body = b"a\r" * STEP_BYTES
    assert scan_of(body, FORMATS[0])[0].total_lines() == STEP_BYTES
    assert scan_of(body + b"\n", FORMATS[0])[0].total_lines() == 1
