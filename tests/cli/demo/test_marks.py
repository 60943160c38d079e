from __future__ import annotations

import pytest

from filetools.cli.demo.marks import is_whole, line_with, mark_of, marks_in

ORIGINAL = b"first\nsecond\n"
MARK = mark_of("alice", 1)
LINE = line_with(MARK, "a.py").encode() + b"\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"first\nsecon",
        b"first\n",
        ORIGINAL + LINE[:-5] + b"\n",
        ORIGINAL + LINE[:-1],
        ORIGINAL + LINE[:10],
        ORIGINAL.replace(b"second", b"sec" + LINE + b"ond"),
        ORIGINAL + b"by nobody\n",
    ],
)
def test_half_a_file_is_not_whole(content: bytes) -> None:
    assert not is_whole(content, ORIGINAL, "a.py")


@pytest.mark.parametrize(
    "content", [ORIGINAL, LINE + ORIGINAL, b"first\n" + LINE + LINE + b"second\n", ORIGINAL + LINE]
)
def test_a_file_with_whole_edits_is_whole(content: bytes) -> None:
    assert is_whole(content, ORIGINAL, "a.py")


@pytest.mark.parametrize("content", [b'{"a": 1', b'{"a": 2}', b'{"a": 1, "edits": ["alice-0001-00000000"]}', b"[]"])
def test_json_that_is_broken_or_changed_is_not_whole(content: bytes) -> None:
    assert not is_whole(content, b'{"a": 1}', "a.json")


def test_json_with_whole_edits_is_whole() -> None:
    assert is_whole(f'{{"a": 1, "edits": ["{MARK}"]}}'.encode(), b'{"a": 1}', "a.json")


def test_only_whole_marks_are_found() -> None:
    assert marks_in(f"x {MARK}, {MARK[:-1]} alice-0001-00000000".encode()) == {MARK}
