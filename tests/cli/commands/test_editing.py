from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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


MARK = b"\xef\xbb\xbf"
CHANGES = {
    "CRLF": (b"one\r\ntwo\r\n", b"one\r\n2\r\n"),
    "lone CR": (b"one\rtwo\r", b"one\r2\r"),
    "CR at the end": (b"one\ntwo\r", b"1\ntwo\r"),
    "ESC and separators": ("\x1b[1m\u2028b\nc\x0c\n".encode(), "\x1b[1m\u2028b\nd\x0c\n".encode()),
    "mark": (MARK + b"one\ntwo\n", MARK + b"one\n2\n"),
    "mark and line 1": (MARK + b"one\r\ntwo\r\n", MARK + b"1\r\ntwo\r\n"),
    "mark added": (b"one\ntwo\n", MARK + b"one\ntwo\n"),
    "mark taken": (MARK + b"one\ntwo\n", b"one\ntwo\n"),
    "Latin-1": (b"caf\xe9\nx\n", b"caf\xe9\ny\xe8\n"),
    "Shift-JIS": ("\u65e5\u672c\n\u8a9e\n".encode("shift-jis"), "\u65e5\u672c\n\u6587\n".encode("shift-jis")),
    "converted": (b"caf\xe9\nx\n", "caf\u00e9\nx\n".encode()),
    "end taken": (b"one\ntwo\n", b"one\ntwo"),
    "end added": (b"one\ntwo", b"one\ntwo\n"),
    "lines like heads": (b"-- one\n- \n", b"++ two\n- \n"),
    "filled": (b"", b"one\n"),
}


def test_a_diff_in_a_pipe_is_taken_by_git_and_by_patch(run: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "git"
    subprocess.run(["git", "init", "-q", other], check=True)
    before, after = ({f"{name}.txt": pair[at] for name, pair in CHANGES.items()} for at in (0, 1))
    write(before, run.folder, other)
    run("checkpoint", "start")
    write(after, run.folder)
    made = run("diff").raw
    subprocess.run(["git", "apply", "--whitespace=nowarn"], cwd=other, input=made, check=True)
    write(before, run.folder)
    assert run("patch", stdin=made).error == ""
    for folder in (other, run.folder):
        assert {name: (folder / name).read_bytes() for name in after} == after


def write(contents: dict[str, bytes], *folders: Path) -> None:
    for folder in folders:
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


PREFIXES = {
    "usual": (),
    "mnemonic": ("-c", "diff.mnemonicPrefix=true"),
    "none": ("-c", "diff.noprefix=true"),
    "other": ("-c", "diff.srcPrefix=old/", "-c", "diff.dstPrefix=newer/"),
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_a_diff_of_git_is_taken_whatever_its_names_begin_with(
    run: CommandLine, tmp_path: Path, prefix: tuple[str, ...]
) -> None:
    def git(*arguments: str) -> bytes:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *prefix, *arguments]
        return subprocess.run(command, cwd=tmp_path / "git", capture_output=True, check=True).stdout

    before = {name: old for name, (old, _) in CHANGES.items()} | {
        "gone": b"x\n",
        "b/moved": b"1\n2\n3\n",
        "x": b"1\n",
        "x ": b"1\n",
    }
    after = {name: new for name, (_, new) in CHANGES.items()} | {
        "new": b"n\n",
        "caf\u00e9 b/moved": b"1\n2\n3\n",
        "x": b"1\n",
        "x ": b"2\n",
    }
    write(before, run.folder, tmp_path / "git")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "before")
    for name in before:
        (tmp_path / "git" / name).unlink()
    write(after, tmp_path / "git")
    git("add", "-A")
    assert run("patch", stdin=git("diff", "--cached", "-M", "--binary")).error == ""
    there = {name: (run.folder / name).read_bytes() for name in after}
    assert there == after
    assert not (run.folder / "gone").exists()


def test_a_patch_in_utf_16_is_taken_as_powershell_writes_it(run: CommandLine) -> None:
    patch = "--- a/notes.md\r\n+++ b/notes.md\r\n@@ -1 +1 @@\r\n-notes\r\n+text\r\n"
    assert run("patch", stdin=patch.encode("utf-16")).code == 0
    assert (run.folder / "notes.md").read_bytes() == b"text\n"


def test_a_patch_that_does_not_fit_changes_nothing(run: CommandLine) -> None:
    patch = b"--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-other\n+text\n"
    done = run("patch", stdin=patch)
    assert (done.code, done.error.startswith("error EDIT_NOT_FOUND"), "--old" in done.error) == (1, True, False)
    assert (run("patch", stdin=b"\xff").code, run("patch", "nope.diff").code) == (2, 2)
    assert (run.folder / "notes.md").read_text() == "notes\n"
