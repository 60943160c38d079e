"""What a command leaves in a tree that has no state: nothing if it reads, the state if it changes or makes one."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from filetools.cli.command import COMMANDS
from tests.support.terminal import CommandLine

TEMPORARY = "temporary"
OLD_AND_NEW = ("--old", "one", "--new", "1", "--dry-run")
PATCH = b"--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-notes\n+NOTES\n"
READING: dict[str, Sequence[tuple[str, ...]]] = {
    **dict.fromkeys(("checkpoints", "runs", "status", "trust", "instances", "tools"), ((),)),
    "read": (("notes.md",), ("nope.md",)),
    "ls": (("-R", "-l", "--json"),),
    "info": (("src",),),
    "find": (("nope",),),
    "grep": (("one",),),
    "edit": (("src/app.py", *OLD_AND_NEW),),
    "patch": (("--dry-run",),),
    "log": (("notes.md", "-p"),),
    "versions": (("notes.md",),),
    "diff": ((), ("notes.md",)),
    "who": (("notes.md",),),
    "undo": (("--dry-run",),),
    "redo": (("--dry-run",),),
    "restore": (("nope", "--dry-run"),),
    "mirror": (("list", "--json"), ("remove", "nope")),
    "fd": (("search", "fd:1", "x", "--json"),),
    "project": (("list",),),
    "call": (("grep_files", '{"pattern": "one"}'), ("nope",)),
    "context": ((), ("--prompt",)),
    "history": (("collect",), ("analyze", "--input", "-")),
    "approvals": (("--diff",),),
    "approve": (("approval-0123456789abcdef",),),
    "doctor": ((), ("--repair",)),
}
CHANGING = {
    "demo", "write", "append", "rm", "mv", "cp", "mkdir", "checkpoint", "init", "sync", "run",
    "follow", "mcp", "serve",  # what others do from now on is recorded by these
}  # fmt: skip
LINES = [(command, *arguments) for command, lines in READING.items() for arguments in lines]
FAILING = [
    ("rm", "nope", "../nope"), ("mv", "nope", "a"), ("cp", "nope", "a"), ("edit", "nope", "--old", "one", "--new", "1"),
    ("mkdir", "../a"), ("write", "../a", "--content", "x"),
]  # fmt: skip


def listing(folder: Path) -> list[tuple[str, int, int]]:
    """Return what lies in a folder, with times; in a folder for temporary files only what is left counts."""
    found = [(place.as_posix(), place.lstat()) for place in (folder, *folder.rglob("*")) if place.name != TEMPORARY]
    return sorted((path, status.st_mtime_ns, status.st_size) for path, status in found)


@pytest.fixture
def temporary(run: CommandLine, tmp_path: Path) -> Path:
    """The temporary folder of all processes that are run."""
    place = tmp_path / TEMPORARY
    place.mkdir()
    run.environment["TMPDIR"] = str(place)
    return place


def test_of_every_command_it_is_known_whether_it_only_reads() -> None:
    assert sorted({*READING, *CHANGING}) == sorted(name for commands in COMMANDS.values() for name in commands)


@pytest.mark.parametrize("line", [*LINES, *FAILING], ids=" ".join)
def test_reading_and_a_path_that_is_not_there_leave_nothing_behind(
    run: CommandLine, temporary: Path, tmp_path: Path, line: Sequence[str]
) -> None:
    before = listing(tmp_path)
    done = run(*line, stdin=PATCH)
    assert "Traceback" not in done.error
    assert listing(tmp_path) == before


@pytest.mark.parametrize("line", [("ls",), ("status",)], ids=" ".join)
def test_a_state_directory_that_is_not_there_is_not_made_by_reading(
    run: CommandLine, temporary: Path, tmp_path: Path, line: Sequence[str]
) -> None:
    before = listing(tmp_path)
    assert run(*line, "--state-dir", str(tmp_path / "state")).code == 0
    assert listing(tmp_path) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_reading_that_is_ended_leaves_nothing_behind(
    run: CommandLine, temporary: Path, tmp_path: Path, number: signal.Signals
) -> None:
    for folder in range(40):
        (run.folder / ("long" * 40) / f"{folder}").mkdir(parents=True)
        for file in range(20):
            (run.folder / ("long" * 40) / f"{folder}" / f"{'name' * 30}{file}").touch()
    before = listing(tmp_path)
    with run.started("ls", "-R") as listing_files:
        first = listing_files.output.read(1)  # it waits for the rest to be read: a pipe takes 64 KiB
        assert [*temporary.iterdir()] != []
        os.kill(listing_files.pid, number)
        rest = listing_files.output.read()
        code = listing_files.wait()
    assert (bool(first + rest), listing(tmp_path)) == (True, before)
    assert code == (130 if number == signal.SIGINT else 128 + number)


def test_the_first_change_makes_the_state_and_reading_goes_by_it_from_then_on(
    run: CommandLine, temporary: Path
) -> None:
    asked = run("status")
    assert "There is no state yet; the first change or 'filetools init' creates it." in asked.lines
    assert "There is no state yet" in run("log").error
    state = run("status", "--json").json["data"]
    assert (state["has_state"], state["epoch"], state["position"], state["read_only"]) == (False, None, None, None)
    assert run("write", "new.md", "--content", "new").code == 0
    assert (run.folder / ".filetools/state" / "journal.db").is_file()
    assert "new.md" in run("log").text
    assert run("status", "--json").json["data"]["has_state"] is True
    assert [*temporary.iterdir()] == []


def test_init_makes_the_state_once(run: CommandLine, temporary: Path) -> None:
    place = str(run.folder / ".filetools/state")
    made = run("init", "--json")
    assert (made.code, made.json) == (
        0,
        {"success": True, "data": {"root": str(run.folder), "state": place, "created": True}},
    )
    before = listing(run.folder)
    again = run("init")
    assert (again.code, again.text) == (0, f"unchanged {place}  exists already\n")
    assert run("init", "--json").json["data"]["created"] is False
    assert listing(run.folder) == before
    assert run("log").error == "No change is recorded.\n"


def test_init_takes_a_folder_and_a_state_elsewhere(run: CommandLine, tmp_path: Path) -> None:
    assert run("init", "nope").code == 2
    assert run("init", "notes.md").code == 2
    assert run("init", "src", "--root", "src").code == 2
    state = tmp_path / "state"
    assert run("init", "src", "--state-dir", str(state)).text == f"made      {state}\n"
    assert (run.folder / "src" / ".filetools/state" / "id").read_bytes() == (state / "id").read_bytes()
    assert "unchanged" in run("init", "src", "--state-dir", str(state)).text
    assert "STATE_ELSEWHERE" in run("init", "src").error
    assert not (run.folder / ".filetools").exists()


def test_a_state_of_another_schema_is_refused_and_left_alone(run: CommandLine) -> None:
    assert run("init").code == 0
    place = run.folder / ".filetools/state" / "journal.db"
    with closing(sqlite3.connect(place)) as database:
        database.execute("PRAGMA user_version = 19")
    before = place.read_bytes()
    for line in ("write new.md --content text", "log", "doctor --repair"):
        refused = run(*line.split())
        assert refused.code != 0
        for words in ("STATE_VERSION", "has schema 19", "move the state directory (.filetools) away"):
            assert words in " ".join(refused.error.split()), line
    assert place.read_bytes() == before


def test_init_in_another_root_is_meant_only_by_its_option(run: CommandLine) -> None:
    assert run("init").code == 0
    refused = run("init", cwd=run.folder / "src")
    assert (refused.code, "is inside the root" in refused.error, "--root" in refused.error) == (2, True, True)
    assert run("init", "src").code == 2
    assert not (run.folder / "src" / ".filetools").exists()
    assert run("init", "--root", "src").code == 0
    assert "unchanged" in run("init", "src").text


CHANGES = (("write", "a.txt", "--content", "a"), ("checkpoint",), ("init",))


@pytest.mark.parametrize("change", CHANGES, ids=" ".join)
def test_a_home_folder_is_changed_only_where_it_is_named(
    run: CommandLine, tmp_path: Path, change: Sequence[str]
) -> None:
    before = listing(tmp_path)
    refused = run(*change, cwd=tmp_path)
    assert refused.code == 2
    assert "is your home folder" in refused.error
    assert f"--root {tmp_path}" in refused.error
    assert listing(tmp_path) == before
    assert run(*change, "--root", str(tmp_path), cwd=tmp_path).code == 0
    assert (tmp_path / ".filetools/state" / "journal.db").is_file()
    if change[0] != "init":  # that somebody meant it once does not mean it again
        assert run(*change, cwd=tmp_path).code == 2


def test_init_of_a_home_folder_by_its_path_is_refused(run: CommandLine, tmp_path: Path) -> None:
    for name in (str(tmp_path), "..", "/"):
        assert "rarely meant to be a root" in run("init", name).error
    assert not (tmp_path / ".filetools").exists()


@pytest.mark.parametrize("home", ["link", "", None])
def test_the_home_folder_is_known_however_it_is_told(run: CommandLine, tmp_path: Path, home: str | None) -> None:
    """A link to it is it; without one that can be told, only the whole file system is refused."""
    (tmp_path / "link").symlink_to(tmp_path)
    del run.environment["HOME"]
    if home is not None:
        run.environment["HOME"] = str(tmp_path / home) if home == "link" else home
    assert "is the whole file system" in run("mkdir", "filetools-is-not-to-make-this", cwd=Path("/")).error
    assert run("mkdir", "new", cwd=tmp_path).code == (2 if home == "link" else 0)
    assert run("mkdir", "new").code == 0


@pytest.mark.parametrize(
    "line",
    [
        ("mcp", "."),
        ("serve", ".", "--port", "0"),
    ],
    ids=" ".join,
)
def test_a_server_takes_a_home_folder_only_by_its_whole_path(
    run: CommandLine, tmp_path: Path, line: Sequence[str]
) -> None:
    before = listing(tmp_path)
    refused = run(*line, cwd=tmp_path)
    assert refused.code == 2
    assert ("is your home folder" in refused.error) == (len(line) > 1)
    assert listing(tmp_path) == before


def test_a_client_that_names_a_home_folder_whole_is_served(run: CommandLine, tmp_path: Path) -> None:
    assert run("mcp", str(tmp_path), cwd=tmp_path).code == 0
    assert (tmp_path / ".filetools").is_dir()
