"""Completion as the shell asks for it: the script that is installed, run by a real shell, calling the real command."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from filetools.cli.commands.reading import info
from tests.support.declared import REPOSITORY
from tests.support.terminal import CommandLine
from tests.support.unprivileged import as_nobody

BASH = shutil.which("bash")
PATIENCE_SECONDS = 60
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for PATH with the command in it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "filetools"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m filetools "$@"\n')
    command.chmod(0o755)
    return folder


def environment(run: CommandLine, programs: Path) -> dict[str, str]:
    path = os.pathsep.join((str(programs), run.environment["PATH"]))
    return {**run.environment, "PATH": path, "PYTHONPATH": str(REPOSITORY), "PS1": "$ "}


def script(run: CommandLine, programs: Path) -> str:
    asked = subprocess.run(
        ("bash", "--norc", "-c", "_FILETOOLS_COMPLETE=bash_source filetools"),
        cwd=run.folder, env=environment(run, programs), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return asked.stdout


def offered(run: CommandLine, line: str) -> list[str]:
    """Return what the command answers to the script of bash; the last word is the one being typed."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_FILETOOLS_COMPLETE": "bash_complete"}
    done = run(more=asked)
    assert (done.code, done.error) == (0, "")
    return [line.removeprefix("plain,") for line in done.lines if line.startswith("plain,")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can become another")
def test_the_workspace_reports_a_path_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "shut").touch(mode=0)

    def act() -> None:
        assert path_type.convert(str(tmp_path / "shut"), None, None) == str(tmp_path / "shut")

    (path_type,) = (each.type for each in info.params if each.name == "path")
    as_nobody(tmp_path, act)


def test_commands_options_and_choices_are_offered(run: CommandLine) -> None:
    assert offered(run, "filetools re") == ["read", "redo", "restore"]
    assert offered(run, "filetools undo --p") == ["--partial"]
    assert offered(run, "filetools write --durability ") == ["commit", "relaxed"]


def test_values_and_paths_are_left_to_the_shell_and_nothing_is_opened(run: CommandLine) -> None:
    for line in ("restore ", "undo --of ", "read n", "read notes.md --version ", "approve ", "call read_"):
        assert offered(run, f"filetools {line}") == []
    assert not (run.folder / ".filetools").exists()


@needs_bash
def test_the_tabulator_key_completes_a_command_and_a_file(run: CommandLine, programs: Path, tmp_path: Path) -> None:
    (run.folder / "a name with blanks.txt").touch()
    installed = tmp_path / "completion.sh"
    installed.write_text(script(run, programs))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(run.folder)
        os.execvpe("bash", ["bash", "--rcfile", str(installed), "-i"], environment(run, programs))
    try:
        keys(terminal, "echo rea''dy\n", until="ready\r\n")
        keys(terminal, "filetools res\t", until="restore ")
        keys(terminal, "\x15filetools read 'a n\t", until="'a name with blanks.txt'")
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def keys(terminal: int, typed: str, *, until: str) -> None:
    """Type, and wait until the terminal shows something."""
    os.write(terminal, typed.encode())
    shown, deadline = "", time.monotonic() + PATIENCE_SECONDS
    while until not in shown:
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"the terminal shows: {shown!r}"
        shown += os.read(terminal, 4096).decode()
