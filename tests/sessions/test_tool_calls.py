from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from filetools.sessions.log import Entry, entries_of
from filetools.sessions.tool_calls import LoggedCall, files_touched, tool_calls
from tests.support.agent_logs import PROJECT, Log, LogWriter, grown

Warnings = Callable[[], list[str]]


def entries(log: Log) -> list[Entry]:
    return entries_of(log.path.read_bytes())


def use(name: Any = "Read", call_id: Any = "t1", given: Any = None, **fields: Any) -> Entry:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": {} if given is None else given}
    return Entry({"type": "assistant", "message": {"content": [block]}, **fields}, 7)


def result(content: Any, call_id: Any = "t1", **fields: Any) -> Entry:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}
    return Entry({"type": "user", "message": {"content": [block]}})


def test_a_call_is_told_of_with_its_result(writer: LogWriter) -> None:
    log = writer.session().user("Look").assistant("I look.", ("Read", {"file_path": "a.py"})).result("content")
    call, at = entries(log)[2].blocks[0]["id"], entries(log)[2].timestamp
    assert tool_calls(entries(log)) == [
        LoggedCall(
            name="Read", id=call, input={"file_path": "a.py"}, timestamp=at, session_id=log.session_id, cwd=PROJECT,
            result="content", is_error=False,
        )
    ]  # fmt: skip


def test_calls_come_in_the_order_of_their_times_unreadable_ones_last() -> None:
    times = {
        "a": "odd",
        "b": "2026-03-01T12:00:00Z",
        "c": "2026-03-01T12:00:00+01:00",
        "d": "2026-03-01T12:00:00Z",
        "e": "",
    }
    found = tool_calls([use(call_id=name, timestamp=time) for name, time in times.items()])
    assert [call.id for call in found] == ["c", "b", "d", "a", "e"]


def test_results_are_paired_by_id_wherever_they_stand() -> None:
    log = [result("second", "t2", is_error=True), use(call_id="t1"), use(call_id="t2"), result("other", "t3")]
    assert [(call.result, call.is_error) for call in tool_calls(log)] == [(None, False), ("second", True)]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("text", "text"),
        ([{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}], "one\ntwo"),
        (None, ""),
        (5, ""),
    ],
)
def test_results_of_all_shapes_have_a_text(content: Any, text: str) -> None:
    assert [call.result for call in tool_calls([use(), result(content)])] == [text]


def test_the_first_result_of_a_call_counts() -> None:
    assert [call.result for call in tool_calls([use(), result("first"), result("second")])] == ["first"]


@pytest.mark.parametrize("mark", ["true", 1, None, {}])
def test_only_true_is_an_error(mark: Any) -> None:
    assert [call.is_error for call in tool_calls([use(), result("x", is_error=mark)])] == [False]


@pytest.mark.parametrize(
    "odd", [use(name=None), use(name=3), use(call_id=None), use(call_id=["t"]), use(given=[]), use(given="x")]
)
def test_an_incomplete_call_costs_one_warning_and_itself(odd: Entry, warnings: Warnings) -> None:
    assert [call.id for call in tool_calls([use(call_id="t1"), odd, use(call_id="t2")])] == ["t1", "t2"]
    assert warnings() == ["line 7: a tool call without name, id or input was skipped"]


@pytest.mark.parametrize("call_id", [None, 5, [], {}])
def test_a_result_for_no_call_is_ignored(call_id: Any, warnings: Warnings) -> None:
    assert [call.result for call in tool_calls([use(), result("x", call_id)])] == [None]
    assert warnings() == []


@pytest.mark.parametrize("seed", range(5))
def test_each_call_of_a_log_is_told_of_once(writer: LogWriter, seed: int, warnings: Warnings) -> None:
    for log in grown(writer.folder, seed):
        made = [block["id"] for each in entries(log) for block in each.blocks if block.get("type") == "tool_use"]
        assert sorted(call.id for call in tool_calls(entries(log))) == sorted(made)
    assert warnings() == []


def test_files_that_were_written_are_touched_in_the_order_of_their_first_mention() -> None:
    log = [
        use("Edit", "t1", {"file_path": "b.py"}, cwd="/home/me"),
        use("Write", "t2", {"file_path": "/home/me/x/../a.py"}, cwd="/home/me"),
        use("Write", "t3", {"file_path": "b.py"}, cwd="/home/me"),
        use("NotebookEdit", "t4", {"notebook_path": "n.ipynb"}, cwd="/home/me/notes"),
        use("edit_file", "t5", {"path": "c.py"}),
        use("write_file", "t6", {"path": "d.py", "mode": "append"}),
    ]
    assert list(files_touched(log).items()) == [
        ("/home/me/b.py", "modified"), ("/home/me/a.py", "created"), ("/home/me/notes/n.ipynb", "modified"),
        ("c.py", "modified"), ("d.py", "modified"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "log",
    [
        [use("Read", given={"file_path": "a.py"})],
        [use("Write", given={"content": "x"})],
        [use("Write", given={"file_path": 5})],
        [use("Write", given={"file_path": ""})],
        [use("Write", given={"file_path": "a.py"}), result("no", is_error=True)],
    ],
    ids=["reading", "no path", "a path that is no text", "an empty path", "a call that failed"],
)
def test_other_calls_touch_no_file(log: list[Entry]) -> None:
    assert files_touched(log) == {}
