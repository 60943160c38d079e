"""Every match of a line instead of the first: what is left out, and what a page holds."""

from __future__ import annotations

from typing import Any

import pytest

from filetools.models.searching import GrepResult
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.contents.grep import grep_page
from filetools.search.contents.options import GrepOptions
from tests.support.direct_store import DirectStore

BEFORE: dict[str, bytes | None] = {
    "a.txt": b"x1 x22\nnone\nx3\n",
    "b.txt": b"begin\nmid x4\nend x5\n",
    "long.txt": b"x" + b"9" * 2000 + b"\n",
}


def grep(store: DirectStore, pattern: str, cursor: str | None = None, **options: Any) -> GrepResult:
    chosen = GrepOptions(pattern=pattern, only_matching=True, **options)
    return grep_page(store, WorkspacePath(""), chosen, cursor)


def rows(result: GrepResult) -> list[tuple[str, int, list[str] | None]]:
    return [(match.path, match.line, match.matched) for match in result.matches]


def test_empty_matches_are_none(store: DirectStore) -> None:
    assert rows(grep(store, "y*", glob="a.txt")) == []
    assert rows(grep(store, "(x\\d)?", glob="a.txt")) == [("a.txt", 1, ["x1", "x2"]), ("a.txt", 3, ["x3"])]


def test_a_line_comes_with_every_match_in_it(store: DirectStore) -> None:
    assert rows(grep(store, "x\\d+", glob="a.txt")) == [("a.txt", 1, ["x1", "x22"]), ("a.txt", 3, ["x3"])]
    assert rows(grep(store, "^x\\d", glob="a.txt")) == [("a.txt", 1, ["x1"]), ("a.txt", 3, ["x3"])]


def test_a_match_over_lines_is_whole_and_the_next_begins_behind_it(store: DirectStore) -> None:
    found = grep(store, "begin.mid|x\\d", glob="b.txt", multiline=True)
    assert rows(found) == [("b.txt", 1, ["begin\nmid"]), ("b.txt", 2, ["x4"]), ("b.txt", 3, ["x5"])]


def test_pages_of_one_line_hold_the_same_as_one_page(store: DirectStore) -> None:
    whole, paged, cursor = rows(grep(store, "begin.mid|x\\d", glob="*.txt", multiline=True)), [], None
    for _ in whole:
        page = grep(store, "begin.mid|x\\d", cursor, glob="*.txt", multiline=True, limit=1)
        paged += rows(page)
        cursor = page.next_cursor
    assert cursor is None
    assert paged == whole


def test_a_long_match_is_cut_as_lines_are(store: DirectStore) -> None:
    assert [len(text) for match in grep(store, "x9+").matches for text in match.matched or ()] == [500]


def test_counting_counts_matches(store: DirectStore) -> None:
    assert [(each.path, each.count) for each in grep(store, "x\\d", glob="a.txt", output_mode="count").files] == [
        ("a.txt", 3)
    ]


def test_every_match_has_its_column(store: DirectStore) -> None:
    (found, _) = grep(store, "x[0-9]+", glob="a.txt").matches
    assert (found.matched, found.columns) == (["x1", "x22"], [1, 4])


@pytest.mark.parametrize(
    ("pattern", "options", "matched"),
    [
        ("x1|x2", {}, ["x1"]),
        ("x2|x22", {}, ["x22"]),
        ("(?i)X1", {}, ["x1"]),
        ("x1 ", {}, []),
    ],
)
def test_a_whole_word_has_no_word_beside_it(
    store: DirectStore, pattern: str, options: dict[str, Any], matched: list[str]
) -> None:
    rows = grep(store, pattern, glob="a.txt", whole_words=True, **options).matches
    assert [text for row in rows for text in row.matched or ()] == matched
