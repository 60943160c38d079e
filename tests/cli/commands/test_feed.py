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


def _paths(run: CommandLine, *choice: str) -> list[str]:
    return [each["path"] for each in run("log", "--json", *choice).json["data"]["changes"]]


def test_a_log_of_what_never_was_is_refused(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "1")
    refused = {"nope": 1, "--run run-0": 1, "--since yesterday": 2, "--run run-0 --session s": 2, "-n 0": 2}
    for choice, code in refused.items():
        done = run("log", *choice.split())
        assert (done.code, done.text) == (code, ""), choice


def test_log_of_a_folder_shows_what_is_and_was_in_it(run: CommandLine) -> None:
    run("write", "src/a.txt", "--content", "1")
    run("write", "srcs.txt", "--content", "1")
    run("log")  # from now on it is known what is new
    (run.folder / "src" / "b.txt").write_text("by a program")
    assert _paths(run, "src") == ["src/b.txt", "src/a.txt"]
    run("mv", "src", "moved")
    assert _paths(run, "moved") == ["moved"]
    run("rm", "-r", "moved")
    assert _paths(run, "moved") == ["moved", "moved"]
    assert _paths(run, "src") == ["moved", "src/b.txt", "src/a.txt"]
    assert _paths(run, ".") == ["moved", "moved", "src/b.txt", "srcs.txt", "src/a.txt"]


def test_log_shows_the_changes_of_an_actor_a_session_a_run_or_a_time(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "1", "--actor", "alice")
    run("write", "b.txt", "--content", "1", more={"FILETOOLS_SESSION": "s1"})
    run("run", "sh", "-c", "echo x > c.txt")
    run("write", "d.txt", "--content", "1")
    (made,) = run("runs", "--json").json["data"]["runs"]
    assert _paths(run, "--of", "alice") == ["a.txt"]
    assert _paths(run, "--session", "s1") == ["b.txt"]
    assert _paths(run, "--run", made["id"]) == ["c.txt"]
    assert _paths(run, "--run", made["id"], "src") == []
    assert _paths(run, "--since", "1d", "-n", "2") == ["d.txt", "c.txt"]
    assert _paths(run, "--until", "1d") == []
    first = run("log", "--json").json["data"]["changes"][-1]["number"]
    assert _paths(run, "--until", str(first)) == ["a.txt"]


def test_what_a_program_changed_at_one_moment_is_one_line(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "1")
    run("log")  # from now on it is known what is new
    for number in range(30):
        (run.folder / f"{'src' if number % 2 else 'new'}{number:02}.txt").write_text("x")
    (run.folder / "src" / "app.py").write_text("changed\n")
    run("status")
    run("write", "z.txt", "--content", "1")
    rows = [line.split()[2:] for line in run("log").lines]
    assert [row[0] for row in rows] == ["ann", "external", "ann"]
    assert (rows[1][1:6], {*rows[1][6:8]}) == (["30", "created,", "1", "modified", "in"], {".,", "src/"})
    assert len(run("log", "-n", "2").lines) == 2
    assert len(run("log", "-n", "40", "--json").json["data"]["changes"]) == 33


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
