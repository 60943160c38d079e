from __future__ import annotations

import json

from filetools.errors import InvalidPathError
from tests.support.terminal import CommandLine


def test_rm_refuses_a_folder_with_something_in_it(run: CommandLine) -> None:
    done = run("rm", "src")
    assert (done.code, done.error.splitlines()[1]) == (1, "hint: Pass -r to remove the folder with everything in it.")
    assert (run.folder / "src" / "app.py").exists()


def test_rm_refuses_the_root_and_says_so(run: CommandLine) -> None:
    done = run("rm", "-r", ".")
    expected = "error INVALID_PATH: Invalid path '.': it is the root of the workspace; name something in it\n"
    assert (done.code, done.error) == (5, expected + f"hint: {InvalidPathError.action}\n")
    assert (run.folder / "notes.md").exists()


def test_rm_goes_on_after_a_failure_and_fails(run: CommandLine) -> None:
    done = run("rm", "nope", "notes.md", "--json")
    assert [json.loads(line)["success"] for line in done.lines] == [False, True]
    assert (done.code, (run.folder / "notes.md").exists()) == (1, False)
    assert len(run("rm", "nope", "../nope", "--json", "--root", str(run.folder / "src")).lines) == 2


def test_links_that_may_be_followed_are_removed_as_links(run: CommandLine) -> None:
    for name, target in (("lost", "nope"), ("gone", "nope"), ("linked", "src")):
        (run.folder / name).symlink_to(target)
    for line in (("rm", "lost", "linked"), ("call", "delete_file", '{"path": "gone", "recursive": true}')):
        assert run(*line, more={"FILETOOLS_FOLLOW_SYMLINKS": "true"}).code == 0
    assert {each.name for each in run.folder.iterdir()} == {".filetools", "notes.md", "src"}


def test_rm_removes_folders_when_asked(run: CommandLine) -> None:
    assert run("rm", "-r", "src").lines == ["deleted   src  2 entries"]
    assert not (run.folder / "src").exists()


def test_mv_refuses_to_replace_unless_forced(run: CommandLine) -> None:
    assert run("mv", "notes.md", "src/app.py").code == 1
    assert run("mv", "-f", "notes.md", "src/app.py").lines == ["moved     notes.md → src/app.py"]
    assert (run.folder / "src" / "app.py").read_text() == "notes\n"


def test_mv_into_a_folder_keeps_the_name(run: CommandLine) -> None:
    run("mv", "notes.md", "src")
    run("mv", "src/app.py", "new/")
    assert [(run.folder / each).exists() for each in ("src/notes.md", "new/app.py")] == [True, True]
    assert run("mv", "src/notes.md", "src").lines == ["unchanged src/notes.md"]


def test_cp_refuses_to_replace_unless_forced(run: CommandLine) -> None:
    done = run("cp", "notes.md", "src/app.py", "--json")
    assert (done.code, done.json["error_code"]) == (1, "FILE_EXISTS")
    assert run("cp", "-f", "notes.md", "src/app.py").code == 0
    assert (run.folder / "src" / "app.py").read_text() == (run.folder / "notes.md").read_text()


def test_mkdir_refuses_where_a_file_stands_and_makes_parents(run: CommandLine) -> None:
    assert run("mkdir", "notes.md").code == 1
    assert run("mkdir", "a/b").lines == ["made      a/b/"]
    assert run("mkdir", "a/b").lines == ["exists    a/b/"]
    assert (run.folder / "a" / "b").is_dir()
