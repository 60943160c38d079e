"""Old texts and old lines that do not stand in a file as they were sent: taken for the one thing they mean, or refused.

The refusals are the point: whatever could be meant in two ways changes nothing.
"""

from __future__ import annotations

import random

import pytest

from filetools.content.edits import Edit, EditOutcome, apply_edits
from filetools.content.formats import TextFormat
from filetools.content.patches import apply_file_patch, parse_patch
from filetools.errors import EditAmbiguousError, EditNotFoundError

UTF8 = TextFormat(encoding="utf-8", bom=b"")


def edited(text: str, old: str, new: str, *, replace_all: bool = False) -> str:
    outcome = apply_edits(text, [Edit(old=old, new=new, replace_all=replace_all)])
    assert outcome.repairs, "nothing was repaired"
    return outcome.text


def patched(content: str, hunks: str) -> EditOutcome:
    (patch,) = parse_patch(f"*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n")
    return apply_file_patch(content.encode(), UTF8, patch, path="f").outcome


# What could be meant in two ways: text, old, new.
TWO_MEANINGS = {
    "a quote of the file or a new one": ('s = "it\u2019s"\n', 's = "it\'s"', "s = 'it is'"),
    "more quotes than the file has": ("\u2018a\u2019 b\n", "'a' b", "c 'a' 'b'"),
    "an escape that may be meant in markup": (
        "a\n<p>Tom & Jerry</p>\n",
        "<p>Tom &amp; Jerry</p>",
        "<p>Tom &amp; Jerry &lt;3</p>",
    ),
    "an escape in a file with escapes": ("x &lt; y\nTom & Jerry\n", "Tom &amp; Jerry", "Tom &amp; Jerry &gt; x"),
    "a text half escaped": ("if a && b > c:\n", "if a &amp;&amp; b > c:", "if a &amp;&amp; b &gt;= c:"),
    "another fence in a file with fences": ("x\n```sh\nfoo\n```\n", "```bash\nfoo\n```", "```js\nbar\n```"),
    "a fence less in a file with fences": ("x\n```sh\nfoo\n```\n", "```bash\nfoo\n```", "foo"),
    "a number that counts no lines": ("a\nfoo\nbar\n", "2:foo\n3:bar", "2:foo\n80:tcp\n3:bar"),
    "numbers for some new lines": ("a\nfoo\nbar\n", "2:foo\n3:bar", "2:foo\nbaz\n3:qux"),
    "lines that overlap themselves": ("a\nb\na\na\na\n", "3\ta\n4\ta", "3\tX\n4\tY"),
    "two places but for quotes": ("\u2018a\u2019\n\u201ca\u201d\n'b'\n\u2018a\u2019\n", "'a'", "c"),
    "two places but for blanks": ("a \nb\na  \nb\n", "a\nb\n", "c\n"),
    "the number of another line": ("a\nfoo\n", "5\tfoo", "5\tbar"),
    "part of a line behind a number": ("a\nx = foo\n", "2\tfoo", "2\tbar"),
    "tabs for blanks": ("if a:\n\tb\n", "if a:\n    b\n", "c\n"),
    "line ends of its own": ("a \u2018b\u2019\r\nc\r\n", "a 'b'\r\nc\r\n", "d\r\n"),
}

ONE_MEANING = {
    "quotes that stay in pairs": (
        "\u201ca\u201d x \u201cb\u201d  \n",
        '"a" x "b"\n',
        '"A" x "B"\n',
        "\u201cA\u201d x \u201cB\u201d  \n",
    ),
    "a line put between": (
        "a\n\u2018b\u2019\nc\n",
        "a\n'b'\nc\n",
        "a\n'b'\n'new'\nc\n",
        "a\n\u2018b\u2019\n'new'\nc\n",
    ),
    "quotes that the file has plain": (
        "f('a')\n",
        "f(\u2018a\u2019)",
        "f(\u2018a\u2019, \u2018b\u2019)",
        "f('a', 'b')\n",
    ),
    "no-break spaces that it has not": (
        "def f(x): y\n",
        "def\u00a0f(x):",
        "def\u00a0f(x,\u00a0z):",
        "def f(x, z): y\n",
    ),
    "no-break spaces that it has": ("10\u00a0kg of\n", "10 kg of", "12 kg of", "12\u00a0kg of\n"),
    "numbers counted on": ("a\nfoo\nbar\n", "2:foo\n3:bar", "2:foo\n3:baz\n4:bar", "a\nfoo\nbaz\nbar\n"),
    "numbers of what stays": ("a\nfoo\nbar\n", "2:foo\n3:bar", "2:foo\nbaz\n3:bar", "a\nfoo\nbaz\nbar\n"),
    "the same fence round both": (
        "x\n```sh\nfoo\n```\n",
        "```bash\nfoo\n```",
        "```bash\nbar\n```",
        "x\n```sh\nbar\n```\n",
    ),
    "an escape that stays": ("a\n<p>Tom & Jerry</p>\n", "Tom &amp; Jerry", "Tom &amp; Jim", "a\n<p>Tom & Jim</p>\n"),
    "escapes in plain code": ("if a < b:\n", "if a &lt; b:", "if a &gt;= b:", "if a >= b:\n"),
    "CRLF and blanks": ("a\r\nb \r\nc\r\n", "a\nb\nc\n", "a\nx\ny\nc\n", "a\r\nx\r\ny\r\nc\r\n"),
}


@pytest.mark.parametrize(("text", "old", "new"), TWO_MEANINGS.values(), ids=TWO_MEANINGS)
def test_what_has_two_meanings_is_refused(text: str, old: str, new: str) -> None:
    for replace_all in (False, True):
        with pytest.raises((EditNotFoundError, EditAmbiguousError)):
            edited(text, old, new, replace_all=replace_all)


@pytest.mark.parametrize(("text", "old", "new", "made"), ONE_MEANING.values(), ids=ONE_MEANING)
def test_what_has_one_meaning_is_done(text: str, old: str, new: str, made: str) -> None:
    assert edited(text, old, new) == made


@pytest.mark.parametrize(
    ("text", "old", "new", "made"),
    [
        ("12\tfoo\n13\tbar\n", "12\tfoo", "12\tbaz", "12\tbaz\n13\tbar\n"),
        ("1: x\n2: y\n", "2: y", "3: z", "1: x\n3: z\n"),
        ("a &amp; b\na & b\n", "a &amp; b", "a &lt; b", "a &lt; b\na & b\n"),
        ("```js\nx\n```\ny\n", "```js\nx\n```", "x", "x\ny\n"),
        ('say \u201ca\u201d\nsay "a"\n', 'say "a"', "say 'a'", "say \u201ca\u201d\nsay 'a'\n"),
        ("a\u00a0b\na b\n", "a b", "c", "a\u00a0b\nc\n"),
        ("cat <<EOF\nx\nEOF\n", "cat <<EOF\nx", "cat <<EOF\ny", "cat <<EOF\ny\nEOF\n"),
    ],
)
def test_what_stands_exactly_is_never_taken_for_something_else(text: str, old: str, new: str, made: str) -> None:
    outcome = apply_edits(text, [Edit(old=old, new=new)])
    assert (outcome.text, outcome.repairs) == (made, ())


def test_an_edit_that_needs_repair_where_the_one_before_was_made_changes_nothing_else() -> None:
    edits = [Edit(old="b\n", new="B\n"), Edit(old="\u201cB\u201d", new="x")]
    with pytest.raises(EditNotFoundError):
        apply_edits("a\nb\nc\n", edits)
    both = [Edit(old="\u2018a\u2019 b", new="\u2018a\u2019 B"), Edit(old="B c", new="C c")]
    assert apply_edits("'a' b c\n", both).text == "'a' C c\n"


HUNKS = {
    "quotes": ("a\n\u201cb\u201d x\nc\n", '@@\n a\n-"b" x\n+"b" y\n c\n', "a\n\u201cb\u201d y\nc\n", "quotes"),
    "quotes and CRLF": (
        "a\r\n\u201cb\u201d x\r\nc\r\n",
        '@@\n a\n-"b" x\n+"b" y\n+d\n c\n',
        "a\r\n\u201cb\u201d y\r\nd\r\nc\r\n",
        "quotes",
    ),
    "blanks at line ends": ("a\nb \nc\n", "@@\n b\n-c\n+d\n", "a\nb \nd\n", "blanks at line ends"),
    "no end of the last line": ("a\nb \nc", "@@\n b\n-c\n+d\n", "a\nb \nd", "blanks at line ends"),
    "line numbers of all lines": ("a\nb\nc\n", "@@\n 1\ta\n-2\tb\n+2\tB\n 3\tc\n", "a\nB\nc\n", "line numbers"),
    "line numbers of old lines": ("a\nb\nc\n", "@@\n 1\ta\n-2\tb\n+B\n 3\tc\n", "a\nB\nc\n", "line numbers"),
    "lines that only go": ("a\nb\nc\n", "@@\n 1\ta\n-2\tb\n 3\tc\n", "a\nc\n", "line numbers"),
    "escapes": ("if a & b:\n  x\n", "@@\n-if a &amp; b:\n+if a &lt; b:\n   x\n", "if a < b:\n  x\n", "HTML escapes"),
    "an anchor in plain quotes": (
        "f(\u2018a\u2019)\n x\ng()\n x\n",
        "@@ f('a')\n- x\n+ y\n",
        "f(\u2018a\u2019)\n y\ng()\n x\n",
        None,
    ),
    "behind an anchor": ("b \na\nb  \n", "@@ a\n-b \n+B\n", "b \na\nB\n", "blanks at line ends"),
}


@pytest.mark.parametrize(("content", "hunks", "made", "told"), HUNKS.values(), ids=HUNKS)
def test_old_lines_of_a_hunk_are_taken_as_old_texts_are(content: str, hunks: str, made: str, told: str | None) -> None:
    outcome = patched(content, hunks)
    assert outcome.text == made
    assert [told in repair for repair in outcome.repairs] == [True] if told else outcome.repairs == ()


@pytest.mark.parametrize(
    ("content", "hunks"),
    [
        # The lines stand before the hunk before, and like ones behind it.
        ("x\n'q'\nz\n\u2018q\u2019\n", "@@\n-z\n+Z\n@@\n-'q'\n+B\n"),
        # Part of a line is no line.
        ("x \u201cq\u201d\n", '@@\n-"q"\n+B\n'),
        ("\u2018q\u2019\n\u2018q\u2019 \n", "@@\n-'q'\n+B\n"),
        ("\u2018q\u2019\nx\n", "@@\n-'q'\n+B\n*** End of File\n"),
        ('s = "it\u2019s"\n', "@@\n-s = \"it's\"\n+s = 'it is'\n"),
    ],
)
def test_old_lines_with_two_meanings_are_refused(content: str, hunks: str) -> None:
    with pytest.raises((EditNotFoundError, EditAmbiguousError)):
        patched(content, hunks)


def test_all_hunks_that_do_not_fit_are_told() -> None:
    with pytest.raises(EditNotFoundError) as caught:
        patched("a\nb\nc\nb\n", "@@\n-x\n+y\n@@\n-b\n+B\n@@\n-q\n+r\n")
    assert [part in str(caught.value) for part in ("hunk 1", "hunk 2 match 2 times", "hunk 3")] == [True] * 3
    assert [each["number"] for each in caught.value.details["others"]] == [2, 3]


def test_a_repaired_change_is_the_one_that_was_meant() -> None:
    """What is sent in other characters leaves what the same change leaves in the file's own, or is refused."""
    done = 0
    for seed in range(400):
        chance = random.Random(seed)
        lines = [
            "".join(chance.choice("ab  \u2018\u2019\u201c\u2013\u00a0x1") for _ in range(8)) + "k" for _ in range(6)
        ]
        spare = [chance.choice(("", " ", "  ")) for _ in lines]
        text = "".join(f"{line}{blanks}\n" for line, blanks in zip(lines, spare, strict=True))
        first, count = chance.randrange(4), chance.randrange(1, 3)
        old = [line.translate(PLAIN) for line in lines[first : first + count]]
        word = chance.choice(("NEW", "", "NEW\nNEW2"))
        new = [*old[:-1], old[-1] + word]
        wanted = [*lines[:first], *lines[first : first + count - 1], lines[first + count - 1] + word]
        wanted += lines[first + count :]
        try:
            made = apply_edits(text, [Edit(old="\n".join(old), new="\n".join(new))]).text
        except (EditNotFoundError, EditAmbiguousError):
            continue
        done += 1
        assert [line.rstrip(" ") for line in made.split("\n")] == [*"\n".join(wanted).split("\n"), ""]
    assert done > 100


PLAIN = str.maketrans("\u2018\u2019\u201c\u2013\u00a0", "''\"- ")
