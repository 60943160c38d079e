from __future__ import annotations

import codecs
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.differences.diff import minimal_edits
from filetools.content.editing.text_edits import TextEdit, apply_text_edits, composed, in_utf16, splice
from filetools.content.formats import TextFormat, decode, encode
from filetools.errors import EncodingError
from tests.support.step_count import steps_of

TEXTS = st.text(st.sampled_from("abc\n"), max_size=20)


def form(encoding: str, bom: bytes = b"") -> TextFormat:
    return TextFormat(encoding=encoding, bom=bom)


def spliced(content: bytes, text_format: TextFormat, edits: Sequence[TextEdit]) -> bytes:
    return splice(content, decode(content, text_format, path="f"), text_format, edits, path="f")


def test_a_character_the_encoding_lacks_is_named_with_its_place_in_the_new_text() -> None:
    with pytest.raises(EncodingError) as caught:
        spliced(b"one\ntwo\n", form("cp1252"), [TextEdit(0, 3, "1"), TextEdit(4, 7, "x\u0416")])
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


@st.composite
def changed_texts(draw: st.DrawFn, characters: str = "ab\n\n\r") -> tuple[str, list[TextEdit]]:
    text = draw(st.text(st.sampled_from(characters), max_size=20))
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    new = draw(st.lists(st.text(st.sampled_from(characters), max_size=4), min_size=3, max_size=3))
    pairs = zip(places[::2], places[1::2], strict=False)
    return text, [TextEdit(*pair, part) for pair, part in zip(pairs, new, strict=False)]


@given(changed_texts("a\n\r\u00e9\u65e5\U0001f600\ufeff"))
@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE])
def test_bytes_that_can_be_cut_anywhere_become_those_of_the_new_text(
    bom: bytes, changed: tuple[str, list[TextEdit]]
) -> None:
    text, edits = changed
    encodings = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF32_BE: "utf-32-be"}
    text_format = form(encodings.get(bom, "utf-8"), bom)
    content = encode(text, text_format, path="f")
    assert spliced(content, text_format, edits) == encode(apply_text_edits(text, edits), text_format, path="f")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-be"])
def test_half_a_character_is_refused(encoding: str) -> None:
    with pytest.raises(EncodingError):
        spliced("a\U0001f600".encode(encoding), form(encoding), [TextEdit(1, 1, "\ud83d")])


def test_places_are_counted_in_utf16_units() -> None:
    edits = [TextEdit(1, 2, "x"), TextEdit(3, 3, "y")]
    assert in_utf16("\U0001f600a\U0001f600b", edits) == [TextEdit(2, 3, "x"), TextEdit(5, 5, "y")]


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("cp932", b"\xfa\x54\xee\xf9" + "日本語".encode("cp932") * 900 + b" end \xfa\x54"),
        ("euc_kr", b"\xa4\xd4\xa4\xa1\xa4\xbf\xa4\xd4" * 300 + "한글 end 한".encode("euc_kr")),
        ("iso2022_jp", "日本 end 日本\n".encode("iso2022_jp") * 3),
        ("iso2022_kr", "한글 end\n한글\n".encode("iso2022_kr")),
        ("cp037", "\x8e\nan end\n".encode("cp037")),
        ("utf-16-le", "a\U0001f600 end b".encode("utf-16-le")),
        ("utf-8", "a\U0001f600é end b".encode()),
    ],
)
def test_only_bytes_of_the_span_change(encoding: str, content: bytes) -> None:
    text = content.decode(encoding)
    start = text.index("end")
    mark = "end".encode(encoding)
    made = spliced(content, form(encoding), [TextEdit(start, start + 3, "END")])
    assert made == content.replace(mark, "END".encode(encoding), 1)


@given(st.text(st.sampled_from("a日¥中\n"), max_size=12), st.text(st.sampled_from("a日\n"), max_size=12))
def test_a_text_with_shifts_is_edited_in_every_place(old: str, new: str) -> None:
    for encoding in ("iso2022_jp", "utf-7", "shift_jis_2004"):
        try:
            content = old.encode(encoding)
        except UnicodeEncodeError:
            continue
        start = content.decode(encoding)
        assert spliced(content, form(encoding), minimal_edits(start, new)).decode(encoding) == new


@pytest.mark.parametrize("encoding", ["cp1252", "euc_kr", "utf-8-raw"])
@pytest.mark.parametrize("end", ["\n", " "], ids=["lines", "one line"])
def test_what_lies_between_edits_far_apart_is_not_decoded_byte_by_byte(encoding: str, end: str) -> None:
    text = f"some words{end}" * 20_000
    content, edits = text.encode(encoding), [TextEdit(5, 6, "x"), TextEdit(len(text) - 6, len(text) - 5, "y")]
    assert steps_of(lambda: splice(content, text, form(encoding), edits, path="f")) < 60_000


def test_a_codec_that_reads_and_writes_a_mark_is_edited() -> None:
    content = "a\nb\nc".encode("utf-16")
    assert spliced(content, form("utf-16"), [TextEdit(2, 3, "B")]) == "a\nB\nc".encode("utf-16")
