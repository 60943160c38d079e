from __future__ import annotations

import re
import subprocess

from tests.support.storms.pictures import on_disk
from tests.support.terminal import CommandLine

DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def names(run: CommandLine) -> list[str]:
    return [each["name"] for each in run("checkpoints", "--json").json["data"]["checkpoints"]]


def test_a_bad_name_makes_nothing(run: CommandLine) -> None:
    assert [run("checkpoint", name).code for name in (" ", "x" * 201)] == [2, 2]
    assert names(run) == []


def test_checkpoints_without_a_name_are_listed_with_time_and_size(run: CommandLine) -> None:
    assert run("checkpoints").error == "There are no checkpoints; 'filetools checkpoint' makes one.\n"
    for _ in range(2):
        (line,) = run("checkpoint").lines
        assert re.fullmatch(rf"made      {DATE}( \(2\))?  2 files, 20 bytes", line)
    run("checkpoint", "2026-11-22 12:00:00 (2)")
    run("checkpoint", "named")
    lines = run("checkpoints").lines
    assert [re.sub(r"\d\d:\d\d:\d\d", "T", line).rstrip() for line in lines[3:]] == [
        f"T  {'named':<{len('2026-11-22 12:00:00 (2)')}}  2 files, 20 bytes"
    ]
    assert all(len(line) < 80 for line in lines)


def test_what_shell_and_git_did_to_a_project_is_taken_back_and_done_again(run: CommandLine) -> None:
    git = "git -c user.name=ann -c user.email=ann@example.org"

    def program(script: str) -> None:
        subprocess.run(["sh", "-ec", script], cwd=run.folder, check=True, capture_output=True)

    # Another branch, and what git leaves out: neither has filetools ever heard of.
    program(f"{git} init -q -b main; printf '*.log\n' > .gitignore; {git} add -A; {git} commit -qm first")
    program(f"{git} checkout -qb other; {git} mv src lib; echo other > notes.md; {git} add -A; {git} commit -qm other")
    program(f"{git} checkout -q main; echo noise > build.log; mkdir -p empty/inner; chmod 755 notes.md")
    before = on_disk(run.folder)
    assert run("checkpoint", "before").code == 0
    program(
        "find . -path ./.git -prune -o -path ./.filetools -prune -o -type f ! -name '*.log' -exec sed -i s/o/0/g {} +"
    )
    program(f"rm -r src empty; {git} checkout -qf other; echo new > new.txt")
    after = on_disk(run.folder)
    assert before != after
    assert run("status").code == 0
    assert run("restore", "before").code == 0
    assert on_disk(run.folder) == before
    assert run("redo").code == 0
    assert on_disk(run.folder) == after


def test_status_says_who_changed_what_since_the_last_checkpoint(run: CommandLine) -> None:
    assert run("status").text.count("changed") == 0
    run("checkpoint", "older")
    run("checkpoint", "start")
    assert "Nothing changed since checkpoint 'start'" in run("status").text
    run("edit", "src/app.py", "--old", "two", "--new", "2", "--actor", "alice")
    run("mv", "notes.md", "docs/notes.md")
    (run.folder / "src/app.py").write_text("program\n")
    for number in range(30):
        (run.folder / f"new{number:02}.txt").write_text("x")
    lines = run("status").lines
    at = next(
        number for number, line in enumerate(lines) if line.startswith("33 entries changed since checkpoint 'start'")
    )
    assert lines[at + 1 : at + 4] == [
        "  external  30 added, 1 modified",
        "  ann       1 added, 1 moved",
        "  alice     1 modified",
    ]
    assert (lines[at + 4], lines[-1]) == ("moved     notes.md → docs/notes.md  ann", "… and 13 more")
    assert all(len(line.rstrip()) <= 80 for line in lines)
    told = run("status", "--json").json["data"]["changes"]
    assert (told["total"], len(told["changes"])) == (33, 20)


def test_diff_without_a_path_is_of_the_whole_tree(run: CommandLine) -> None:
    none = run("diff")
    assert (none.code, "You have no checkpoint" in none.error) == (2, True)
    run("checkpoint", "start")
    same = run("diff")
    assert (same.code, same.text, same.error.startswith("No difference since checkpoint 'start'")) == (0, "", True)
    run("edit", "src/app.py", "--old", "two", "--new", "-- 2", "--actor", "alice")
    (run.folder / "notes.md").chmod(0o755)
    (run.folder / "empty").mkdir()
    done = run("diff")
    assert (done.code, done.lines) == (1, [
        "added     empty/",
        "diff --git a/notes.md b/notes.md", "old mode 100644", "new mode 100755",
        "diff --git a/src/app.py b/src/app.py", "--- a/src/app.py", "+++ b/src/app.py", "@@ -1,3 +1,3 @@",
        " one", "-two", "+-- 2", " three",
    ])  # fmt: skip
    assert done.error.startswith("1 added, 1 mode changed, 1 modified since checkpoint 'start'")
    run("checkpoint", "later")
    assert run("diff").code == 0
    assert run("diff", "--since", "start", "--until", "later", "src").lines[0] == "diff --git a/src/app.py b/src/app.py"
    assert run("diff", "--since", "later", "--until", "start", "--json").json["data"]["counts"]["deleted"] == 1


def test_without_a_checkpoint_of_ones_own_nothing_is_compared_by_itself(run: CommandLine) -> None:
    assert run("run", "sh", "-c", "echo x > new").code == 0
    done = run("diff")
    assert (done.code, "You have no checkpoint" in done.error) == (2, True)
    run("mkdir", "folder")
    assert "\nThe newest changes ('filetools log' shows all; " in run("status").text
    assert re.search(r"(?m)^ +\d+  \S+  ann +made +folder/$", run("status").text)
    assert run("diff", "--run", "run-0").error.startswith("error RUN_NOT_FOUND")
    assert run("diff", "--run", "run-0", "--since", names(run)[0]).code == 2
    assert run("diff", "--since", names(run)[0]).code == 1


def test_automatic_checkpoints_hide_no_change(run: CommandLine) -> None:
    run("checkpoint", "mine")
    (run.folder / "before.txt").write_text("x")
    assert run("run", "sh", "-c", "echo x > during.txt").code == 0
    assert [each.split()[1] for each in run("status").lines if each.startswith("added")] == ["before.txt", "during.txt"]
    assert "since checkpoint 'mine'" in run("diff").error


def test_status_and_diff_compare_with_the_state_before_a_run(run: CommandLine) -> None:
    run("run", "sh", "-c", "echo x > first.txt")
    run("run", "--no-checkpoint", "sh", "-c", "echo x > second.txt")
    last, first = (each["id"] for each in run("runs", "--json").json["data"]["runs"])
    assert "2 entries changed since checkpoint 'auto: before run-" in run("status", "--run", first).text
    assert run("diff", "--run", first, "--json").json["data"]["counts"] == {"added": 2}
    assert "began without a checkpoint" in run("diff", "--run", last).error
