from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content import TextFormat, apply_text_edits, composed, in_utf16, minimal_edits, splice
from filetools.content.text_edits import TextEdit
from filetools.errors import EncodingError

TEXTS = st.text(st.sampled_from("abc\n"), max_size=20)


def form(encoding: str, bom: bytes = b"") -> TextFormat:
    return TextFormat(encoding=encoding, bom=bom)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(EncodingError):
        splice(b"a\xff", form("utf-8"), [TextEdit(0, 1, "b")], path="f")


def test_a_character_the_encoding_lacks_is_named_with_its_place_in_the_new_text() -> None:
    with pytest.raises(EncodingError) as caught:
        splice(b"one\ntwo\n", form("cp1252"), [TextEdit(0, 3, "1"), TextEdit(4, 7, "x\u0416")], path="f")
    assert caught.value.details == {
        "encoding": "cp1252",
        "position": 3,
        "character": "U+0416",
        "line": 2,
        "column": 2,
    }


@given(TEXTS, TEXTS, TEXTS)
def test_composed_edits_do_what_both_do(first: str, second: str, third: str) -> None:
    both = composed(minimal_edits(first, second), minimal_edits(second, third))
    assert apply_text_edits(first, both) == third
    assert all(one.end < two.start for one, two in pairwise(both))


def test_what_is_added_and_removed_again_vanishes() -> None:
    assert composed([TextEdit(1, 1, "x")], [TextEdit(1, 2, "")]) == []


def test_places_are_counted_in_utf16_units() -> None:
    edits = [TextEdit(1, 2, "x"), TextEdit(3, 3, "y")]
    assert in_utf16("\U0001f600a\U0001f600b", edits) == [TextEdit(2, 3, "x"), TextEdit(5, 5, "y")]


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("cp932", b"\xfa\x54\xee\xf9" + "日本語".encode("cp932") * 900 + b" end \xfa\x54"),
        ("euc_kr", b"\xa4\xd4\xa4\xa1\xa4\xbf\xa4\xd4" * 300 + "한글 end 한".encode("euc_kr")),
        ("big5hkscs", b"\x88\x62\x88\x62" * 700 + " end ".encode("big5hkscs") + b"\x88\x62"),
        ("gb18030", "a中文\U0001f600".encode("gb18030") * 500 + b" end "),
        ("iso2022_jp", "日本 end 日本\n".encode("iso2022_jp") * 3),
        ("hz", "中文 end 中\n".encode("hz") * 3),
        ("utf-16-le", "a\U0001f600 end b".encode("utf-16-le")),
        ("utf-8", "a\U0001f600é end b".encode()),
    ],
)
def test_only_bytes_of_the_span_change(encoding: str, content: bytes) -> None:
    text = content.decode(encoding)
    start = text.index("end")
    mark = "end".encode(encoding)
    made = splice(content, form(encoding), [TextEdit(start, start + 3, "END")], path="f")
    assert made == content.replace(mark, "END".encode(encoding), 1)


@given(st.text(st.sampled_from("a日¥中\n"), max_size=12), st.text(st.sampled_from("a日\n"), max_size=12))
def test_a_text_with_shifts_is_edited_in_every_place(old: str, new: str) -> None:
    for encoding in ("iso2022_jp", "utf-7", "shift_jis_2004"):
        try:
            content = old.encode(encoding)
        except UnicodeEncodeError:
            continue
        start = content.decode(encoding)
        assert splice(content, form(encoding), minimal_edits(start, new), path="f").decode(encoding) == new
