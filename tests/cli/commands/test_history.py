"""`filetools history`: what people told their agents, as data that is clean in every pipe."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from filetools.sessions.log_folders import encode_project_path
from tests.support.agent_logs import LogWriter, write_bulk
from tests.support.terminal import CommandLine

FIRST = "2a000000-0000-4000-8000-000000000001"
SECOND = "2a000000-0001-4000-8000-000000000002"
THIRD = "3b000000-0000-4000-8000-000000000003"
WILD = "Never \x1b[2J\x9b1m use \u202ethat\u2028 naïve 🚀 path"
ITEM = {"timestamp": "", "session_id": "s", "feedback_type": "message", "content": "Never use that path again"}


@pytest.fixture
def writer(run: CommandLine, tmp_path: Path) -> LogWriter:
    """Writes the logs of the working folder, where the command looks for them by default."""
    run.environment.pop("CLAUDE_CONFIG_DIR", None)
    folder = tmp_path / ".claude" / "projects" / encode_project_path(str(run.folder))
    return LogWriter(folder, cwd=str(run.folder))


@pytest.fixture
def logged(run: CommandLine, writer: LogWriter) -> CommandLine:
    """The command line in a project with three sessions."""
    writer.session(FIRST).user("Always run the tests\nbefore you commit").assistant("Yes.")
    writer.session(SECOND).user("Review this, please.").agent("Look at the parser").done("Fine.")
    writer.session(THIRD).user(WILD)
    return run


def contents(items: list[dict[str, Any]]) -> list[str]:
    return [item["content"] for item in items]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (("extract", "9c"), "No session found with prefix '9c'"),
        (("analyze", "--input", "nope"), "nope: No such file or directory"),
        (("analyze", "--input", "no.json"), "no.json: item 1 is not a feedback item: `session_id` is missing"),
        (("collect", "--output", "/dev/null"), "/dev/null: It is not a file"),
        (("extract", "3b", "--output", "notes.md/said.json"), "ROOT/notes.md/said.json: Not a directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_in_one_line(logged: CommandLine, line: tuple[str, ...], told: str) -> None:
    (logged.folder / "no.json").write_text(json.dumps([ITEM, {"timestamp": ""}]))
    (logged.folder / "object.json").write_text("{}")
    before = sorted(logged.folder.rglob("*"))
    done = logged("history", *line)
    assert (done.code, done.raw, done.error) == (1, b"", told.replace("ROOT", str(logged.folder)) + "\n")
    assert sorted(logged.folder.rglob("*")) == before


def test_of_sessions_with_one_prefix_all_are_named(logged: CommandLine) -> None:
    done = logged("history", "extract", "2A")
    assert (done.code, done.raw) == (1, b"")
    assert done.error.splitlines() == [
        "Multiple sessions match prefix '2A'",
        f"{SECOND}  Review this, please.",
        f"{FIRST}  Always run the tests before you commit",
    ]


def test_without_logs_there_is_nothing_to_tell(run: CommandLine) -> None:
    run.environment.pop("CLAUDE_CONFIG_DIR", None)
    assert run("history", "list").text == "No sessions found\n"
    assert run("history", "list", "--format", "json", "--project", "/no/where", "--logs", "/no/where").json == []
    done = run("history", "collect", "--project", "nope")
    assert (done.code, done.raw, done.error) == (0, b"[]\n", "")


def test_sessions_are_listed_by_as_much_of_their_ids_as_tells_them_apart(logged: CommandLine) -> None:
    assert logged("history", "list").text.split("\n") == [
        f"[3b000000] {WILD.replace(chr(0x2028), '')}",
        "[2a000000-0001] Review this, please.",
        "[2a000000-0000] Always run the tests before you commit",
        "",
    ]
    found = json.loads(logged("history", "list", "--format", "json").raw)
    assert [info["session_id"] for info in found] == [THIRD, SECOND, FIRST]
    assert json.loads(logged("--json", "history", "list").raw) == found


def test_a_session_is_extracted_with_its_agents(logged: CommandLine) -> None:
    items = json.loads(logged("history", "extract", SECOND.upper()).raw)
    assert [(item["content"], item["sidechain"]) for item in items] == [
        ("Review this, please.", False),
        ("Look at the parser", True),
    ]
    assert list(items[0]) == [
        "timestamp", "session_id", "feedback_type", "content", "agent_id", "slug", "tool_use_id", "denied_by_user",
        "reason", "sidechain", "rewound", "uuid",
    ]  # fmt: skip


def test_data_goes_through_pipes_whatever_the_locale(logged: CommandLine) -> None:
    logged.environment |= {"LC_ALL": "POSIX", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    collected = logged("history", "collect")
    assert (collected.code, collected.error) == (0, "")
    assert contents(json.loads(collected.raw))[0] == WILD
    assert not {*collected.text} & {*"\x1b\x9b\u202e\u2028"}
    assert logged("history", "analyze", "--input", "-", stdin=collected.raw).text == (
        "total: 3\nfiltered: 3\ncategories:\n  instructions: 2\n  code_review: 1\n"
    )
    found = logged("history", "analyze", "--input", "-", "--format", "json", stdin=collected.raw).json
    assert found == {"total": 3, "filtered": 3, "categories": {"instructions": 2, "code_review": 1}}
    assert logged("history", "rules", "--input", "-", stdin=collected.raw).text == (
        f"1. Always run the tests\n   before you commit\n2. Review this, please.\n3. {WILD}\n"
    )
    rules = json.loads(logged("history", "rules", "--input", "-", "--format", "json", stdin=collected.raw).raw)
    assert rules[2] == {
        "index": 3, "timestamp": rules[2]["timestamp"], "session_id": THIRD, "content": WILD, "count": 1, "duplicates": [],
    }  # fmt: skip


def test_texts_of_logs_cannot_steer_a_terminal(logged: CommandLine) -> None:
    logged("history", "collect", "--output", "said.json")
    for line in (("list",), ("rules", "--input", "said.json"), ("collect",), ("extract", "2a")):
        shown = logged.at_terminal("history", *line).text
        assert not {*shown} & {*"\x1b\x9b\u202e\u2028"}, line
        assert ("\\x1b[2J" in shown) == (line[0] in ("list", "rules")), line


def test_a_reader_that_goes_ends_it_quietly(logged: CommandLine, writer: LogWriter) -> None:
    write_bulk(writer.folder, 2**20, sessions=2)
    for log in writer.folder.glob("*.jsonl"):
        log.write_bytes(log.read_bytes().replace(b"/home/me/code/app", os.fsencode(logged.folder)))
    with logged.started("history", "collect") as process:
        assert process.output.read(1) == b"["
        process.output.close()
        errors = process.error.read().decode().splitlines()
        assert (process.wait(), [line for line in errors if not line.startswith("warning: ")]) == (0, [])


def test_output_in_a_root_is_a_change_that_can_be_undone(logged: CommandLine, tmp_path: Path) -> None:
    assert logged("init").code == 0
    said = logged.folder / "new" / "said.json"
    done = logged("history", "collect", "--output", str(said), "--actor", "alice", cwd=tmp_path)
    assert (done.code, done.raw, done.error) == (0, b"", "")
    assert said.read_bytes() == b"[]\n"  # of the folder that it ran in
    assert logged("history", "collect", "--output", "new/said.json", "--actor", "alice").code == 0
    assert contents(json.loads(said.read_bytes()))[0] == WILD
    newest = logged("log", "--json").json["data"]["changes"][0]
    assert (newest["path"], newest["actor"]["id"]) == ("new/said.json", "alice")
    assert logged("undo", "--of", "alice").code == 0
    assert said.read_bytes() == b"[]\n"
