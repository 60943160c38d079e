from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.formats import TextFormat
from filetools.content.line_index import SPACING_BYTES, LineIndex, line_end


def test_places_are_learnt_in_order_only() -> None:
    index = LineIndex()
    index.learn(2 * SPACING_BYTES, 9)
    index.learn(SPACING_BYTES - 1, 4)
    assert index.before(100) == (0, 0)
    index.learn(SPACING_BYTES, 5)
    index.learn(2 * SPACING_BYTES, 5)
    index.learn(3 * SPACING_BYTES, 8)
    assert [index.before(number) for number in (1, 5, 6, 8, 9)] == [
        (0, 0),
        (0, 0),
        (2 * SPACING_BYTES, 5),
        (2 * SPACING_BYTES, 5),
        (3 * SPACING_BYTES, 8),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "cp037"])
@given(text=st.text(alphabet=st.sampled_from("\n\n\r\u0a0a\u0a00\u0100\u0a05a\U00010a0a"), max_size=50))
def test_ends_are_counted_and_placed_in_whole_units(encoding: str, text: str) -> None:
    text = text if encoding != "cp037" else text.encode("ascii", "ignore").decode()
    end = line_end("\n", TextFormat(encoding=encoding, bom=b""))
    content = text.encode(encoding)
    assert end.count(content) == text.count("\n")
    assert end.is_in(content) == ("\n" in text)
    places = [len(text[: place + 1].encode(encoding)) for place, char in enumerate(text) if char == "\n"]
    assert [end.after(content, number) for number in range(1, len(places) + 1)] == places
