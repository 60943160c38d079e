from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.tools.answers.seen import TextLimits, clipped


@pytest.mark.parametrize(
    ("text", "lines", "characters", "kept", "count"),
    [
        ("a\nb\nc\n", 2, 100, "a\nb\n", 2),
        ("a\nb\nc\n", 3, 100, "a\nb\nc\n", None),
        ("a\rb\rc", 2, 100, "a\rb\r", 2),
        ("aaa\nbbb\n", 100, 5, "aaa\n", 1),
        ("aaaaaa\nb\n", 100, 4, "aaaa", 1),
        ("", 1, 1, "", None),
    ],
)
def test_a_text_is_cut_at_a_line_end(text: str, lines: int, characters: int, kept: str, count: int | None) -> None:
    assert clipped(text, TextLimits(lines=lines, characters=characters)) == (kept, count)


@given(
    # No lone CR: it ends a line only where there is no LF, so a part may have more lines than the whole had there.
    st.lists(st.sampled_from(["a", "b", "\n", "\r\n"]), max_size=40).map("".join),
    st.integers(min_value=1, max_value=5),
    st.integers(min_value=1, max_value=12),
)
def test_what_is_kept_is_the_beginning_and_keeps_the_limits(text: str, lines: int, characters: int) -> None:
    kept, count = clipped(text, TextLimits(lines=lines, characters=characters))
    assert text.startswith(kept)
    assert len(kept) <= characters
    assert count is None or count <= lines
    assert (count is None) is (kept == text)
