from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from filetools.errors import FileToolsError
from filetools.sessions.feedback import Conversation, FeedbackItem, collect_feedback, extract_feedback, feedback_of
from filetools.sessions.log import LogEntry, entries_of, extract_text, is_trivial
from tests.support.agent_logs import (
    ENCODED,
    INTERRUPTED,
    INTERRUPTED_CALL,
    PROJECT,
    REJECTED,
    TOLD,
    Layout,
    Log,
    LogWriter,
    grown,
    hostile_lines,
    rendered,
)
from tests.support.unprivileged import as_nobody

Warnings = Callable[[], list[str]]

ID = "01234567-89ab-4cde-8f01-23456789abcd"
SECOND_ID = "01234567-89ab-4cde-8f01-23456789abce"
AT = "2026-03-01T09:00:00Z"


def user(content: Any, **more: Any) -> LogEntry:
    return LogEntry({"type": "user", "message": {"role": "user", "content": content}, **more})


def failed(content: Any = "It failed", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": content, **more}


def item(kind: Any, content: str, **more: Any) -> FeedbackItem:
    whole: dict[str, Any] = {"timestamp": "", "session_id": "", "feedback_type": kind, "content": content, **more}
    return FeedbackItem(**whole)


def extract(logs: Path, session_id: str = ID) -> list[FeedbackItem]:
    return extract_feedback(session_id, PROJECT, logs=logs)


def collect(logs: Path, **options: Any) -> list[FeedbackItem]:
    return list(collect_feedback(PROJECT, logs=logs, **options))


def said(items: list[FeedbackItem]) -> list[str]:
    return [each.content for each in items]


# Of one entry


def test_a_message_is_told_of_in_full() -> None:
    entry = user(
        " Do it\n", timestamp=AT, sessionId=ID, agentId="a1", slug="calm-fox", isSidechain=True, uuid="u1", cwd=PROJECT
    )
    assert feedback_of(entry) == [
        FeedbackItem(
            timestamp=AT, session_id=ID, feedback_type="message", content=" Do it\n", agent_id="a1", slug="calm-fox",
            tool_use_id=None, denied_by_user=False, reason=None, sidechain=True, rewound=False, uuid="u1",
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    "more", [{"type": "assistant"}, {"type": None}, {"type": "User"}, {"isMeta": True}, {"isCompactSummary": True}]
)
def test_other_entries_hold_no_feedback(more: dict[str, Any]) -> None:
    assert feedback_of(user([failed(), {"type": "text", "text": "Do it"}], **more)) == []


@pytest.mark.parametrize("message", [None, 7, [], {}, {"content": None}, {"content": [None, 3]}, "", {"content": " "}])
def test_a_message_without_text_is_none(message: Any) -> None:
    assert feedback_of(LogEntry({"type": "user", "message": message})) == []


def test_texts_of_a_message_are_joined_by_an_empty_line() -> None:
    content = ["One", {"type": "text", "text": "two"}, {"type": "image"}, {"type": "tool_result", "content": "no"}]
    assert feedback_of(user(content)) == [item("message", "One\n\ntwo")]


@pytest.mark.parametrize(
    "content", [INTERRUPTED, INTERRUPTED_CALL, f"No! {INTERRUPTED}", [{"type": "text", "text": INTERRUPTED}]]
)
def test_a_text_with_the_mark_of_an_interruption_is_one(content: Any) -> None:
    assert feedback_of(user(content)) == [item("interruption", extract_text(content))]


@pytest.mark.parametrize(
    ("text", "is_denied", "reason"),
    [
        ("It failed", False, None),
        (f"{REJECTED}STOP", True, None),
        (f"{REJECTED}{TOLD} never delete\n", True, "never delete"),
        (f"{REJECTED}{TOLD}he said: the user said: x", True, "he said: the user said: x"),
        (INTERRUPTED_CALL, True, None),
        (f"Error: {REJECTED}{TOLD}no", False, None),
    ],
)
def test_a_result_that_is_an_error_is_a_denial(text: str, is_denied: bool, reason: str | None) -> None:
    denial = item("tool_denial", text, tool_use_id="t1", denied_by_user=is_denied, reason=reason)
    assert feedback_of(user([failed(text)])) == [denial]


@pytest.mark.parametrize("mark", [False, None, 1, "true", [True], {}])
def test_only_true_makes_a_result_an_error(mark: Any) -> None:
    assert feedback_of(user([failed(is_error=mark)])) == []


def test_each_error_is_a_denial_and_stands_before_the_text() -> None:
    content = [
        {"type": "text", "text": "Stop it"},
        failed("one"),
        {"type": "tool_result"},
        failed("two", tool_use_id="t2"),
    ]
    assert feedback_of(user(content)) == [
        item("tool_denial", "one", tool_use_id="t1"), item("tool_denial", "two", tool_use_id="t2"), item("message", "Stop it"),
    ]  # fmt: skip


# Of a session


def test_without_any_logs_there_is_no_history(logs: Path) -> None:
    for _ in range(2):
        with pytest.raises(FileNotFoundError) as caught:
            extract(logs)
        assert str(caught.value) == f"History directory not found: {logs / ENCODED}"
        logs.mkdir(exist_ok=True)
    assert collect(logs) == []


def test_items_come_by_their_time_equal_ones_as_in_the_log_unreadable_ones_last(writer: LogWriter, logs: Path) -> None:
    times = {"Fifth": "odd", "Second": AT, "Third": "2026-03-01T10:00:00+01:00", "Sixth": "", "First": "2026-03-01T08:59:59Z",
             "Fourth": "2026-03-01T09:00:00.001Z"}  # fmt: skip
    log = writer.session(ID)
    for text, when in times.items():
        log.user(text, timestamp=when)
    assert said(extract(logs)) == ["First", "Second", "Third", "Fourth", "Fifth", "Sixth"]


@pytest.mark.parametrize("layout", ["nested", "workflow"])
def test_what_agents_were_told_counts_and_is_marked(writer: LogWriter, logs: Path, layout: Layout) -> None:
    session = writer.session(ID).user("What a person said")
    agent = session.agent("Look at all files", layout=layout, agentId="a1")
    agent.agent("Look at the rest", layout=layout, agentId="a2").assistant(("Bash", {})).deny("Not now")
    assert [(each.content, each.agent_id, each.sidechain) for each in extract(logs)] == [
        ("What a person said", None, False), ("Look at all files", "a1", True), ("Look at the rest", "a2", True),
        (f"{REJECTED}{TOLD}Not now", "a2", True),
    ]  # fmt: skip


def test_what_agents_were_told_in_the_log_of_their_session_is_marked(writer: LogWriter, logs: Path) -> None:
    writer.session(ID).user("What a person said").agent("Look at all files", layout="inline").done("Seen.")
    assert [(each.content, each.sidechain, each.rewound) for each in extract(logs)] == [
        ("What a person said", False, False), ("Look at all files", True, False),
    ]  # fmt: skip


def test_what_was_copied_into_a_second_session_is_collected_once(writer: LogWriter, logs: Path) -> None:
    first = writer.session(ID).user("Said in the first").assistant("Yes")
    second = writer.session(SECOND_ID)
    second.path.write_bytes(first.path.read_bytes().replace(ID.encode(), SECOND_ID.encode()))
    second.user("Said in the second")
    assert sorted(said(collect(logs))) == ["Said in the first", "Said in the second"]
    assert said(extract(logs)) == ["Said in the first"]
    assert said(extract(logs, SECOND_ID)) == ["Said in the first", "Said in the second"]


def test_two_entries_of_one_uuid_cost_one_warning_and_no_text(
    writer: LogWriter, logs: Path, warnings: Warnings
) -> None:
    log = writer.session(ID).user("First").user("One text", uuid="u")
    log.user("Another text", uuid="u", parentUuid=json.loads(log.path.read_bytes().splitlines()[0])["uuid"])
    log.user("One text", uuid="u").user("Last", parentUuid="u")
    assert Counter(said(extract(logs))) == dict.fromkeys(["First", "One text", "Another text", "Last"], 1)
    assert warnings() == [f"{ENCODED}/{ID}.jsonl, line 3: an entry before it has the same uuid"]


# What was taken back


def rewound(logs: Path) -> list[str]:
    return [each.content for each in extract(logs) if each.rewound]


def test_what_was_taken_back_is_kept_and_marked(writer: LogWriter, logs: Path) -> None:
    log = (
        writer.session(ID)
        .user("First")
        .assistant("Yes")
        .user("Old")
        .assistant(("Bash", {}))
        .deny("Old reason")
        .rewind()
    )
    log.user("New").assistant("Good")
    assert said(extract(logs)) == ["First", "Old", f"{REJECTED}{TOLD}Old reason", "New"]
    assert rewound(logs) == ["Old", f"{REJECTED}{TOLD}Old reason"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_denials_of_calls_at_once_are_not_taken_back(writer: LogWriter, logs: Path, order: tuple[int, ...]) -> None:
    log = writer.session(ID).user("Clean up").assistant(*[("Bash", {"command": "rm"})] * 3)
    calls = list(log.calls)
    for number in order:
        log.result(f"{REJECTED}{TOLD}no {number}", calls[number], is_error=True)
    log.assistant("As you like.")
    assert [each.reason for each in extract(logs)] == [None, *(f"no {number}" for number in order)]
    assert rewound(logs) == []


def test_what_was_said_before_a_compaction_is_not_taken_back(writer: LogWriter, logs: Path) -> None:
    writer.session(ID).user("First").assistant("Yes").compact("In short: first").user("After").assistant("Good")
    assert (said(extract(logs)), rewound(logs)) == (["First", "After"], [])


# Odd things cost nothing but themselves


@pytest.mark.parametrize("seed", range(8))
def test_nothing_that_a_person_typed_is_lost(logs: Path, seed: int) -> None:
    for log in grown(logs / ENCODED, seed, turns=15):
        if not log.path.exists():
            continue
        entries = [entry for entry in entries_of(log.path.read_bytes()) if entry.type == "user"]
        texts = [extract_text(entry.content) for entry in entries if not (entry.is_meta or entry.is_summary)]
        wanted = Counter(text for text in texts if not is_trivial(text))
        found = Counter(each.content for each in extract(logs, log.session_id) if each.feedback_type != "tool_denial")
        assert wanted <= found


@pytest.mark.parametrize("seed", range(4))
def test_each_item_is_collected_once_newest_session_first(logs: Path, seed: int, warnings: Warnings) -> None:
    found = [log for log in grown(logs / ENCODED, seed) if log.path.exists()]
    newest = [each for log in reversed(found) for each in extract(logs, log.session_id)]
    assert collect(logs) == newest
    assert warnings() == []


def sample(logs: Path) -> Log:
    log = LogWriter(logs / ENCODED).session(ID).user("First").assistant(("Bash", {}), ("Read", {})).deny("never")
    log.user("Old").assistant("Done").rewind().user("Rather this").parallel(2).assistant("Good")
    log.agent("Look at all files").agent("Look at the rest", meta=True).done("Seen.").done("Seen.")
    return log.user("Last")


@pytest.mark.parametrize("name", hostile_lines())
def test_an_odd_line_anywhere_costs_one_warning_at_most(
    logs: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    log = sample(logs)
    expected, line = extract(logs), hostile_lines()[name]
    own = [text for each in entries_of(line) for text in said(feedback_of(each))]
    for path in [log.path, *log.writer.folder.rglob("agent-*.jsonl")]:
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        for at in {0, 1, len(lines) // 2, len(lines)}:
            path.write_bytes(b"".join([*lines[:at], line + b"\n", *lines[at:]]))
            caplog.clear()
            assert [each for each in collect(logs) if each.content not in own] == expected
            assert len(caplog.records) <= 1
        path.write_bytes(whole)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=8), values, max_size=3),
    max_leaves=8,
)
KEYS = [
    "type", "message", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "agentId", "timestamp", "isMeta", "isSidechain",
    "cwd", "teamName", "slug", "customTitle", "sourceToolAssistantUUID",
]  # fmt: skip


def is_odd(entry: dict[str, Any]) -> bool:
    """Whether an entry means nothing: says nothing, and names no folder, no session and no place in the tree."""
    is_spoken = entry.get("type") in ("user", "assistant")
    is_placed = entry.get("uuid") and "parentUuid" in entry and isinstance(entry["parentUuid"], str | None)
    is_told = isinstance(entry.get("cwd"), str) or isinstance(entry.get("sessionId"), str)
    return not (is_told or (is_spoken and is_placed) or feedback_of(LogEntry(entry)))


ODD = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(KEYS, JSON) | {"type": st.sampled_from(["user", "assistant", "system"]) | JSON}
).filter(is_odd)


@settings(max_examples=20)
@given(st.data())
def test_an_odd_entry_anywhere_changes_nothing(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    logs = tmp_path_factory.mktemp("odd") / "projects"
    log = sample(logs)
    expected = extract(logs)
    path = data.draw(st.sampled_from([log.path, *sorted(log.writer.folder.rglob("agent-*.jsonl"))]))
    lines = path.read_bytes().splitlines()
    odd = data.draw(ODD)
    lines.insert(data.draw(st.integers(0, len(lines))), json.dumps(odd).encode())
    path.write_bytes(b"\n".join(lines))
    assert collect(logs) == extract(logs) == expected


@settings(max_examples=15)
@given(st.permutations(range(12)), st.integers(0, 11))
def test_whatever_the_order_of_a_log_no_item_is_lost(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], cut: int
) -> None:
    logs = tmp_path_factory.mktemp("order") / "projects"
    log = sample(logs)
    expected = [replace(each, rewound=False) for each in extract(logs)]
    lines = log.path.read_bytes().splitlines()
    mixed = [lines[number] for number in order if number < len(lines)] + lines[12:]
    entries = [json.loads(line) for line in mixed]
    entries[cut]["parentUuid"] = entries[-cut]["uuid"]
    log.path.write_bytes(b"\n".join(map(rendered, entries)))
    found = [replace(each, rewound=False) for each in extract(logs)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


ODD_FILES: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a folder": os.mkdir,
    "a link to /etc": lambda path: path.symlink_to("/etc"),
    "a link to a file": lambda path: path.symlink_to("/etc/passwd"),
    "nothing in it": lambda path: path.touch(),
    "zeros": lambda path: path.write_bytes(b"\0" * 5000),
    "no JSON": lambda path: path.write_bytes(b"odd\n"),
}


@pytest.mark.parametrize("place", [f"{SECOND_ID}.jsonl", f"{ID}/subagents/agent-x.jsonl", f"{ID}/subagents"])
@pytest.mark.parametrize("name", ODD_FILES)
def test_an_odd_file_costs_one_warning_at_most(logs: Path, warnings: Warnings, name: str, place: str) -> None:
    log = sample(logs)
    path = log.writer.folder / place
    if path.name == "subagents":
        shutil.rmtree(path)
    expected = extract(logs)
    path.parent.mkdir(exist_ok=True)
    ODD_FILES[name](path)
    assert collect(logs) == expected
    is_refused = name.startswith(("a FIFO", "a folder", "a link")) and path.suffix == ".jsonl"
    assert is_refused <= len(warnings()) <= 1


@pytest.mark.parametrize("name", ["a FIFO", "a folder", "a link to /etc", "a link to a file"])
def test_a_session_whose_log_cannot_be_read_is_told_of_and_keeps_its_agents(
    logs: Path, warnings: Warnings, name: str
) -> None:
    log = sample(logs)
    expected = [each for each in extract(logs) if each.agent_id]
    log.path.unlink()
    ODD_FILES[name](log.path)
    told: list[tuple[str, str]] = []
    assert collect(logs, failed=lambda session_id, error: told.append((session_id, error.code))) == expected != []
    assert [session_id for session_id, _ in told] == [ID]
    assert warnings() == []
    assert collect(logs) == expected
    assert [each.partition(": ")[0] for each in warnings()] == [f"Failed to extract from {ID}"]
    with pytest.raises(FileToolsError):
        extract(logs)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_what_may_not_be_read_costs_a_warning_each(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logs = tmp_path / "mine" / "projects"
    log = sample(logs)
    expected = extract(logs)
    shutil.copytree(log.writer.folder / ID, log.writer.folder / SECOND_ID).joinpath("subagents").chmod(0)
    (log.writer.folder / ID / "subagents" / "agent-x.jsonl").touch(mode=0)
    (log.writer.folder / f"{SECOND_ID}.jsonl").touch(mode=0)

    def look() -> None:
        assert collect(logs) == expected
        assert len(caplog.records) == 3

    as_nobody(tmp_path / "mine", look)


# Other projects


def test_a_session_of_another_project_in_the_same_folder_is_left_out_with_its_agents(
    writer: LogWriter, logs: Path
) -> None:
    writer.session(ID).user("What a person said")
    other = LogWriter(writer.folder, seed=1, cwd="/home/me/code-app").session(SECOND_ID).user("Of another project")
    other.agent("Of an agent of another project")
    assert said(collect(logs)) == ["What a person said"]
    assert extract(logs, SECOND_ID) == []
    assert said(list(collect_feedback("/home/me/code-app", logs=logs))) == said(
        extract_feedback(SECOND_ID, "/home/me/code-app", logs=logs)
    )


def test_logs_of_work_trees_are_collected_if_they_are_named(writer: LogWriter, logs: Path) -> None:
    writer.session(ID).user("In the main tree")
    LogWriter(logs / "-home-me-fix", cwd="/home/me/fix").session(SECOND_ID).user("In another tree")
    assert said(collect(logs)) == ["In the main tree"]
    assert sorted(said(collect(logs, worktrees=["/home/me/fix"]))) == ["In another tree", "In the main tree"]
    assert said(extract_feedback(SECOND_ID, PROJECT, logs=logs, worktrees=["/home/me/fix"])) == ["In another tree"]


def test_a_session_of_which_beginning_and_end_tell_nothing_is_collected(writer: LogWriter, logs: Path) -> None:
    log = writer.session(ID)
    odd = b'{"type":"some-new-kind","payload":"' + b"x" * 100_000 + b'"}'
    for _ in range(12):
        log.line(odd)
    log.user("In the middle").line(odd)
    assert said(collect(logs)) == ["In the middle"]


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
