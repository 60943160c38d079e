from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.cli.terminal import envelope_of, exit_code, hint_of, sentence_of
from filetools.errors import (
    BatchFailedError,
    EditNotFoundError,
    FileToolsError,
    InvalidArgumentError,
    LockTimeoutError,
    PathNotFoundError,
    PathTraversalError,
    VersionMismatchError,
)
from tests.support.crashing import QUIET
from tests.support.terminal import CommandLine

OF_PYTHON = re.compile(r"\w+=(?:[Tt]rue|None)|\b(?:next_|expected_)\w+|\b[a-z]+_(?:file|files|lines|changes)\b|\w\(\)")


ALICE = Actor(kind="agent", id="alice")
ANN = Actor(kind="editor", id="ann")


def code_of(error: FileToolsError) -> int:
    return exit_code(error.code, error.details.get("cause"))


async def make_history(folder: Path) -> None:
    """Name a moment, and have two actors change one line after it."""
    async with filetools.open(folder, settings=QUIET) as files:
        await files.checkpoint("start")
        for actor, old, new in ((ALICE, "two", "2"), (ANN, "2", "3")):
            await files.for_actor(actor).edit_file("src/app.py", [Edit(old=old, new=new)])


def test_a_name_that_is_not_utf_8_is_shown_by_its_byte_and_what_to_do_is_said(run: CommandLine) -> None:
    told = run("read", os.fsdecode(b"caf\xe9")).error
    assert "Invalid path 'caf\\xe9': it is not UTF-8\n" in told
    assert "rename it with another program" in told


def test_of_a_file_that_is_too_large_to_change_the_setting_is_named(run: CommandLine) -> None:
    told = run("append", "notes.md", "--content", "x", more={"FILETOOLS_MAX_WRITE_BYTES": "3"}).error
    assert told.startswith("error FILE_TOO_LARGE: File too large: notes.md has ")
    assert told.endswith("Files over the setting max_write_bytes are not changed.\n")


@pytest.mark.parametrize(
    "line",
    [
        "checkpoint start", "edit notes.md --old= --new x", "edit lines.txt --old same --new x", "grep (?=x", "rm src",
        "read notes.md --version 12", "write .vscode/a --content x", "append notes.md --content x --actor alice",
    ],
)  # fmt: skip
def test_a_refusal_names_commands_and_options_and_nothing_of_python(run: CommandLine, line: str) -> None:
    arguments = line.split()
    (run.folder / "lines.txt").write_text("same\nsame\n")
    (run.folder / "data.bin").write_bytes(b"\0\1a\xff" * 9)
    asyncio.run(make_history(run.folder))
    reading = {"FILETOOLS_PERMISSIONS": "read_only"} if "--actor" in arguments else {}
    done = run(*arguments, more=reading)
    assert done.code != 0
    assert OF_PYTHON.findall(done.error) == []
    told = run(*arguments, "--json", more=reading).json
    assert OF_PYTHON.findall(told["error"] + told.get("suggested_action", "")) == []


def test_options_take_the_place_of_arguments() -> None:
    error = InvalidArgumentError("no", suggested_action="Choose another name, or pass replace=True.")
    assert hint_of(error) == "Choose another name, or pass --replace."
    error = InvalidArgumentError("Edit 1 has an empty old text; use insert_lines or write_file instead")
    assert sentence_of(error).endswith("use 'filetools append' or 'filetools write' instead")


@pytest.mark.parametrize("path", ["read_file.py", "src/write_file", "list_files", "undo_changes-1", "versions()"])
def test_a_path_stays_as_it_is(path: str) -> None:
    assert sentence_of(PathNotFoundError(path)) == f"File not found: {path}"


def test_a_path_out_of_the_root_is_not_blamed_on_its_dots() -> None:
    assert sentence_of(PathTraversalError("../a")) == "'../a' is outside of the workspace"


def test_the_envelope_has_the_same_words() -> None:
    told = envelope_of(EditNotFoundError("a.txt", "The old text was not found"))
    assert (told["error_code"], told["details"]["path"]) == ("EDIT_NOT_FOUND", "a.txt")
    assert "--old" in told["suggested_action"]
    assert envelope_of(FileToolsError("bare"))["suggested_action"] == FileToolsError.action
    assert envelope_of(VersionMismatchError("a", "x", "y"))["retryable"] is False


def test_each_code_has_its_exit_code() -> None:
    expected = {
        1: "INTERNAL SYNC_FAILED A_CODE_OF_LATER",
        2: "INVALID_ARGUMENT",
        3: "VERSION_MISMATCH CHANGED_MEANWHILE",
        4: "LOCK_TIMEOUT",
        5: "APPROVAL_REQUIRED PATH_TRAVERSAL",
    }
    assert {number: {*map(exit_code, codes.split())} for number, codes in expected.items()} == {
        at: {at} for at in expected
    }


def test_a_batch_fails_as_its_cause_does() -> None:
    assert code_of(BatchFailedError(VersionMismatchError("a", "x", "y"))) == 3
    assert code_of(BatchFailedError(LockTimeoutError("a", 30))) == 4


def test_hints_help_with_the_command_that_failed(run: CommandLine) -> None:
    def hint(*arguments: str) -> str:
        return run(*arguments).error.partition("\nhint: ")[2].rstrip("\n")

    version = run("read", "notes.md", "--json").json["data"]["version"]
    assert hint("append", "notes.md", "--content", "x", "--expected-version", "0" * 64) == (
        f"Read the file with 'filetools read', then pass --expected-version {version}."
    )
    assert hint("mkdir", "notes.md").startswith("Choose another path, or move what is there; ")
    assert hint("restore", "nope") == ""
    assert "a terminal outside of 'filetools run'" in hint("approve", "nope")
    assert hint("status", "--state-dir", "/proc/nope") == "Choose a --state-dir in a writable folder."


def test_a_version_is_named_by_four_digits(run: CommandLine) -> None:
    version = run("write", "a.txt", "--content", "a", "--json").json["data"]["version"]
    assert (
        "'880' is not a version; pass one of a read or of 'filetools versions', or at least 4 digits of it"
        in run("read", "a.txt", "--version", "880").error
    )
    for digits in (version[7:11], version[7:25].upper()):
        assert run("read", "a.txt", "--version", digits).code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_output_that_cannot_be_written_is_an_error(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "a")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            (sys.executable, "-m", "filetools", "ls"),
            cwd=run.folder, env=run.environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "error DISK_FULL: Cannot write the output: no space left on device\n")
