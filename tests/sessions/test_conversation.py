from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.sessions.feedback import Conversation
from filetools.sessions.log import LogEntry, entries_of, extract_text
from tests.support.agent_logs import Log, LogWriter


def entry(uuid: Any, parent: Any = None, kind: Any = "user", **fields: Any) -> LogEntry:
    return LogEntry({"uuid": uuid, "parentUuid": parent, "type": kind, **fields})


def line(*uuids: str) -> list[LogEntry]:
    """Return entries each of which hangs below the one before."""
    return [entry(uuid, parent) for uuid, parent in zip(uuids, (None, *uuids), strict=False)]


def tree(entries: list[LogEntry]) -> Conversation:
    made = Conversation()
    for each in entries:
        made.add(each)
    return made


def left(log: Log) -> list[str]:
    entries = entries_of(log.path.read_bytes())
    uuids = tree(entries).left()
    return [text for each in entries if each.uuid in uuids and (text := extract_text(each.content))]


def test_of_nothing_nothing_was_left() -> None:
    assert tree([]).left() == set()
    assert tree([LogEntry({}), entry(None), entry(5)]).left() == set()


def test_what_the_newest_entry_does_not_follow_was_left() -> None:
    entries = [entry("a"), entry("b", "a"), entry("c", "b"), entry("x", "b", kind="system"), entry("y", "a")]
    assert tree(entries).left() == {"b", "c", "x"}


@pytest.mark.parametrize("mark", [{"isSidechain": True}, {"isMeta": True}, {"teamName": "team"}])
def test_what_is_not_on_the_main_line_neither_leaves_anything_nor_is_left(mark: dict[str, Any]) -> None:
    others = [entry("x", "a", **mark), entry("y", "x", **mark)]
    assert tree([*line("a", "b"), *others]).left() == set()
    assert tree([entry("a", **mark), *others]).left() == set()


def test_a_cycle_leaves_nothing() -> None:
    assert tree([entry("z"), entry("a", "c"), entry("b", "a"), entry("c", "b")]).left() == set()
    assert tree([*line("a", "b"), entry("c", "c")]).left() == set()


def test_of_two_entries_with_one_uuid_the_later_counts_once() -> None:
    entries = [entry("a"), entry("b", "a", message="old"), entry("b", "a", message="new"), entry("c", "b")]
    made = Conversation()
    assert [made.add(each) for each in entries] == [True, True, False, True]
    assert made.left() == set()


@given(
    st.lists(
        st.builds(
            lambda uuid, parent, kind, logical, marks, ids: entry(
                uuid, parent, kind, logicalParentUuid=logical, sourceToolAssistantUUID=logical, **marks,
                message={"id": ids[0], "content": [
                    {"type": "tool_use", "id": ids[1]}, {"type": "tool_result", "tool_use_id": ids[2]},
                ]},
            ),
            *[st.sampled_from("abcdefgh")] * 2,
            st.sampled_from(["user", "assistant", "system"]),
            st.sampled_from(["a", "b", "c", None]),
            st.sampled_from([{}, {}, {"isSidechain": True}, {"isMeta": True}, {"agentId": "x"}]),
            st.tuples(*[st.sampled_from("12")] * 3),
        ),
        max_size=14,
    )
)  # fmt: skip
def test_whatever_names_whatever_the_chain_ends(entries: list[LogEntry]) -> None:
    assert tree(entries).left() < {*(each.uuid for each in entries), ""}


def test_a_chain_of_many_entries_is_followed() -> None:
    assert tree([*line(*map(str, range(20_000))), entry("x", "10")]).left() == {*map(str, range(11, 20_000))}


def test_what_was_taken_back_was_left(writer: LogWriter) -> None:
    log = writer.session().user("First").assistant("One").user("Old").assistant("Two").rewind()
    log.user("New").assistant("Three")
    assert left(log) == ["Old", "Two"]


def test_what_a_summary_stands_for_was_not_left(writer: LogWriter) -> None:
    log = writer.session().user("First").assistant("One").user("Old").rewind().user("New").assistant("Two")
    log.compact("In short").user("After")
    assert left(log) == ["Old"]


@pytest.mark.parametrize("lost", range(5))
def test_a_lost_line_leaves_nothing(writer: LogWriter, lost: int) -> None:
    log = writer.session().user("1").assistant("2").user("3").assistant("4").user("5").assistant("6")
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[:lost] + lines[lost + 1 :]))
    assert left(log) == []


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_calls_at_once_and_their_results_were_not_left(writer: LogWriter, order: tuple[int, ...]) -> None:
    log = writer.session().user("Read all").assistant(*(f"text {number}" for number in range(2)), *[("Read", {})] * 3)
    calls = list(log.calls)
    for number in order:
        log.result("content", calls[number])
    log.assistant("Read.").user("Good")
    assert tree(entries_of(log.path.read_bytes())).left() == set()


def test_a_long_conversation_is_walked_once() -> None:
    few, many = (min(seconds_for(turns) for _ in range(2)) for turns in (2_000, 20_000))
    assert many < 40 * few  # copying all results for each answer takes a hundred times as long


def seconds_for(turns: int) -> float:
    """Return the processor time for a conversation of many turns."""
    entries = list[LogEntry]()
    for turn in range(turns):
        call = {"type": "tool_use", "id": f"t{turn}"}
        entries += [
            entry(f"a{turn}", f"r{turn - 1}", "assistant", message={"id": f"m{turn}", "content": [call]}),
            entry(f"r{turn}", f"a{turn}", message={"content": [{"type": "tool_result", "tool_use_id": f"t{turn}"}]}),
        ]
    began = time.thread_time()
    assert tree(entries).left() == set()
    return time.thread_time() - began
