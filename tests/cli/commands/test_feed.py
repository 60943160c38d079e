from __future__ import annotations

import json

from tests.support.terminal import CommandLine


def test_log_prints_the_newest_changes_first(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "1")
    run("mv", "a.txt", "b.txt")
    lines = [line.split() for line in run("log").lines]
    assert [line[2:] for line in lines] == [["ann", "moved", "a.txt", "→", "b.txt"], ["ann", "created", "a.txt"]]
    assert len(run("log", "-n", "1").lines) == 1
    assert run("log", "src/app.py").lines == []


def test_log_shows_what_each_change_did(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "1\n2\n")
    run("edit", "a.txt", "--old", "2", "--new", "two")
    run("mkdir", "b")
    run("rm", "a.txt")
    lines = run("log", "-p").lines
    parts = [line.split()[2:] if "ann" in line else line for line in lines]
    assert parts == [
        ["ann", "deleted", "a.txt"], "--- a/a.txt", "+++ /dev/null", "@@ -1,2 +0,0 @@", "-1", "-two", "",
        ["ann", "made", "b/"],
        ["ann", "modified", "a.txt"], "--- a/a.txt", "+++ b/a.txt", "@@ -1,2 +1,2 @@", " 1", "-2", "+two", "",
        ["ann", "created", "a.txt"], "--- /dev/null", "+++ b/a.txt", "@@ -0,0 +1,2 @@", "+1", "+2", "",
    ]  # fmt: skip
    changes = run("log", "-p", "--json").json["data"]["changes"]
    assert [each.get("diff", "").count("\n") for each in changes] == [5, 0, 6, 5]


def test_follow_goes_on_after_a_position_and_sees_other_processes_and_programs(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "1")
    position = run("log", "--json").json["data"]["changes"][0]["position"]
    run("write", "b.txt", "--content", "2")
    with run.started("follow", "--since", position, "--json") as process:
        assert _told(process.output.readline()) == ("create", "b.txt", "editor")
        run("append", "b.txt", "--content", "3", "--actor", "alice")
        assert _told(process.output.readline()) == ("modify", "b.txt", "agent")
        (run.folder / "b.txt").write_text("by a stranger\n")
        run("append", "b.txt", "--content", "4")
        told = [_told(process.output.readline()) for _ in range(2)]
        assert told == [("modify", "b.txt", "external"), ("modify", "b.txt", "editor")]


def test_follow_says_when_changes_are_no_longer_known(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "1")
    with run.started("follow", "--since", "abcdef:7") as process:
        assert process.output.readline().endswith(b"a.txt\n")
        process.interrupt()
        assert b"no longer known" in process.error.read()


def _told(line: bytes) -> tuple[str, str, str]:
    told = json.loads(line)
    return told["operation"], told["path"], told["actor"]["kind"]
