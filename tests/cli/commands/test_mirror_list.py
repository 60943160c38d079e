"""Mirrors that a root remembers, as people manage them; each command is a process of its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.crashing import grow, snapshot
from tests.support.terminal import CommandLine


def listed(run: CommandLine) -> list[tuple[str, bool, str, int]]:
    """Return name, added, state and paths behind of each mirror."""
    found: list[dict[str, Any]] = run("mirror", "--json").json["data"]["mirrors"]
    return [(Path(each["path"]).name, each["added"], each["state"], each["behind"]) for each in found]


def test_a_folder_that_is_something_else_is_refused(run: CommandLine) -> None:
    grow(run.folder.parent, {"full/theirs": b"1"})
    done = run("mirror", "add", "../full")
    assert (done.code, done.error.startswith("error INVALID_ARGUMENT"), "--adopt" in done.error) == (2, True, True)
    assert (snapshot(run.folder.parent / "full"), listed(run)) == ({"theirs": b"1"}, [])


@pytest.mark.parametrize("words", ["add", "remove", "list ../backup", "remove ../backup --adopt", "change ../backup"])
def test_words_that_do_not_go_together_are_refused(run: CommandLine, words: str) -> None:
    assert run("mirror", *words.split()).code == 2


def test_a_mirror_that_the_root_does_not_have_is_not_removed(run: CommandLine) -> None:
    done = run("mirror", "remove", "../backup")
    assert (done.code, "mirror list" in done.error, (run.folder / ".filetools").exists()) == (2, True, False)
    run("mirror", "add", "../backup")
    assert run("mirror", "remove", "../other").code == 2


def test_an_added_mirror_gets_what_other_commands_write(run: CommandLine) -> None:
    backup = run.folder.parent / "backup"
    assert run("mirror").code == 0
    assert not (run.folder / ".filetools").exists()
    assert run("mirror", "add", "../backup").lines[0].startswith("added ")
    assert snapshot(backup) == snapshot(run.folder)
    assert run("write", "new.txt", "--content", "1", "--json").json["data"]["mirror"] == "in_sync"
    assert run("mv", "src", "moved", "--actor", "alice").code == 0
    assert snapshot(backup) == snapshot(run.folder)
    assert listed(run) == [("backup", True, "attached", 0)]
    assert run("mirror", "add", str(backup)).code == 0  # the same, however it is spelt
    assert run("write", "again.txt", "--content", "1", "--mirror", "../backup").code == 0
    assert (snapshot(backup), listed(run)) == (snapshot(run.folder), [("backup", True, "attached", 0)])


def test_a_mirror_that_is_only_named_is_there(run: CommandLine) -> None:
    run("write", "new.txt", "--content", "1", "--mirror", "../backup")
    (found,) = run("mirror", "--json").json["data"]["mirrors"]
    assert (found["state"], found.get("reason"), found["added"]) in [
        ("filling", None, False),
        ("attached", None, False),
    ]
    run("sync", "--mirror", "../backup")
    assert listed(run) == [("backup", False, "attached", 0)]
    (run.folder.parent / "backup").rename(run.folder.parent / "disk")
    assert listed(run) == [("backup", False, "away", 0)]


def test_while_the_folder_is_away_changes_wait_for_it_and_reach_it_with_the_next_command(run: CommandLine) -> None:
    backup, disk = run.folder.parent / "backup", run.folder.parent / "disk"
    run("mirror", "add", "../backup")
    backup.rename(disk)
    former = snapshot(disk)
    assert run("write", "new.txt", "--content", "1", "--json").json["data"]["mirror"] == "pending"
    state = run("status", "--json").json["data"]["mirrors"]["mirror"]
    assert (state["state"], state["behind"], "not there" in state["last_error"]) == ("not_ready", 1, True)
    assert listed(run) == [("backup", True, "away", 1)]
    doctor = [each for each in run("doctor", "--json").json["data"]["checks"] if each["name"] == "mirror"]
    assert [(each["state"], "its folder is not there" in each["text"]) for each in doctor] == [("warning", True)]
    backup.mkdir()  # where the disk goes
    assert run("rm", "notes.md", "--json").json["data"]["mirror"] == "pending"
    assert (snapshot(backup), snapshot(disk), listed(run)) == ({}, former, [("backup", True, "away", 2)])
    for command in ("sync", "mirror", "doctor"):
        told = run(command)
        told_all = told.text + told.error
        assert ("mirror add" in told_all, "not there" in told_all, "Wait" in told_all) == (True, False, False), command
    backup.rmdir()
    disk.rename(backup)
    assert run("write", "last.txt", "--content", "1", "--json").json["data"]["mirror"] == "in_sync"
    assert (snapshot(backup), listed(run)) == (snapshot(run.folder), [("backup", True, "attached", 0)])
    assert [each["state"] for each in run("doctor", "--json").json["data"]["checks"] if each["name"] == "mirror"] == [
        "ok"
    ]


def test_adopting_makes_a_folder_equal_and_keeps_what_it_loses(run: CommandLine) -> None:
    full = run.folder.parent / "full"
    grow(full, {"notes.md": b"theirs", "theirs.txt": b"only theirs"})
    assert run("mirror", "add", "../full", "--adopt").code == 0
    assert snapshot(full) == snapshot(run.folder)
    for path, text in (("notes.md", "theirs"), ("theirs.txt", "only theirs")):
        versions = run("versions", path, "--json").json["data"]["versions"]
        texts = [run("read", path, "--version", each["version"]).text for each in versions]
        assert any(text in each for each in texts)


def test_a_removed_mirror_keeps_its_files_and_gets_nothing_more(run: CommandLine) -> None:
    backup = run.folder.parent / "backup"
    run("mirror", "add", "../backup")
    former = snapshot(backup)
    done = run("mirror", "remove", "../backup")
    assert (done.code, "its files stay" in done.text) == (0, True)
    assert run("write", "new.txt", "--content", "1", "--json").json["data"]["mirror"] == "off"
    assert (snapshot(backup), listed(run)) == (former, [])
    again = run("mirror", "add", "../backup").error
    assert "cannot be a mirror: it is, or was, a mirror already" in again
    assert "--adopt" in again


def test_a_root_that_was_copied_leaves_the_mirror_alone_until_it_is_adopted(run: CommandLine) -> None:
    around = run.folder.parent
    backup, place = around / "backup", around / "elsewhere"
    run("mirror", "add", "../backup")
    former = snapshot(backup)
    shutil.copytree(run.folder, place)
    at = ("--root", str(place))
    # What a copy brings is used only once somebody accepts it.
    assert run(*at, "init", cwd=around).code == 0
    assert run(*at, "trust", "--yes", cwd=around).code == 0
    assert run(*at, "write", "new.txt", "--content", "1", "--json", cwd=around).json["data"]["mirror"] == "pending"
    state = run(*at, "status", "--json", cwd=around).json["data"]["mirrors"]["mirror"]
    assert (state["state"], state["behind"], "moved or copied" in state["last_error"]) == ("not_ready", 1, True)
    assert snapshot(backup) == former
    assert "--adopt" in run(*at, "mirror", "add", "backup", cwd=around).error
    assert run(*at, "mirror", "add", "backup", "--adopt", cwd=around).code == 0
    assert snapshot(backup) == snapshot(place)
    assert run("write", "of the first.txt", "--content", "1", "--json").json["data"]["mirror"] == "pending"
    assert listed(run) == [("backup", True, "away", 1)]
    assert snapshot(backup) == snapshot(place)
