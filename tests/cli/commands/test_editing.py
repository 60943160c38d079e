from __future__ import annotations

from tests.support.terminal import CommandLine


def test_edit_refuses_what_is_not_there_or_too_often(run: CommandLine) -> None:
    done = run("edit", "src/app.py", "--old", "tow", "--new", "2")
    assert (done.code, "EDIT_NOT_FOUND" in done.error) == (1, True)
    assert run("edit", "src/app.py", "--old", "e", "--new", "E").code == 1
    assert run("edit", "src/app.py", "--old", "two").code == 2
    conflict = run("edit", "src/app.py", "--old", "two", "--new", "2", "--expected-version", "0" * 64)
    assert conflict.code == 3
    assert (run.folder / "src" / "app.py").read_text() == "one\ntwo\nthree\n"


def test_edit_replaces_and_shows_the_hunk(run: CommandLine) -> None:
    dry = run("edit", "src/app.py", "--old", "two", "--new", "2", "--dry-run")
    assert dry.error == "Nothing was written: this is a dry run.\n"
    assert (run.folder / "src" / "app.py").read_text() == "one\ntwo\nthree\n"
    done = run("edit", "src/app.py", "--old", "two", "--new", "2")
    assert done.lines == [
        "modified  src/app.py  1 replaced", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"
    ]  # fmt: skip
    assert run("edit", "src/app.py", "--old", "e", "--new", "E", "--all").lines[0].endswith("3 replaced")


def test_a_diff_of_the_tree_is_a_patch_for_it(run: CommandLine) -> None:
    run("checkpoint", "start")
    run("edit", "src/app.py", "--old", "two", "--new", "2")
    run("write", "new.txt", "--content", "new\n")
    run("mv", "notes.md", "docs/notes.md")
    made = run("diff").raw
    run("restore", "start")
    dry = run("patch", "--dry-run", stdin=made)
    assert (dry.code, dry.error, (run.folder / "new.txt").exists()) == (
        0, "Nothing was written: this is a dry run.\n", False
    )  # fmt: skip
    (run.folder.parent / "made.diff").write_bytes(made)
    done = run("patch", "../made.diff")
    assert (done.code, sorted(done.lines)) == (
        0, ["created   new.txt", "modified  src/app.py", "moved     notes.md → docs/notes.md"]
    )  # fmt: skip
    assert run("diff").raw == made


def test_a_patch_that_does_not_fit_changes_nothing(run: CommandLine) -> None:
    patch = b"--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-other\n+text\n"
    done = run("patch", stdin=patch)
    assert (done.code, done.error.startswith("error EDIT_NOT_FOUND"), "--old" in done.error) == (1, True, False)
    assert (run("patch", stdin=b"\xff").code, run("patch", "nope.diff").code) == (2, 2)
    assert (run.folder / "notes.md").read_text() == "notes\n"
