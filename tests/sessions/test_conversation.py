from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.sessions.conversation import Conversation
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


def conversation(entries: list[LogEntry]) -> list[LogEntry]:
    """Return the entries of a conversation as they stand in the log, the later of two with one uuid."""
    uuids = tree(entries).uuids()
    return [each for each in tree_entries(entries) if each.uuid in uuids]


def said(log: Log) -> list[str]:
    return [text for each in conversation(entries_of(log.path.read_bytes())) if (text := extract_text(each.content))]


def left(log: Log) -> list[str]:
    entries = entries_of(log.path.read_bytes())
    uuids = tree(entries).left()
    return [text for each in entries if each.uuid in uuids and (text := extract_text(each.content))]


# Where it ends


def test_of_nothing_there_is_no_conversation() -> None:
    assert (conversation([]), tree([]).uuids(), tree([]).left()) == ([], set(), set())


def test_entries_without_uuid_are_no_part_of_it() -> None:
    entries = [LogEntry({}), entry(None), entry(5), *line("a", "b"), LogEntry({"type": "user", "parentUuid": "b"})]
    assert tree(entries).uuids() == {"a", "b"}


def test_it_is_the_chain_of_parents_of_the_last_leaf() -> None:
    entries = [entry("c", "b"), entry("b", "a"), entry("x", "b"), entry("a"), entry("y", "a")]
    assert conversation(entries) == [entries[3], entries[4]]


@pytest.mark.parametrize("mark", [{"isSidechain": True}, {"isMeta": True}, {"teamName": "team"}])
def test_what_is_not_on_the_main_line_ends_it_only_where_nothing_else_does(mark: dict[str, Any]) -> None:
    others = [entry("x", "a", **mark), entry("y", "x", **mark)]
    assert tree([*line("a", "b"), *others]).uuids() == {"a", "b"}
    assert tree([entry("a", **mark), *others]).uuids() == {"a", "x", "y"}


def test_a_missing_parent_ends_the_chain() -> None:
    assert tree([*line("a", "b"), entry("c", "gone"), entry("d", "c")]).uuids() == {"c", "d"}


@pytest.mark.parametrize("others", [[], ["z"]])
def test_a_cycle_ends_the_chain(others: list[str]) -> None:
    cycle = [entry("a", "c"), entry("b", "a"), entry("c", "b")]
    assert tree([*(entry(uuid) for uuid in others), *cycle]).uuids() == ({"z"} if others else {"a", "b", "c"})
    assert tree([entry("a", "a")]).uuids() == {"a"}


def test_of_two_entries_with_one_uuid_the_later_counts_once() -> None:
    entries = [entry("a"), entry("b", "a", message="old"), entry("b", "a", message="new"), entry("c", "b")]
    made = Conversation()
    assert [made.add(each) for each in entries] == [True, True, False, True]
    assert conversation(entries) == [entries[0], *entries[2:]]
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
    made = tree(entries)
    uuids = made.uuids()
    assert uuids <= {each.uuid for each in entries}
    assert bool(uuids) == any(each.type in ("user", "assistant") for each in tree_entries(entries))
    assert not made.left() & uuids


def tree_entries(entries: list[LogEntry]) -> list[LogEntry]:
    return list({each.uuid: each for each in entries}.values())


def test_a_chain_of_many_entries_is_followed() -> None:
    assert len(tree(line(*map(str, range(20_000)))).uuids()) == 20_000


# What was left


def test_what_was_taken_back_is_outside_of_it_and_left(writer: LogWriter) -> None:
    log = writer.session().user("First").assistant("One").user("Old").assistant("Two").rewind()
    log.user("New").assistant("Three")
    assert said(log) == ["First", "One", "New", "Three"]
    assert left(log) == ["Old", "Two"]


def test_what_a_summary_stands_for_is_outside_of_it_but_not_left(writer: LogWriter) -> None:
    log = writer.session().user("First").assistant("One").user("Old").rewind().user("New").assistant("Two")
    log.compact("In short").user("After")
    assert (said(log), left(log)) == (["In short", "After"], ["Old"])


@pytest.mark.parametrize("lost", range(5))
def test_a_lost_line_leaves_nothing(writer: LogWriter, lost: int) -> None:
    log = writer.session().user("1").assistant("2").user("3").assistant("4").user("5").assistant("6")
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[:lost] + lines[lost + 1 :]))
    assert left(log) == []


# Calls at once


def results(log: Log) -> list[str]:
    """Return the calls and results in the conversation, by the files that the calls name."""
    found = []
    for each in conversation(entries_of(log.path.read_bytes())):
        found += [
            block.get("name") or block["tool_use_id"] for block in each.blocks if block["type"].startswith("tool")
        ]
    return found


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_calls_at_once_and_their_results_are_put_back(writer: LogWriter, order: tuple[int, ...]) -> None:
    log = writer.session().user("Read all").assistant(*(f"text {number}" for number in range(2)), *[("Read", {})] * 3)
    calls = list(log.calls)
    for number in order:
        log.result("content", calls[number])
    log.assistant("Read.").user("Good")
    assert sorted(results(log)) == sorted(["Read"] * 3 + calls)
    assert results(log).index("Read") == 0
    assert said(log) == ["Read all", "text 0", "text 1", "Read.", "Good"]
    assert left(log) == []


def test_a_result_of_another_writer_is_not_put_back() -> None:
    entries = [
        entry("a"),
        entry("b", "a", "assistant", message={"id": "m", "content": [{"type": "tool_use", "id": "t1"}]}),
        entry("c", "b", "assistant", message={"id": "m", "content": [{"type": "tool_use", "id": "t2"}]}),
        entry("r", "z", message={"content": [{"type": "tool_result", "tool_use_id": "t1"}]}, agentId="other"),
        entry("d", "c", message={"content": [{"type": "tool_result", "tool_use_id": "t2"}]}),
    ]
    assert tree(entries).uuids() == {"a", "b", "c", "d"}
    del entries[3].raw["agentId"]  # type: ignore[attr-defined]
    assert tree(entries).uuids() == {"a", "b", "c", "r", "d"}


@pytest.mark.timeout(20)  # copying all results for each answer takes longer
def test_a_long_conversation_is_walked_once() -> None:
    count, entries = 20_000, list[LogEntry]()
    for turn in range(count):
        call = {"type": "tool_use", "id": f"t{turn}"}
        entries += [
            entry(f"a{turn}", f"r{turn - 1}", "assistant", message={"id": f"m{turn}", "content": [call]}),
            entry(f"r{turn}", f"a{turn}", message={"content": [{"type": "tool_result", "tool_use_id": f"t{turn}"}]}),
        ]
    assert len(tree(entries).uuids()) == 2 * count
