from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filetools.errors import InvalidArgumentError
from filetools.sessions.rules import NOISE_MARKERS, analyze, category, is_noise, parse_items, rules
from tests.support import inside
from tests.support.backtracking import ways_back

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file)."
)
SAID = f"{REJECTED} To tell you how to proceed, the user said:\n"
STOP = f"{REJECTED} STOP what you are doing and wait for the user to tell you how to proceed."
OF_AN_AGENT = "Permission for this tool use was denied. The tool use was rejected. The user said:\n"
NOTE = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention."
CLARIFY = "The user wants to clarify these questions.\n    This means they may have additional information."
INTERRUPTED = "[Request interrupted by user]"
TABS = "Always indent with tabs in this project"
SPACES = "Use spaces, as all other modules do"


def item(content: str, session_id: str = "s1", *, timestamp: str = "", **fields: Any) -> dict[str, Any]:
    """An item as older files have it; newer fields are named."""
    item = {"timestamp": timestamp, "session_id": session_id, "feedback_type": "message", "content": content}
    return item | fields


def denial(content: str, session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    return item(content, session_id, feedback_type="tool_denial", **fields)


def contents(items: list[dict[str, Any]], **options: Any) -> list[str]:
    return [rule["content"] for rule in rules(items, **options)]


# Items of a file


@pytest.mark.parametrize("data", [b"", b"[1,", b'["\\ud800', b"[" * 100_000, b"[" + b"1" * 5000 + b"]", "[]\n[]"])
def test_what_is_no_json_is_refused_in_one_line(data: bytes | str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"\Anot JSON: .+\Z"):
        parse_items(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}", "not an array of feedback items"),
        ([item("a"), 5], "item 1 is not a feedback item: not an object"),
        ([{}], "item 0 is not a feedback item: `timestamp` is missing"),
        ([item("a", feedback_type=None)], "item 0 is not a feedback item: `feedback_type` is not text"),
        ([item("a") | {"content": ["a"]}], "item 0 is not a feedback item: `content` is not text"),
    ],
)
def test_the_first_thing_that_is_no_item_is_named(data: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_items(data if isinstance(data, bytes | str) else json.dumps(data))
    assert caught.value.message == message


def test_items_come_back_with_all_their_fields() -> None:
    items = [item("a", sidechain=True, anything=[1]), item("b")]
    assert parse_items(json.dumps(items)) == items


def test_a_byte_order_mark_is_no_fault() -> None:
    assert parse_items(b"\xef\xbb\xbf[]") == []


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (json.dumps([item("X")]).encode().replace(b"X", b"a\xff\xed\xa0\x80"), "a\ufffd\ufffd\ufffd\ufffd"),
        (json.dumps([item("X")]).replace("X", "a\udcff"), "a?"),
    ],
)
def test_what_is_no_text_is_replaced(data: bytes | str, content: str) -> None:
    assert parse_items(data) == [item(content)]


@settings(max_examples=50)
@given(st.binary() | st.text(st.characters()))
def test_any_data_is_read_or_refused(data: bytes | str) -> None:
    with suppress(InvalidArgumentError):
        assert isinstance(parse_items(data), list)


# Noise


@pytest.mark.parametrize(
    "text",
    [
        "",
        "see <command-name>/clear</command-name> there",
        "see <tool_use_error>no file</tool_use_error> there",
        " \nExit code 137\nkilled",
        "<tick>12:00</tick>",
        "<ide_opened_file>The user opened a.py</ide_opened_file>",
    ],
)
def test_noise(text: str) -> None:
    assert is_noise(text)


@pytest.mark.parametrize(
    "text",
    [
        "ten chars!",
        "the cache needs a warmup first",
        "it ended with Exit code 1 again",
        "write the <goal> element last",
        "<ide_opened_file>a.py</ide_opened_file> use tabs here",
    ],
)
def test_what_a_person_says_is_no_noise(text: str) -> None:
    assert not is_noise(text)


def test_warmup_alone_is_noise_of_any_length() -> None:
    assert is_noise(" Warmup ", min_length=0)


def test_length_and_markers_are_parameters() -> None:
    assert not is_noise("Real", min_length=4)
    assert is_noise("Real", min_length=5)
    assert is_noise("% make all the things", markers=[*NOISE_MARKERS, r"\A% "])
    assert not is_noise("<tick>12:00</tick>", markers=[])


# Categories


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("instructions", "don't|DON\u2019T|don\u02bct|Always|must|should|fix it, but never so|(never)"),
        ("corrections", "no|No, not so|wrong|incorrect|fixing|errors"),
        ("code_review", "review|reviewed|refactoring|improve|clarity"),
        ("process", "plans|next step|next\n\t steps|workflow|before|after"),
        ("preferences", "preferred|i want|I\u00a0wanted|make sure|making\nsure|ensure"),
        ("other", "|now|prefix|planes|nothing|mustard|beforehand|dont|no_proxy|fixture|preview|i  do want|nonsense"),
    ],
)
def test_category(name: str, texts: str) -> None:
    assert {text: category(text) for text in texts.split("|")} == dict.fromkeys(texts.split("|"), name)


def test_the_first_category_with_a_word_wins() -> None:
    words = ["never", "wrong", "review", "plan", "ensure"]
    assert [category(" ".join(reversed(words[start:]))) for start in range(6)] == [
        "instructions",
        "corrections",
        "code_review",
        "process",
        "preferences",
        "other",
    ]


def test_no_pattern_is_tried_again_and_again() -> None:
    patterns = inside.patterns_of_rules()
    assert [ways_back(pattern) for pattern in patterns] == [0, 0, 0, 0, 0, 1]
    # At most a sign, or the text within a tag and the space behind it: neither can take what the other leaves.
    assert [ways_back(marker) for marker in NOISE_MARKERS] == [0, 1, 2]


# Figures


def test_of_no_items_there_is_nothing() -> None:
    assert analyze([]) == {"total": 0, "filtered": 0, "categories": {}}
    assert rules([]) == []


def test_categories_stand_in_the_order_of_their_first_appearance() -> None:
    texts = ["look at the plan", "no, not like this", "short", "the plan, again", "nice and easy"]
    found = analyze(map(item, texts))
    assert found == {"total": 5, "filtered": 4, "categories": {"process": 2, "corrections": 1, "other": 1}}
    assert list(found["categories"]) == ["process", "corrections", "other"]


def test_a_denial_counts_by_its_reason() -> None:
    items = [denial(f"{SAID}No, use the other file"), denial(f"{SAID}so be it")]
    assert analyze(items) == {"total": 2, "filtered": 1, "categories": {"corrections": 1}}


def test_a_denial_and_an_interruption_without_words_count() -> None:
    items = [denial(STOP), denial(STOP + NOTE), item(INTERRUPTED, feedback_type="interruption"), denial(INTERRUPTED)]
    assert analyze(items) == {"total": 4, "filtered": 4, "categories": {"other": 4}}


# Which items count


ASIDE = item("You must look at all the tests", sidechain=True)
FAILED = denial("FileNotFoundError: there is no file a.py", denied_by_user=False)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, []),
        ({"include_sidechains": True}, [ASIDE["content"]]),
        ({"include_errors": True}, [FAILED["content"]]),
        ({"include_sidechains": True, "include_errors": True}, [ASIDE["content"], FAILED["content"]]),
    ],
)
def test_sidechains_and_errors_count_only_where_they_are_asked_for(options: dict[str, Any], left: list[str]) -> None:
    aside_and_failed = ASIDE | FAILED
    assert contents([ASIDE, FAILED], **options) == left
    assert analyze([ASIDE, FAILED], **options)["total"] == len(left)
    assert contents([aside_and_failed], **options) == left[1:2]


def test_a_person_who_refuses_a_call_of_an_agent_below_another_is_heard() -> None:
    refused = item(TABS, feedback_type="tool_denial", denied_by_user=True, sidechain=True)
    assert contents([refused, item(TABS * 2, sidechain=True)]) == [TABS]


@pytest.mark.parametrize("fields", [{}, {"denied_by_user": None, "sidechain": None}, {"denied_by_user": True}])
def test_a_denial_of_an_older_file_counts(fields: dict[str, Any]) -> None:
    assert contents([denial(f"{SAID}{TABS}", **fields)]) == [TABS]


# Rules


@pytest.mark.parametrize(
    "text",
    [
        "How do I indent with tabs?",
        "Claude Code: a tool that writes code",
        "x" * 19,
        " " * 20 + "x" * 19 + " " * 20,
        "x" * 1001,
        "<tick>12:00 and all is well</tick>",
    ],
)
def test_what_is_no_rule(text: str) -> None:
    assert rules([item(text)]) == []


def test_what_is_a_rule() -> None:
    for text in ("However it looks, use tabs", "Show how to do it first", "x" * 20, "x" * 1000):
        assert contents([item(f" {text}\n")]) == [text]


def test_least_length_is_an_option_but_noise_is_none() -> None:
    items = [item("nine char"), item("ten chars!"), item(TABS)]
    assert contents(items, min_length=5) == ["ten chars!", TABS]
    assert contents(items, min_length=len(TABS) + 1) == []


def test_rules_are_sorted_by_instant_and_those_without_a_time_come_last() -> None:
    times = {
        "no time at all, first": "",
        "no time at all, again": "yesterday",
        "half past eleven at Greenwich": "2026-01-01T11:30:00Z",
        "eleven o'clock, without a zone": "2026-01-01T11:00:00",
        "noon, two hours east of it": "2026-01-01T12:00:00+02:00",
        "half past eleven, a second one": "2026-01-01T11:30:00.000+00:00",
    }
    assert contents([item(text, timestamp=time) for text, time in times.items()]) == [
        "noon, two hours east of it",
        "eleven o'clock, without a zone",
        "half past eleven at Greenwich",
        "half past eleven, a second one",
        "no time at all, first",
        "no time at all, again",
    ]


def test_the_oldest_of_equal_ones_stays_and_names_the_sessions_of_the_others() -> None:
    early, late = "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"
    items = [
        item(TABS.upper(), "s3"),
        item(f"\uff21{TABS[1:]}".replace(" ", "\n\u2003"), "s1", timestamp=late),
        item(f" {TABS} ", "s1", timestamp=early),
        item(SPACES, "s2"),
    ]
    assert rules(items) == [
        {"index": 1, "timestamp": early, "session_id": "s1", "content": TABS, "count": 3, "duplicates": ["s1", "s3"]},
        {"index": 2, "timestamp": "", "session_id": "s2", "content": SPACES, "count": 1, "duplicates": []},
    ]


# What the person said


@pytest.mark.parametrize(
    "content",
    [
        SAID + TABS,
        f"{SAID}{TABS}\n{NOTE}",
        OF_AN_AGENT + TABS,
        f"{TABS}\n\n{INTERRUPTED}",
        f"[Request interrupted by user for tool use]{TABS}",
    ],
)
@pytest.mark.parametrize("kind", ["tool_denial", "interruption"])
def test_only_the_words_of_the_person_are_shown(kind: str, content: str) -> None:
    assert contents([item(content, feedback_type=kind)]) == [TABS]


@pytest.mark.parametrize(
    "content",
    [STOP, STOP + NOTE, SAID, SAID + CLARIFY + NOTE, INTERRUPTED, "[Request interrupted by user for tool use]"],
)
def test_where_the_person_said_nothing_there_is_no_rule(content: str) -> None:
    assert rules([denial(content, denied_by_user=True)], min_length=0) == []


def test_the_field_of_the_reason_counts_before_the_text() -> None:
    assert contents([denial("Some newer words for a denial", reason=TABS + NOTE, denied_by_user=True)]) == [TABS]


def test_a_message_that_quotes_the_program_is_left_as_it_is() -> None:
    quoted = f"Why do I read this: {SAID}{TABS}"
    assert contents([item(quoted), item(SAID + SPACES)]) == [quoted, (SAID + SPACES).strip()]


# Any items


WORDS = st.sampled_from(
    [TABS, SPACES, "no", "how it looks is all the same to me", "Warmup", INTERRUPTED, STOP, CLARIFY]
)
TEXTS = st.builds("{}{}".format, st.sampled_from(["", SAID, " "]), WORDS) | st.text(st.characters())
TIMES = st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat) | st.text()
ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "timestamp": TIMES,
            "session_id": st.sampled_from(["s1", "s2", "s3"]),
            "feedback_type": st.sampled_from(["message", "tool_denial", "interruption", "news"]),
            "content": TEXTS,
        },
        optional={
            "denied_by_user": st.sampled_from([True, False, None]),
            "sidechain": st.sampled_from([True, False, None]),
            "reason": st.sampled_from([None, "", TABS, 5]),
        },
    )
)
OPTIONS = st.fixed_dictionaries({"include_sidechains": st.booleans(), "include_errors": st.booleans()})


@settings(max_examples=15)
@given(ITEMS, OPTIONS)
def test_each_item_is_noise_or_of_one_category(items: list[dict[str, Any]], options: dict[str, bool]) -> None:
    alone = [analyze([item], **options) for item in items]
    found = analyze(items, **options)
    assert found["total"] == sum(one["total"] for one in alone)
    assert found["filtered"] == sum(one["filtered"] for one in alone) == sum(found["categories"].values())
    assert all((one["total"], one["filtered"]) in {(0, 0), (1, 0), (1, 1)} for one in alone)


@settings(max_examples=15)
@given(ITEMS, OPTIONS)
def test_no_session_is_lost(items: list[dict[str, Any]], options: dict[str, bool]) -> None:
    found = rules(items, **options)
    alone = Counter(rule["session_id"] for item in items for rule in rules([item], **options))
    assert Counter(name for rule in found for name in (rule["session_id"], *rule["duplicates"])) == alone
    assert [rule["count"] for rule in found] == [1 + len(rule["duplicates"]) for rule in found]
    assert [rule["index"] for rule in found] == [*range(1, len(found) + 1)]
