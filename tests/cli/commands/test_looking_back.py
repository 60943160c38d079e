from __future__ import annotations

import filetools
from filetools.models.records import Actor
from tests.support.crashing import QUIET
from tests.support.terminal import CommandLine


def test_what_has_no_lines_or_versions_is_refused(run: CommandLine) -> None:
    run("init")
    assert run("who", "nope.txt").code == 1
    for command in ("diff", "versions", "log"):
        done = run(command, "nope.txt")
        assert (done.code, done.text) == (1, "")
        assert done.error.startswith("error FILE_NOT_FOUND: File not found: nope.txt\n")
    assert run("diff", "src/app.py", "abcdef").error.startswith("error VERSION_GONE: Version abcdef ")
    assert run("versions", "src/app.py").error == "No version of src/app.py is recorded.\n"


def test_who_shows_each_line_with_who_wrote_it_last(run: CommandLine) -> None:
    run("edit", "src/app.py", "--old", "two", "--new", "2\n2b", "--actor", "alice")
    (run.folder / "src" / "app.py").write_text("one\n2\n2b\nthree\nfour\n")
    done = run("who", "src/app.py")
    assert [line[28:] for line in done.lines] == ["1  one", "2  2", "3  2b", "4  three", "5  four"]
    starts = [line[:28].split() for line in done.lines]
    assert [start[:2] for start in starts] == [["before", "1"], ["2", "alice"], [], ["before", "1"], ["3", "external"]]
    assert all(len(line) <= 80 for line in done.lines)
    assert run("who", "src/app.py", "--json").json["data"]["ranges"][1]["actor"] == {"kind": "agent", "id": "alice"}


async def test_who_names_the_runs_of_agents_below_the_lines(run: CommandLine) -> None:
    async with filetools.open(run.folder, settings=QUIET) as files:
        first = await files.runs.begin(prompt="Write \x1b[31mall\nof it")
        agent = files.for_actor(Actor(kind="agent", id="claude", session=first.session))
        await agent.append_file("src/app.py", "four\nfive\n")
        for number in range(3):
            await files.runs.note_turn(first.id, f"Step {number}/3")
        await agent.edit_file("src/app.py", old="one", new="ONE")
        await files.runs.finish(first.id)
        second = await files.runs.begin()
        agent = files.for_actor(Actor(kind="agent", id="claude", session=second.session))
        await agent.edit_file("src/app.py", old="five", new="FIVE")
        await files.runs.finish(second.id)
    lines = run("who", "src/app.py").lines
    assert [line[28:] for line in lines[:5]] == ["1  ONE", "2  two", "3  three", "4  four", "5  FIVE"]
    assert lines[5:] == [
        f"{first.id}  lines 1 (turn 3), 4", "  Write \\x1b[31mall of it", f"{second.id}  lines 5"
    ]  # fmt: skip
    told = [part.get("run") for part in run("who", "src/app.py", "--json").json["data"]["ranges"]]
    prompt = "Write \x1b[31mall of it"
    assert told == [
        {"id": first.id, "turn": 3, "prompt": prompt}, None, {"id": first.id, "prompt": prompt},
        {"id": second.id, "prompt": ""},
    ]  # fmt: skip


def test_tabs_stay_in_a_pipe_and_are_blanks_at_a_terminal(run: CommandLine) -> None:
    (run.folder / "a.py").write_text("if x:\n\treturn 1\n")
    run("edit", "a.py", "--old", "return 1", "--new", "return\x1b[31m 2")
    assert "+\treturn\x1b[31m 2" in run("diff", "a.py").lines
    assert "+       return\\x1b[31m 2" in run.at_terminal("diff", "a.py").text
    assert run("who", "a.py").lines[1].endswith("2  \treturn\\x1b[31m 2")


def test_versions_and_the_difference_of_two_named_by_their_first_digits(run: CommandLine) -> None:
    run("edit", "src/app.py", "--old", "two", "--new", "TWO", "--actor", "alice")
    run("edit", "src/app.py", "--old", "one", "--new", "ONE")
    rows = [line.split() for line in run("versions", "src/app.py").lines]
    assert [(row[2], row[3]) for row in rows] == [("ann", "modified"), ("alice", "modified"), ("external", "found")]
    newest, middle, oldest = (row[4] for row in rows)
    done = run("diff", "src/app.py")
    assert done.code == 1
    last = done.lines
    assert last[:4] == ["--- a/src/app.py", "+++ b/src/app.py", "@@ -1,3 +1,3 @@", "-one"]
    assert "-two" in run("diff", "src/app.py", oldest).lines
    assert "-two" in run("diff", "src/app.py", oldest[:6], middle).lines
    same = run("diff", "src/app.py", newest)
    assert (same.code, same.error) == (0, "No difference.\n")
