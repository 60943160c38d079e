from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.differences.diff import PatchHunk
from filetools.content.differences.merging import MAX_LINES, Conflict, Kept, MergeResult, merge, merge_bytes
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from filetools.content.formats import TextFormat
from tests.support.dose import dose
from tests.support.merging import broken_rules, unique_texts

TEXTS = st.text(st.sampled_from("ab \n\n\r"), max_size=24)


def merged(base: str, ours: str, theirs: str) -> str | None:
    """Merge as in prose."""
    return merge(base, ours, theirs, by_words=True).text


def merged_lines(base: str, ours: str, theirs: str) -> str | None:
    """Merge as everywhere else."""
    return merge(base, ours, theirs, by_words=False).text


def test_the_same_line_changed_twice_is_a_conflict_with_all_sides() -> None:
    assert merge("a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n", by_words=True) == MergeResult(
        text=None,
        conflicts=(Conflict(base="b\n", ours="ours\n", theirs="theirs\n", line=2),),
        foreign=(),
        edits=(),
    )


def test_every_conflict_is_reported_at_its_line_of_the_current_text() -> None:
    base = "".join(f"<{number}>\n" for number in range(20))
    ours = "new\n" + base.replace("<5>", "x").replace("<15>", "z")
    result = merge(base, ours, base.replace("<5>", "y").replace("<15>", "w"), by_words=False)
    assert [(conflict.line, conflict.ours, conflict.theirs) for conflict in result.conflicts] == [
        (7, "x\n", "y\n"),
        (17, "z\n", "w\n"),
    ]


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("", "a\n", "b\n"),
        ("a\nb\n", "a\nx\nb\n", "a\ny\nb\n"),
        ("a\nb\n", "b\n", "a1\nb\n"),
        ("one two three\n", "one three\n", "one 2 three\n"),
        ("a well-known word\n", "a best-known word\n", "a well-read word\n"),
        ("one,\ntwo\n", "one;\ntwo\n", "one,\n2\n"),
    ],
)
def test_touching_changes_conflict_both_ways(base: str, ours: str, theirs: str) -> None:
    for one in (merged, merged_lines):
        assert one(base, ours, theirs) is None
        assert one(base, theirs, ours) is None


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("110010011110", "1100111000011110", "001000100111000"),
        ("011010001011", "0110110001011", "010110100011"),
    ],
)
def test_a_change_that_may_mean_several_equal_lines_is_not_guessed(base: str, ours: str, theirs: str) -> None:
    # git merges each of these to a text that another way to compare the same lines does not give.
    texts = ["".join(f"{sign}\n" for sign in text) for text in (base, ours, theirs)]
    base, ours, theirs = texts
    assert (merged_lines(*texts), merged_lines(base, theirs, ours), merged(*texts)) == (None, None, None)


def test_separate_changes_are_merged_and_the_foreign_ones_named() -> None:
    base = "a\nb\nc\nd\ne\n"
    assert merge(base, "new\na\nb\nc\nd\ne\n", "a\nb\nc\nD\ne\n", by_words=False) == MergeResult(
        text="new\na\nb\nc\nD\ne\n",
        conflicts=(),
        foreign=(PatchHunk(old_start=0, old_lines=0, new_start=1, new_lines=1, lines=("+new",)),),
        edits=(TextEdit(10, 12, "D\n"),),
    )


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("the quick brown fox\n", "the fast brown fox\n", "the quick brown wolf\n", "the fast brown wolf\n"),
        ("alpha one\nbeta two\n", "alpha 1\nbeta two\n", "alpha one\nbeta 2\n", "alpha 1\nbeta 2\n"),
        ("if (ok) { go(); }\n", "if (!ok) { go(); }\n", "if (ok) { go(); stop(); }\n", "if (!ok) { go(); stop(); }\n"),
        ("a b c d e\n", "A x c d e\n", "A b c d E\n", "A x c d E\n"),
    ],
    ids=["one line", "neighbouring lines", "a line of code", "a common change beside"],
)
def test_words_that_an_unchanged_word_parts_are_merged_in_prose_alone(
    base: str, ours: str, theirs: str, expected: str
) -> None:
    assert (merged(base, ours, theirs), merged(base, theirs, ours)) == (expected, expected)
    assert (merged_lines(base, ours, theirs), merged_lines(base, theirs, ours)) == (None, None)


@pytest.mark.parametrize("keep", [None, "both", "theirs"])
def test_words_that_both_changed_leave_the_other_words_that_one_changed(keep: Kept | None) -> None:
    base, more = "one two three four five\n", "ONE two three four FIVE\n"
    less = "ONE two three four five\n"
    assert [merge(base, *sides, keep=keep, by_words=True).text for sides in ((more, less), (less, more))] == [more] * 2


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n", "a\nb\nc\nd\n", "a\r\nB\r\nc\r\nd\r\n"),
        ("a\nb\nc\n", "a\nB\nc\n", "a\r\nb\r\nc\r\nd\r\n", "a\nB\nc\nd\n"),
        ("a\rb\rc\r", "a\rB\rc\r", "a\nb\nc\nd\n", "a\rB\rc\rd\r"),
        ("a\nb\n", "A\nb\n", "a\nb\nc\r\n", "A\nb\nc\r\n"),
    ],
    ids=["answer in LF", "answer in CRLF", "CR", "one line of its own"],
)
def test_line_ends_follow_the_current_file(base: str, ours: str, theirs: str, expected: str) -> None:
    assert merged(base, ours, theirs) == expected


def test_texts_over_the_cap_are_one_conflict() -> None:
    base = "\n" * (MAX_LINES + 1)
    result = merge(base, f"{base}a\n", f"b\n{base}", by_words=True)
    assert (result.text, result.is_too_large, len(result.conflicts)) == (None, True, 1)
    assert merged(base, f"{base}a\n", base) == f"{base}a\n"


@given(TEXTS, TEXTS, TEXTS)
def test_edits_make_the_current_text_the_merged_one(base: str, ours: str, theirs: str) -> None:
    result = merge(base, ours, theirs, by_words=True)
    assert (result.text is not None) == (not result.conflicts)
    if result.text is not None:
        assert apply_text_edits(ours, result.edits) == result.text


@given(*[st.text(st.sampled_from("ab \n"), max_size=24).map(lambda text: text + "\n")] * 3)
def test_result_does_not_depend_on_the_side(base: str, ours: str, theirs: str) -> None:
    assert merged(base, ours, theirs) == merged(base, theirs, ours)


def test_no_line_is_lost_and_a_planted_loss_is_found() -> None:
    random = Random(7)
    triples = [unique_texts(random) for _ in range(dose(300))]
    assert [broken for triple in triples if (broken := broken_rules(merged, *triple))] == []
    assert sum(merged(*triple) is not None for triple in triples) > len(triples) // 5

    def dropping(base: str, ours: str, theirs: str) -> str | None:
        whole = merged(base, ours, theirs)
        added = [line for line in theirs.splitlines(keepends=True) if line not in base + ours]
        return whole.replace(added[0], "", 1) if whole is not None and added else whole

    assert any("a line was lost" in broken_rules(dropping, *triple) for triple in triples[:100])


@pytest.mark.parametrize("by_words", [False, True], ids=["lines", "words"])
def test_a_line_that_both_sides_added_in_one_place_is_there_once_or_in_conflict(by_words: bool) -> None:
    random = Random(11)
    clean = 0
    for _ in range(dose(200)):
        base = [f"b{number} says b\n" for number in range(5)]
        at = random.randrange(6)
        sides = []
        for side in "ot":
            added = [f"{side}{number} says {side}\n" for number in range(random.randrange(3))]
            added.insert(random.randrange(len(added) + 1), "new says n\n")
            lines = [*base[:at], *added, *base[at:]]
            place = random.randrange(len(lines))
            if random.random() < 0.5 and lines[place] in base:
                lines[place : place + 1] = random.choice([[], [f"{side} says {side}\n"]])
            sides.append("".join(lines))
        result = merge("".join(base), *sides, by_words=by_words).text
        assert result is None or result.count("new says n\n") == 1, sides
        clean += result is not None
    assert clean > 0


@pytest.mark.parametrize("encoding", ["cp932", "euc_kr", "gb18030", "utf-16-le", "latin-1", "iso2022_jp"])
def test_untouched_bytes_of_the_file_stay(encoding: str) -> None:
    head = {"cp932": b"\xfa\x54 \xee\xf9", "euc_kr": b"\xa4\xd4\xa4\xa1\xa4\xbf\xa4\xd4"}.get(encoding, "é".encode(
        encoding, "ignore"
    ))  # fmt: skip
    text_format = TextFormat(encoding=encoding, bom=b"")
    content = head + "\r\none\r\ntwo\r\nthree\r\n".encode(encoding)
    text = content.decode(encoding)
    base = text.replace("one", "0ne")
    made, _ = merge_bytes(
        base,
        content,
        base.replace("three", "3").replace("\r\n", "\n"),
        text_format=text_format,
        path="f",
        by_words=False,
    )
    assert made == head + "\r\none\r\ntwo\r\n3\r\n".encode(encoding)


@pytest.mark.parametrize(
    ("keep", "expected"),
    [("both", "A\nours\ntheirs\nc\nd\n"), ("theirs", "A\ntheirs\nc\nd\n")],
)
def test_where_sides_conflict_what_somebody_said_is_kept(keep: Kept, expected: str) -> None:
    texts = ("a\nb\nc\n", "a\nours\nc\nd\n", "a\ntheirs\nc\n")
    assert merge(*texts, keep=keep, by_words=True).text == expected.replace("A", "a")
    texts = ("a\n\nb\nc\n", "A\n\nours\nc\nd\n", "a\n\ntheirs\nc\n")
    assert merge(*texts, keep=keep, by_words=True).text == expected.replace("A", "A\n")


@given(TEXTS, TEXTS, TEXTS)
def test_keeping_decides_nothing_where_nothing_conflicts(base: str, ours: str, theirs: str) -> None:
    clean = merged(base, ours, theirs)
    both = merge(base, ours, theirs, keep="both", by_words=True).text
    over = merge(base, ours, theirs, keep="theirs", by_words=True).text
    if clean is not None:
        assert (both, over) == (clean, clean)
    else:
        assert both is not None
        assert over is not None
        assert len(both) >= len(over)
