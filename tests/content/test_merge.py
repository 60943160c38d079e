from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content import TextFormat, apply_text_edits, merge, merge_bytes, merge_keeping
from filetools.content.diff import PatchHunk
from filetools.content.merge import MAX_LINES, Conflict, Kept, MergeResult
from filetools.content.text_edits import TextEdit
from filetools.errors import EncodingError
from tests.support.merging import broken_rules, unique_texts

UTF8 = TextFormat(encoding="utf-8", bom=b"")
MARKERS = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
TEXTS = st.text(st.sampled_from("ab \n\n\r"), max_size=24)


def merged(base: str, ours: str, theirs: str) -> str | None:
    return merge(base, ours, theirs).text


def test_the_same_line_changed_twice_is_a_conflict_with_all_sides() -> None:
    assert merge("a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n") == MergeResult(
        text=None,
        is_clean=False,
        conflicts=(Conflict(base="b\n", ours="ours\n", theirs="theirs\n", line=2),),
        foreign=(),
        edits=(),
    )


def test_every_conflict_is_reported_at_its_line_of_the_current_text() -> None:
    base = "".join(f"<{number}>\n" for number in range(20))
    ours = "new\n" + base.replace("<5>", "x").replace("<15>", "z")
    result = merge(base, ours, base.replace("<5>", "y").replace("<15>", "w"))
    assert [(conflict.line, conflict.ours, conflict.theirs) for conflict in result.conflicts] == [
        (7, "x\n", "y\n"),
        (17, "z\n", "w\n"),
    ]


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("", "a\n", "b\n"),
        ("a\n", "", "b\n"),
        ("a\nb\n", "a\nx\nb\n", "a\ny\nb\n"),
        ("a\nb\n", "b\n", "a1\nb\n"),
        ("one two three\n", "one three\n", "one 2 three\n"),
        ("x = compute(a)\n", "return result(b)\n", "x = compute(a) # note\n"),
    ],
    ids=["both create", "emptied", "same place", "deleted and changed", "word deleted and changed", "rewritten"],
)
def test_touching_changes_conflict_both_ways(base: str, ours: str, theirs: str) -> None:
    assert merged(base, ours, theirs) is None
    assert merged(base, theirs, ours) is None


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
    assert merge(*texts, by_words=False).text is None
    assert merge(texts[0], texts[2], texts[1], by_words=False).text is None
    assert merge(*texts).text is None


def test_separate_changes_are_merged_and_the_foreign_ones_named() -> None:
    base = "a\nb\nc\nd\ne\n"
    assert merge(base, "new\na\nb\nc\nd\ne\n", "a\nb\nc\nD\ne\n") == MergeResult(
        text="new\na\nb\nc\nD\ne\n",
        is_clean=True,
        conflicts=(),
        foreign=(PatchHunk(old_start=0, old_lines=0, new_start=1, new_lines=1, lines=("+new",)),),
        edits=(TextEdit(10, 12, "D\n"),),
    )


def test_foreign_hunks_lead_from_what_was_sent_to_what_was_merged() -> None:
    base = "".join(f"{number}\n" for number in range(30))
    ours = base.replace("3\n", "three\n", 1).replace("20\n", "", 1)
    theirs = "first\n" + base.replace("10\n", "ten\nzehn\n", 1)
    result = merge(base, ours, theirs)
    sent, at = theirs.splitlines(), 0
    made: list[str] = []
    for hunk in result.foreign:
        start = hunk.old_start - bool(hunk.old_lines)
        made += sent[at:start]
        assert len(made) == hunk.new_start - bool(hunk.new_lines)
        made += [line[1:] for line in hunk.lines if line[0] == "+"]
        assert [line[1:] for line in hunk.lines if line[0] == "-"] == sent[start : start + hunk.old_lines]
        at = start + hunk.old_lines
    assert result.text is not None
    assert made + sent[at:] == result.text.splitlines()


def test_two_words_of_one_line_are_merged_unless_only_lines_count() -> None:
    texts = "the quick brown fox\n", "the quick red fox\n", "the slow brown fox\n"
    assert merge(*texts).text == "the slow red fox\n"
    assert merge(*texts, by_words=False).text is None


def test_changes_of_neighbouring_lines_are_merged_by_words() -> None:
    assert merged("alpha one\nbeta two\n", "alpha 1\nbeta two\n", "alpha one\nbeta 2\n") == "alpha 1\nbeta 2\n"


def test_conflict_markers_in_the_text_are_text() -> None:
    assert merged(MARKERS + "tail\n", "head\n" + MARKERS + "tail\n", MARKERS + "TAIL\n") == f"head\n{MARKERS}TAIL\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n", "a\nb\nc\nd\n", "a\r\nB\r\nc\r\nd\r\n"),
        ("a\nb\nc\n", "a\r\nB\r\nc\r\n", "a\nb\nc\nd\n", "a\r\nB\r\nc\r\nd\r\n"),
        ("a\nb\nc\n", "a\nB\nc\n", "a\r\nb\r\nc\r\nd\r\n", "a\nB\nc\nd\n"),
        ("a\rb\rc\r", "a\rB\rc\r", "a\nb\nc\nd\n", "a\rB\rc\rd\r"),
        ("a\r\nb\nc\r\n", "x\r\na\r\nb\nc\r\n", "a\nb\nc\nd\n", "x\r\na\r\nb\nc\r\nd\r\n"),
        ("a\nb\n", "A\nb\n", "a\nb\nc\r\n", "A\nb\nc\r\n"),
        ("", "a\r\n", "a\n", "a\r\n"),
    ],
    ids=["answer in LF", "converted file", "answer in CRLF", "CR", "mixed file", "one line of its own", "no base"],
)
def test_line_ends_follow_the_current_file(base: str, ours: str, theirs: str, expected: str) -> None:
    assert merged(base, ours, theirs) == expected


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("a\nb", "A\nb", "a\nb\nc\n", "A\nb\nc"),
        ("a\nb\n", "A\nb\n", "a\nb\nc", "A\nb\nc\n"),
        ("a\nb", "a\nb\nc", "A\nb\n", "A\nb\nc"),
        ("x\na\nb", "x2\na\nb", "x\na", "x2\na"),
        ("a\nb", "A\nb", "a\nb\n\n", "A\nb\n\n"),
        ("a", "", "a", ""),
    ],
)
def test_final_newline_follows_the_current_file(base: str, ours: str, theirs: str, expected: str) -> None:
    assert merged(base, ours, theirs) == expected


def test_texts_over_the_cap_are_one_conflict() -> None:
    base = "\n" * (MAX_LINES + 1)
    result = merge(base, f"{base}a\n", f"b\n{base}")
    assert (result.is_clean, result.is_too_large, len(result.conflicts)) == (False, True, 1)
    assert merge(base, f"{base}a\n", base).text == f"{base}a\n"


MOST_SECONDS = 60
"""Processor time; a search without a bound would take hours."""


@pytest.mark.parametrize("kind", ["two edits", "a tenth replaced", "nothing in common", "four texts at random"])
def test_100_000_lines_are_merged_or_refused_in_bounded_time(kind: str) -> None:
    random = Random(5)
    base = [f"line {number}\n" for number in range(100_000)]
    ours, theirs = list(base), list(base)
    ours[1_000], theirs[90_000] = "ours\n", "theirs\n"
    if kind == "a tenth replaced":
        for _ in range(10_000):
            ours[random.randrange(100_000)] = base[random.randrange(100_000)]
    elif kind == "nothing in common":
        ours, theirs = [f"ours {number}\n" for number in range(100_000)], [f"theirs {line}" for line in base]
    elif kind == "four texts at random":
        base, ours, theirs = ([random.choice("abc\n") + "\n" for _ in range(100_000)] for _ in range(3))
    began = time.process_time()
    result = merge("".join(base), "".join(ours), "".join(theirs))
    assert time.process_time() - began < MOST_SECONDS
    assert result.is_clean or kind != "two edits"


def test_moved_blocks_lose_nothing() -> None:
    block, rest = "def f():\n    one\n    two\n\n", "def g():\n    three\n    four\n\n"
    for ours, theirs in ((rest + block, block.replace("one", "1") + rest), (rest + block, block + rest + "end\n")):
        result = merged(block + rest, ours, theirs)
        assert result is None or set(ours.split()) & set(theirs.split()) <= set(result.split())


@given(TEXTS, TEXTS, TEXTS)
def test_edits_make_the_current_text_the_merged_one(base: str, ours: str, theirs: str) -> None:
    result = merge(base, ours, theirs)
    assert result.is_clean == (result.text is not None) == (not result.conflicts)
    if result.text is not None:
        assert apply_text_edits(ours, result.edits) == result.text


@given(*[st.text(st.sampled_from("ab \n"), max_size=24).map(lambda text: text + "\n")] * 3)
def test_result_does_not_depend_on_the_side(base: str, ours: str, theirs: str) -> None:
    assert merged(base, ours, theirs) == merged(base, theirs, ours)


def test_no_line_is_lost_and_a_planted_loss_is_found() -> None:
    random = Random(7)
    triples = [unique_texts(random) for _ in range(1500)]
    assert [broken for triple in triples if (broken := broken_rules(merged, *triple))] == []
    assert sum(merged(*triple) is not None for triple in triples) > 300

    def dropping(base: str, ours: str, theirs: str) -> str | None:
        whole = merged(base, ours, theirs)
        added = [line for line in theirs.splitlines(keepends=True) if line not in base + ours]
        return whole.replace(added[0], "", 1) if whole is not None and added else whole

    assert any("a line was lost" in broken_rules(dropping, *triple) for triple in triples[:200])


@pytest.mark.parametrize("encoding", ["cp932", "euc_kr", "gb18030", "utf-16-le", "latin-1", "iso2022_jp"])
def test_untouched_bytes_of_the_file_stay(encoding: str) -> None:
    head = {"cp932": b"\xfa\x54 \xee\xf9", "euc_kr": b"\xa4\xd4\xa4\xa1\xa4\xbf\xa4\xd4"}.get(encoding, "é".encode(
        encoding, "ignore"
    ))  # fmt: skip
    text_format = TextFormat(encoding=encoding, bom=b"")
    content = head + "\r\none\r\ntwo\r\nthree\r\n".encode(encoding)
    text = content.decode(encoding)
    base = text.replace("one", "0ne")
    result = merge_bytes(
        base, content, base.replace("three", "3").replace("\r\n", "\n"), text_format=text_format, path="f"
    )
    assert result.content == head + "\r\none\r\ntwo\r\n3\r\n".encode(encoding)


def test_a_proposal_the_encoding_cannot_hold_is_refused() -> None:
    with pytest.raises(EncodingError) as caught:
        merge_bytes("a\nb\n", b"A\nb\n", "a\nb\n€\n", text_format=TextFormat(encoding="latin-1", bom=b""), path="f")
    assert (caught.value.details["character"], caught.value.details["line"]) == ("U+20AC", 3)


def test_a_conflict_leaves_no_bytes() -> None:
    assert merge_bytes("a\n", b"b\n", "c\n", text_format=UTF8, path="f").content is None


@pytest.mark.parametrize(
    ("keep", "expected"),
    [("both", "A\nours\ntheirs\nc\nd\n"), ("theirs", "A\ntheirs\nc\nd\n")],
)
def test_where_sides_conflict_what_somebody_said_is_kept(keep: Kept, expected: str) -> None:
    assert merge_keeping("a\nb\nc\n", "a\nours\nc\nd\n", "a\ntheirs\nc\n", keep) == expected.replace("A", "a")
    assert merge_keeping("a\n\nb\nc\n", "A\n\nours\nc\nd\n", "a\n\ntheirs\nc\n", keep) == expected.replace("A", "A\n")


def test_texts_that_are_too_large_are_not_put_together() -> None:
    many = "x\n" * (MAX_LINES + 1)
    assert merge_keeping(many, "a\n" + many, many + "b\n", "both") is None


@given(TEXTS, TEXTS, TEXTS)
def test_keeping_decides_nothing_where_nothing_conflicts(base: str, ours: str, theirs: str) -> None:
    clean = merge(base, ours, theirs).text
    both, over = merge_keeping(base, ours, theirs, "both"), merge_keeping(base, ours, theirs, "theirs")
    if clean is not None:
        assert (both, over) == (clean, clean)
    else:
        assert both is not None
        assert over is not None
        assert len(both) >= len(over)
