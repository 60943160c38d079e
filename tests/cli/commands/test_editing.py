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
