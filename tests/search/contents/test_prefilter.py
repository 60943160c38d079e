"""Bytes that a search passes over hold no match; and what that spares."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filetools.paths.workspace_path import ROOT
from filetools.search.contents import grep, matcher
from filetools.search.contents.expression import holds_ascii, run_of
from filetools.search.contents.grep import grep_page
from filetools.search.contents.matcher import Matcher
from filetools.search.contents.options import GrepOptions
from filetools.search.contents.prefilter import Prefilter
from filetools.search.contents.syntax import Characters, Sequence, read_pattern
from tests.support.crashing import grow
from tests.support.direct_store import open_store

LETTERS = st.sampled_from(["a", "k", "K", "ß", "世", " ", "-", "0", "\\w", "\\W", "\\s", "\\d", "\\D", ".", "[ab]", "[^a]",
                           "[é-ü]", "[.]", "[a-z]", "\ufffd", "\\b", "^", "$"])  # fmt: skip
PATTERNS = st.recursive(
    LETTERS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{2,}", "{1,2}"])).map(
            lambda two: f"({two[0]}){two[1]}"
        ),
    ),
    max_leaves=6,
)
TEXTS = st.text(st.sampled_from("abkK\u212aßéü世 -.0\t\r\n"), max_size=30)


@settings(max_examples=400, deadline=None)
@given(
    pattern=PATTERNS,
    text=TEXTS,
    ignore_case=st.booleans(),
    multiline=st.booleans(),
    encoding=st.sampled_from(["utf-8", "latin-1"]),
)
def test_bytes_with_a_match_are_never_passed_over(
    pattern: str, text: str, ignore_case: bool, multiline: bool, encoding: str
) -> None:
    content = text.encode(encoding, "replace")
    read = read_pattern(pattern, ignore_case=ignore_case, multiline=multiline)
    with Matcher(read) as found:
        if found.find(matcher.plain_lines(content.decode(encoding)), "text", most=1):
            assert found.may_match(content)


@settings(max_examples=200, deadline=None)
@given(pattern=PATTERNS, content=st.binary(max_size=20))
def test_bytes_that_are_no_text_are_passed_over_only_without_a_match(pattern: str, content: bytes) -> None:
    with Matcher(read_pattern(pattern)) as found:
        text = content.decode("latin-1").translate(grep._CONTROLS)
        if found.find(matcher.plain_lines(text), "bytes", most=1):
            assert found.may_match(content)


@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize(
    "pattern",
    ["[0-9]", "[a-jl-rt-z]", "[!-~]", "[a-z]", "i", "K", "[.]", "[^a]", "\\W", "\\d", "[ß-ÿ]", "[\\\\x]", "."],
)
def test_what_a_run_is_made_of_are_all_bytes_that_may_stand_for_the_set(pattern: str, ignore_case: bool) -> None:
    read = read_pattern(pattern, ignore_case=ignore_case)
    node = read.root.parts[0] if isinstance(read.root, Sequence) else read.root
    assert isinstance(node, Characters)
    everything = "".join(map(chr, range(0x110000)))
    found = re.findall(node.expression, everything, re.IGNORECASE if ignore_case else 0)
    expected = {byte for character in found for byte in character.encode("utf-8", "surrogatepass")}
    run = run_of(read)
    assert run is not None
    assert expected <= run[0]


@pytest.mark.parametrize(
    ("pattern", "run"),
    [
        (r"[0-9]{4}\W[0-9]{2}", (b"0123456789", 4)),
        (r"\w*[0-9][0-9]{2,}\s", (b"0123456789", 3)),
        (r"x?(?:[ab]{3})+y*", None),
        (r"(?:[0-9]{4}|a)", None),
        (r"[0-9]?", None),
    ],
)
def test_the_rarest_run_of_one_set_is_what_is_looked_for(pattern: str, run: tuple[bytes, int] | None) -> None:
    found = run_of(read_pattern(pattern))
    assert found == (None if run is None else (frozenset(run[0]), run[1]))


@settings(max_examples=200, deadline=None)
@given(pattern=PATTERNS, text=TEXTS, ignore_case=st.booleans())
def test_a_match_has_ascii_where_that_is_certain(pattern: str, text: str, ignore_case: bool) -> None:
    read = read_pattern(pattern, ignore_case=ignore_case)
    with Matcher(read) as found:
        spans = found.find(matcher.plain_lines(text), "text", most=1)
    if spans and holds_ascii(read):
        assert any(map(str.isascii, matcher.plain_lines(text)[spans[0] : spans[1]]))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("[0-9]x?", True), ("é{9}[ab]", True), ("[0-9]?", False), ("(?i)k", False), ("\\w", False)],
)
def test_what_is_certain_of_ascii(pattern: str, expected: bool) -> None:
    assert holds_ascii(read_pattern(pattern)) is expected


@pytest.mark.parametrize("size", [10, 262_140, 262_144, 262_150, 600_000])
def test_a_run_is_found_wherever_it_lies(size: int) -> None:
    may_match = Prefilter(read_pattern(r"[a-z]{4}\W[a-z]{6}\W")).may_match
    assert may_match(b"-" * size + b"abcdef" + b"-" * 9)
    assert not may_match((b"-" * size + b"abcde") * 2)


@pytest.mark.parametrize(("pattern", "ignore_case"), [(r"[0-9]{4}\W", False), ("NEEDLE_9", True), ("needle", False)])
def test_files_without_it_are_not_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, ignore_case: bool
) -> None:
    decoded: list[bytes] = []

    def text_of(content: bytes) -> str:
        decoded.append(content)
        return content.decode()

    monkeypatch.setattr(grep, "text_of", text_of)
    tree: dict[str, bytes | None] = {f"{number:03}": b"word 12 _ word\n" for number in range(40)}
    grow(tmp_path, tree | {"020": b"needle_9 2024-\n"})
    store = open_store(tmp_path)
    found = grep_page(store, ROOT, GrepOptions(pattern=pattern, ignore_case=ignore_case))
    assert [match.path for match in found.matches] == ["020"]
    assert decoded == [b"needle_9 2024-\n"]
    store.close()
    store.workspace.close()


def test_only_lines_with_the_text_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher, "MatchingProcess", None)
    text = f"{'word ' * 2_000}\n{'a needle_1 = 2 and more ' * 2}\n" * 3
    with Matcher(read_pattern(r"needle_\w+ = \d+")) as found:
        assert [text[start:end] for start, end in zip(*[iter(found.find(text, "text", most=9))] * 2, strict=True)] == [
            "needle_1 = 2"
        ] * 3
