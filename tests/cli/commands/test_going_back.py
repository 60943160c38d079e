from __future__ import annotations

from tests.support.terminal import CommandLine

NOTHING = "Nothing to undo among your changes; --of NAME undoes changes of another actor, such as 'external'.\n"


def edit(run: CommandLine, old: str, new: str, *more: str) -> None:
    assert run("edit", "src/app.py", "--old", old, "--new", new, *more).code == 0


def text(run: CommandLine) -> str:
    return (run.folder / "src" / "app.py").read_text()


REFUSED = [
    ("undo --since yesterday", 2, "nor a time such as 12:30, 2026-11-20 or 10m ago\n"),
    ("undo --since 99999999999999d", 2, "nor a time such as 12:30, 2026-11-20 or 10m ago\n"),
    ("undo --call nope", 2, ""),
    ("undo --change 999", 2, ""),
    ("restore nope", 2, "There is no checkpoint 'nope'; there are none yet\n"),
    ("checkpoint --delete nope", 2, ""),
    ("undo 2", 2, "--change 2"),
    ("undo no/such/path", 1, "ls"),
    ("undo src/ap.py", 1, "'src/app.py'"),
    ("undo notes.md", 0, "Nothing to undo.\n"),
]


def test_what_names_nothing_is_refused(run: CommandLine) -> None:
    edit(run, "two", "TWO")
    for line, code, hint in REFUSED:
        done = run(*line.split())
        assert (done.code, hint in done.error) == (code, True), line
    assert text(run) == "one\nTWO\nthree\n"


def test_a_conflict_ends_with_3_shows_both_texts_and_changes_nothing(run: CommandLine) -> None:
    edit(run, "two", "TWO", "--actor", "alice")
    edit(run, "TWO", "Two")
    done = run("undo", "--of", "alice")
    assert (done.code, text(run)) == (3, "one\nTwo\nthree\n")
    assert done.error.splitlines()[:3] == [
        "conflict  src/app.py  others have changed the same place since (line 2) (change 2)", "  now     Two", "  before  two"
    ]  # fmt: skip
    assert "error EDIT_CONFLICT: src/app.py cannot be taken back" in done.error
    dry = run("undo", "--of", "alice", "--dry-run", "--json")
    assert (dry.code, len(dry.json["data"]["conflicts"])) == (3, 1)
    assert run("undo", "--of", "alice", "--since", "10m ago", "--dry-run").error.endswith(
        "\nNothing would be undone.\n"
    )
    assert run("undo", "--of", "alice", "--partial").error.endswith("\nNothing was undone.\n")
    run("write", "b.txt", "--content", "b", "--actor", "alice")
    dry = run("undo", "--of", "alice", "--since", "10m", "--dry-run")
    assert dry.error.endswith("\n1 file would be undone with --partial; nothing was changed.\n")


def test_undo_and_redo_of_the_last_change(run: CommandLine) -> None:
    edit(run, "two", "TWO")
    done = run("undo")
    assert (done.code, done.lines, text(run)) == (0, ["modified  src/app.py"], "one\ntwo\nthree\n")
    assert done.error == "1 file undone; 'filetools redo' reverts this.\n"
    again = run("redo")
    assert (again.code, text(run)) == (0, "one\nTWO\nthree\n")
    assert again.error == "1 file redone; 'filetools undo' reverts this.\n"
    assert run("redo").error == "Nothing to redo.\n"


def test_where_the_environment_names_a_session_only_what_was_done_in_it_is_taken_back(run: CommandLine) -> None:
    own = {"FILETOOLS_SESSION": " run-0123456789ab "}
    run("write", "a.txt", "--content", "a", more=own)
    edit(run, "two", "TWO")
    told = [change["actor"].get("session") for change in run("log", "--json").json["data"]["changes"]]
    assert told == [None, "run-0123456789ab"]
    assert run("undo", more=own).lines == ["deleted   a.txt"]
    assert run("undo", more=own).error == NOTHING
    assert text(run) == "one\nTWO\nthree\n"


def test_a_dry_run_says_what_would_happen(run: CommandLine) -> None:
    edit(run, "two", "TWO")
    run("mv", "notes.md", "docs/notes.md")
    done = run("undo", "--since", "1", "--dry-run")
    assert done.lines == ["moved     docs/notes.md → notes.md", "modified  src/app.py", "removed   docs/"]
    assert done.error == "2 files and 1 folder would be undone; nothing was changed.\n"
    assert text(run) == "one\nTWO\nthree\n"


def test_others_changes_are_reached_by_name_time_and_path(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "a", "--actor", "alice")
    run("write", "b.txt", "--content", "b", "--actor", "bob")
    assert run("undo").error == NOTHING
    assert run("undo", "a.txt", "--of", "*").lines == ["deleted   a.txt"]
    assert run("undo", "--of", "bob", "--since", "10m", "--until", "0s").lines == ["deleted   b.txt"]
    assert run("undo", "--of", "*", "--since", "1970-01-01").error == "Nothing to undo.\n"


def test_an_agent_of_the_command_line_is_bound_to_its_own(run: CommandLine) -> None:
    edit(run, "two", "TWO")
    number = str(run("log", "--json").json["data"]["changes"][0]["number"])
    assert run("undo", "--change", number, "--actor", "alice").code == 2
    assert text(run) == "one\nTWO\nthree\n"


def test_partial_does_the_rest_and_still_ends_with_3(run: CommandLine) -> None:
    edit(run, "two", "TWO", "--actor", "alice")
    run("write", "a.txt", "--content", "a", "--actor", "alice")
    edit(run, "TWO", "Two")
    done = run("undo", "--of", "alice", "--since", "1", "--partial")
    assert (done.code, done.lines) == (3, ["deleted   a.txt"])
    assert "conflict  src/app.py" in done.error


def test_a_restore_that_leaves_what_nobody_knew_ends_with_3(run: CommandLine) -> None:
    (run.folder / ".gitignore").write_text("*.log\n")
    (run.folder / "unseen.log").write_text("seen by nobody\n")
    run("checkpoint", "x")
    (run.folder / ".gitignore").unlink()
    edit(run, "two", "TWO")
    run("checkpoint", "later")
    done = run("restore", "x")
    assert (done.code, text(run)) == (3, "one\ntwo\nthree\n")
    assert b"unknown   unseen.log" in done.raw
    assert (run.folder / "unseen.log").read_text() == "seen by nobody\n"


def test_checkpoints_are_made_listed_restored_and_deleted(run: CommandLine) -> None:
    assert run("checkpoint", "start").lines == ["made      start  2 files, 20 bytes"]
    assert run("checkpoint", "start").code == 2
    edit(run, "two", "TWO", "--actor", "alice")
    run("rm", "notes.md")
    assert run("restore", "start", "--dry-run").error.startswith("2 files would be restored")
    done = run("restore", "start")
    assert done.lines == ["created   notes.md", "modified  src/app.py"]
    assert (text(run), (run.folder / "notes.md").read_text()) == ("one\ntwo\nthree\n", "notes\n")
    run("redo")
    assert not (run.folder / "notes.md").exists()
    assert run("checkpoints", "--json").json["data"]["checkpoints"][0]["name"] == "start"
    assert run("checkpoint", "start", "--delete").lines == ["deleted   start  2 files, 20 bytes"]


def test_a_restore_of_a_part_leaves_the_rest_and_says_links_and_modes(run: CommandLine) -> None:
    (run.folder / "src/link").symlink_to("app.py")
    run("checkpoint", "start")
    edit(run, "two", "TWO")
    run("rm", "notes.md")
    (run.folder / "src").chmod(0o711)
    (run.folder / "src/link").unlink()
    refused = run("restore", "start", "never")
    assert (refused.code, "neither in the checkpoint 'start' nor in the tree" in refused.error) == (2, True)
    assert run("restore", "start", "src/link").lines == ["linked    src/link"]
    assert run("restore", "start", "src").lines == ["modified  src/app.py", "mode      src/"]
    assert not (run.folder / "notes.md").exists()
    assert run("redo").code == 0
    assert ((run.folder / "src").stat().st_mode & 0o777, text(run)) == (0o711, "one\nTWO\nthree\n")
