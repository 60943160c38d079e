from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.sessions.texts import extract_text, format_title, is_trivial

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
WORDS = ["y", "n", "k", "g", "ok", "go", "yes", "no", "continue", "proceed", "sure", "okay", "resume"]
REMINDER = "<system-reminder>\nBe brief.\n</system-reminder>"


def text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    "content", [None, 3, 1.5, True, {}, text("no list"), [], [None], [[text("deep")]], [3, {"text": "x"}]]
)
def test_what_is_neither_text_nor_blocks_of_text_has_none(content: Any) -> None:
    assert extract_text(content) == ""


@pytest.mark.parametrize("content", ["", " two\n", REMINDER])
def test_a_text_is_returned_as_it_is(content: str) -> None:
    assert extract_text(content) == content


def test_blocks_of_text_are_joined_by_an_empty_line() -> None:
    blocks = [
        text("one"),
        {"type": "image", "text": "no"},
        "two\n",
        text(None),
        {"type": ["text"], "text": "no"},
        text(" three"),
    ]
    assert extract_text(blocks) == "one\n\ntwo\n\n\n three"
    assert extract_text(blocks, separator="\n") == "one\ntwo\n\n three"


@pytest.mark.parametrize("reminder", [REMINDER, f" {REMINDER}\n", f"{REMINDER}\n{REMINDER}"])
def test_blocks_that_are_reminders_are_dropped(reminder: str) -> None:
    assert extract_text([text(reminder), text("Said"), reminder]) == "Said"


@pytest.mark.parametrize(
    "said", [f"{REMINDER} Do it {REMINDER}", f"Do it {REMINDER}", f"{REMINDER} Do it", "<system-reminder>unfinished"]
)
def test_what_was_said_between_reminders_is_kept(said: str) -> None:
    assert extract_text([text(said)]) == said


@pytest.mark.parametrize("word", WORDS)
def test_words_that_say_nothing_are_trivial_in_any_case(word: str) -> None:
    assert is_trivial(word)
    assert is_trivial(f"\n {word.upper()} ")
    assert not is_trivial(f"{word} then")
    assert not is_trivial(f"{word}!!")


@pytest.mark.parametrize("said", ["", " \n\t\u3000", "x", "7", "!", "ä", "a\u0308", "👍🏽", FAMILY, "🇩🇪", " 数 "])
def test_at_most_one_character_is_trivial(said: str) -> None:
    assert is_trivial(said)


@pytest.mark.parametrize("said", ["ab", "👍👍", "数据", "🇩🇪🇫🇷", "no.", "yes please", "ok!", "nope"])
def test_more_than_that_is_not(said: str) -> None:
    assert not is_trivial(said)


@pytest.mark.parametrize(
    "said", ["/x", "/clear", " /Compact keep the plan ", "/mcp:run\nx", "/my-command.v2\tx", "/a_b9", "/tmp is full"]
)
def test_a_slash_command_is_trivial(said: str) -> None:
    assert is_trivial(said)


@pytest.mark.parametrize(
    "said",
    [
        "/home/me/a.py fails",
        "/home/",
        "//",
        "/ clear",
        "/9lives",
        "/-x",
        "/clear, please",
        "/clear!",
        "see /clear",
        "/etc/passwd",
    ],
)
def test_a_text_that_begins_with_a_path_is_not(said: str) -> None:
    assert not is_trivial(said)


def test_a_title_is_one_trimmed_line() -> None:
    assert format_title(" one\n\n two\t three\u3000four \r\n") == "one two three four"


def test_a_title_has_eighty_characters_or_is_cut() -> None:
    assert format_title("x" * 80) == "x" * 80
    assert format_title("x" * 81) == "x" * 77 + "..."
    assert format_title("") == ""


@pytest.mark.parametrize("character", ["a\u0308", "👍🏽", FAMILY, "🇩🇪"])
def test_a_title_cuts_no_character_apart(character: str) -> None:
    for before in range(70, 78):
        cut = format_title("x" * before + character * 20).removesuffix("...")
        assert len(cut) <= 77
        assert set(cut.removeprefix("x" * before).split(character)) == {""}


@given(st.text(max_size=200))
def test_a_title_is_no_longer_than_eighty_characters_and_has_no_ends_of_lines(said: str) -> None:
    title = format_title(said)
    assert len(title) <= 80
    assert title == " ".join(title.split())
