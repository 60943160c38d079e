from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from filetools.sessions.log_folders import SessionInfo, list_sessions
from filetools.settings import MIB
from tests.support.agent_logs import ENCODED, INTERRUPTED, PROJECT, Log, LogWriter, hostile_lines

KIB = 1024
ID = "01234567-89ab-4cde-8f01-23456789abcd"


def only(logs: Path) -> SessionInfo:
    (info,) = list_sessions(PROJECT, logs=logs)
    return info


def title(log: Log) -> str:
    return only(log.writer.folder.parent).title


def filled(log: Log, total_bytes: int) -> Log:
    """Fill a log with entries of an assistant."""
    while log.assistant("x" * 2000).path.stat().st_size < total_bytes:
        pass
    return log


# Which, and in which order


def test_a_session_is_told_of_in_full(writer: LogWriter, logs: Path) -> None:
    log = writer.session(branch="main").fact("file-history-snapshot", snapshot={})
    log.user("What a person said", timestamp="2026-03-01T10:00:00+01:00").assistant("Yes")
    log.user("More", cwd=PROJECT + "/src", gitBranch="fix")
    log.fact("last-prompt", lastPrompt="Before").fact("last-prompt", lastPrompt="More").fact("tag", tag="names")
    os.utime(log.path, (5, 1772355600.25))
    assert list_sessions(PROJECT, logs=logs) == [
        SessionInfo(
            session_id=log.session_id, title="What a person said", timestamp="2026-03-01T10:00:00+01:00", last_prompt="More",
            git_branch="fix", cwd=PROJECT, tag="names", size=log.path.stat().st_size, modified=1772355600.25,
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        b"no JSON\n",
        b'{"type":"user"',
        b'{"type":"summary","summary":"x"}\n',
    ],
)
def test_a_log_without_a_usable_entry_is_left_out(writer: LogWriter, logs: Path, content: bytes) -> None:
    log = writer.session().user("What a person said")
    (writer.folder / f"{ID}.jsonl").write_bytes(content)
    assert [info.session_id for info in list_sessions(PROJECT, logs=logs)] == [log.session_id]


def test_the_newest_session_comes_first_those_without_a_time_last(logs: Path) -> None:
    times = {
        "a": "2026-03-01T09:00:00Z",
        "b": "2026-03-01T09:00:00+01:00",  # an hour before
        "c": "odd",
        "d": "2026-03-01T10:00:00.5+01:00",  # half a second after
        "e": "2026-03-01T09:00:00.000",
        "f": "",
        "0": "1960-01-01T00:00:00Z",
    }
    for number, (letter, time) in enumerate(times.items()):
        log = LogWriter(logs / ENCODED).session(letter + ID[1:]).user("What a person said", timestamp=time)
        os.utime(log.path, (number, number))
    assert [info.session_id[0] for info in list_sessions(PROJECT, logs=logs)] == ["d", "a", "e", "b", "0", "c", "f"]


def test_the_time_is_that_of_the_first_entry_that_has_one(writer: LogWriter, logs: Path) -> None:
    log = writer.session().user("One", timestamp=None).user("Two", timestamp=5).user("Three", timestamp="then")
    log.user("Four")
    assert only(logs).timestamp == "then"


@pytest.mark.parametrize("name", hostile_lines())
def test_an_odd_line_first_or_last_changes_nothing(writer: LogWriter, logs: Path, name: str) -> None:
    log = writer.session().user("What a person said").assistant("Yes").fact("tag", tag="names")
    os.utime(log.path, (1, 1))
    before = only(logs)
    whole, line = log.path.read_bytes(), hostile_lines()[name]
    log.path.write_bytes(b'{"type":"system"}\n' + line + b"\n" + whole + line)
    os.utime(log.path, (1, 1))
    after = only(logs)
    assert (after.session_id, after.tag, after.last_prompt) == (before.session_id, before.tag, before.last_prompt)


# Titles


def test_the_last_title_that_a_person_gave_is_the_title(writer: LogWriter) -> None:
    log = writer.session().user("What a person said").fact("custom-title", customTitle="First")
    log.fact("custom-title", customTitle="  The\nsecond ").fact("ai-title", aiTitle="By a model")
    assert title(log) == "The second"


def test_else_the_last_that_a_model_gave(writer: LogWriter) -> None:
    log = writer.session().user("What a person said").fact("ai-title", aiTitle="One").fact("ai-title", aiTitle="Two")
    log.fact("summary", summary="Of another session").fact("custom-title", customTitle=5)
    assert title(log) == "Two"


def test_titles_at_the_end_go_before_those_at_the_beginning(writer: LogWriter) -> None:
    log = writer.session().user("What a person said").fact("custom-title", customTitle="Early")
    filled(log, 200 * KIB)
    assert title(log) == "Early"
    log.fact("ai-title", aiTitle="By a model")
    assert title(log) == "Early"
    log.fact("custom-title", customTitle="Late")
    assert title(log) == "Late"


@pytest.mark.parametrize(
    "write",
    [
        lambda log: log.user("By a program", isMeta=True),
        lambda log: log.user("Of what was before", isCompactSummary=True),
        lambda log: log.user("By an agent", isSidechain=True),
        lambda log: log.user("continue"),
        lambda log: log.user("Caveat: made by a program"),
        lambda log: log.user(INTERRUPTED),
        lambda log: log.user([{"type": "tool_result", "tool_use_id": "x", "content": "a result"}]),
        lambda log: log.line(b"By nobody"),
    ],
)
def test_what_no_person_said_is_no_title(writer: LogWriter, write: Callable[[Log], Log]) -> None:
    assert title(write(writer.session()).user("Real").user("Later")) == "Real"


def test_else_the_first_command_is_the_title(writer: LogWriter) -> None:
    log = writer.session().command("/model").command("/compact").user("continue")
    assert title(log) == "/model"


def test_of_commands_without_an_end_none_is_looked_for_again_and_again(writer: LogWriter) -> None:
    text = "<command-name>" * 50_000  # takes minutes if each beginning is followed to the end
    assert title(writer.session().user(text)) == f"{text[:77]}..."


def test_else_the_first_text_of_a_user(writer: LogWriter) -> None:
    log = writer.session().user([{"type": "text", "text": ""}]).user("By a program", isMeta=True).user("continue")
    assert title(log) == "By a program"


def test_a_title_is_one_line_of_eighty_characters(writer: LogWriter) -> None:
    assert title(writer.session().user("One\n two\u2028three " + "x" * 90)) == "One two three " + "x" * 63 + "..."


def test_what_stands_in_the_input_of_a_tool_is_of_no_session(writer: LogWriter, logs: Path) -> None:
    given = {"customTitle": "Not ours", "gitBranch": "other"}
    writer.session(branch="main").user("What a person said").assistant(("Edit", given))
    assert (only(logs).title, only(logs).git_branch) == ("What a person said", "main")


def test_a_tag_can_be_taken_away(writer: LogWriter, logs: Path) -> None:
    writer.session().user("What a person said").fact("tag", tag="names").fact("tag", tag="")
    assert only(logs).tag == ""


# How much is read


def bytes_read() -> int:
    """Return how many bytes this process has read so far."""
    lines = Path("/proc/self/io").read_text("ascii").split("\n")
    return int(lines[0].removeprefix("rchar: "))


def cost(logs: Path) -> int:
    """Return how many bytes a second listing reads: the first may import modules."""
    list_sessions(PROJECT, logs=logs)
    before = bytes_read()
    list_sessions(PROJECT, logs=logs)
    return bytes_read() - before


needs_counts = pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="needs /proc/self/io")
SLACK = 4 * KIB
"""What asking for the count itself reads, and names of folders."""


@needs_counts
def test_of_a_long_log_the_first_and_the_last_64_kib_are_read(writer: LogWriter, logs: Path) -> None:
    filled(writer.session().user("What a person said"), 3 * MIB)
    assert 128 * KIB <= cost(logs) <= 128 * KIB + SLACK


@needs_counts
def test_up_to_one_mib_is_read_until_a_user_is_met(writer: LogWriter, logs: Path) -> None:
    filled(writer.session(), 3 * MIB)
    assert MIB + 64 * KIB <= cost(logs) <= MIB + 64 * KIB + SLACK


@needs_counts
def test_of_a_short_log_no_byte_is_read_twice(writer: LogWriter, logs: Path) -> None:
    log = filled(writer.session().user("What a person said"), 55 * KIB)
    assert cost(logs) <= log.path.stat().st_size + SLACK


def test_a_prompt_behind_much_else_is_found(writer: LogWriter) -> None:
    log = filled(writer.session(), 900 * KIB).user("The prompt behind much else")
    assert title(filled(log, 2 * MIB)) == "The prompt behind much else"


def test_a_prompt_behind_a_mib_is_not(writer: LogWriter) -> None:
    assert title(filled(writer.session(), 1100 * KIB).user("Too far").assistant("Yes")) == ""


def test_of_a_prompt_of_several_mib_the_beginning_is_the_title(writer: LogWriter) -> None:
    assert title(writer.session().user("Ünï " * MIB).assistant("Yes")) == ("Ünï " * 20)[:77].rstrip() + "..."


@pytest.mark.parametrize("size", [64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 128 * KIB + 1])
def test_no_size_hides_the_beginning_or_the_end(writer: LogWriter, logs: Path, size: int) -> None:
    log = writer.session().user("What a person said")
    end = b'\n{"type":"tag","tag":"names"}\n'
    start = log.path.read_bytes() + b'{"type":"system","content":"'
    log.path.write_bytes(start + b"x" * (size - len(start) - len(end) - 2) + b'"}' + end)
    info = only(logs)
    assert (info.title, info.tag, info.size) == ("What a person said", "names", size)
