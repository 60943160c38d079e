from __future__ import annotations

import pytest

from tests.support.terminal import CommandLine

NO_VERSION = "sha256:" + "0" * 64


def test_write_refuses_another_version_with_3(run: CommandLine) -> None:
    done = run("write", "notes.md", "--content", "x", "--expected-version", NO_VERSION, "--json")
    assert (done.code, done.json["error_code"]) == (3, "VERSION_MISMATCH")
    assert (run.folder / "notes.md").read_text() == "notes\n"


@pytest.mark.parametrize("path", ["../out.txt", "/tmp/out.txt", ".filetools/journal.db", "link/x"])
def test_write_refuses_paths_out_of_reach_with_5(run: CommandLine, path: str) -> None:
    (run.folder / "link").symlink_to(run.folder.parent)
    done = run("write", path, "--content", "x")
    assert (done.code, done.error.startswith("error ")) == (5, True)
    assert not (run.folder.parent / "x").exists()


def test_write_takes_the_bytes_of_standard_input(run: CommandLine) -> None:
    done = run("write", "new/file.bin", stdin=b"\x00\xff\r\n")
    assert done.lines[0].split() == ["created", "new/file.bin", "4", "bytes"]
    assert (run.folder / "new" / "file.bin").read_bytes() == b"\x00\xff\r\n"


def test_write_expecting_the_version_that_was_read(run: CommandLine) -> None:
    version = run("info", "notes.md", "--json").json["data"]["version"]
    done = run("write", "notes.md", "--from", "src/app.py", "--expected-version", version, "--json")
    assert (done.code, done.json["data"]["replaced_version"]) == (0, version)
    assert (run.folder / "notes.md").read_text() == "one\ntwo\nthree\n"


def test_append_finds_the_root_from_a_folder_inside(run: CommandLine) -> None:
    run("append", "notes.md", "--content", "more\n")
    done = run("append", "app.py", stdin=b"four\n", cwd=run.folder / "src")
    assert done.lines[0].split()[:2] == ["appended", "src/app.py"]
    assert (run.folder / "notes.md").read_text() == "notes\nmore\n"
    assert (run.folder / "src" / "app.py").read_text() == "one\ntwo\nthree\nfour\n"


def test_people_and_agents_are_told_apart(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "1")
    run("write", "a.txt", "--content", "2", "--actor", "alice")
    changes = run("log", "--json").json["data"]["changes"]
    assert [change["actor"] for change in changes] == [
        {"kind": "agent", "id": "alice"},
        {"kind": "editor", "id": "ann"},
    ]


def test_what_others_wrote_is_replaced_by_force_alone_and_stays_a_version(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "one\ntwo\n")
    run("edit", "a.txt", "--old", "two", "--new", "2", "--actor", "alice")
    assert run("write", "a.txt", stdin=b"one\nzwei\n").code == 3
    forced = run("write", "a.txt", "--force", stdin=b"one\nzwei\n")
    assert (forced.code, (run.folder / "a.txt").read_text()) == (0, "one\nzwei\n")
    assert [line.split()[2] for line in run("versions", "a.txt").lines] == ["ann", "alice", "ann"]
    assert run("write", "new.txt", "-f", "--content", "x").code == 0
    assert run("write", "a.txt", "-f", "--content", "x", "--expected-version", "0" * 64).code == 2
