from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from filetools.content.editing.matching import matches_of
from tests.support.step_count import steps_of

ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}


def places(old: str, text: str) -> list[tuple[int, int]]:
    """Find the matches by trying every place: LF of the old text stands for any end of a line of the text."""
    ends = ("\r\n", "\n") if "\n" in text else ("\r",)
    found: list[tuple[int, int]] = []
    behind = 0
    for start in range(len(text)):
        at = end_of(old, text, start, ends)
        is_inside = text[start - 1 : start + 1] == "\r\n" and start > 0 and old[0] == "\n" and "\r" not in old
        if at is not None and start >= behind and not is_inside:
            found.append((start, at))
            behind = at
    return found


def end_of(old: str, text: str, start: int, ends: tuple[str, ...]) -> int | None:
    """Return where a match that begins at a place ends; None if none begins there."""
    at = start
    for character in old:
        wanted = ends if character == "\n" and "\r" not in old else (character,)
        met = next((one for one in wanted if text.startswith(one, at)), None)
        if met is None:
            return None
        at += len(met)
    return at


@given(st.text(st.sampled_from("ab\n\r"), max_size=16), st.text(st.sampled_from("ab\n\r"), min_size=1, max_size=4))
def test_matches_are_the_places_where_a_text_stands(text: str, old: str) -> None:
    assert matches_of(old, text) == places(old, text)


@given(
    st.sampled_from(sorted(ENDS)),
    st.text(st.sampled_from("ab\n"), max_size=20),
    st.text(st.sampled_from("ab\n"), min_size=1, max_size=4),
)
def test_a_text_stands_where_it_stands_whatever_ends_its_lines(newline: str, text: str, old: str) -> None:
    own = text.replace("\n", ENDS[newline])
    assert matches_of(old, own) == places(old, own)


def test_lines_that_all_end_in_crlf_are_not_walked_through() -> None:
    def steps(lines: int) -> int:
        text = "same line\r\n" * lines + "END\r\nlast\r\n"
        assert matches_of("END\nlast", text) == [(11 * lines, 11 * lines + 9)]
        return steps_of(lambda: matches_of("END\nlast", text))

    assert steps(20_000) == steps(20)
