"""The examples in documents: found, run in a folder, and compared with what the document says they print.

A `python` block runs with the names of those above it on the page; `await` works as in a coroutine. A `text` block right
below it is what it prints. A `console` block holds commands after `$ ` and what they print. In what is printed, `…`
stands for any text within a line, and a line of nothing else for any lines.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support import command_client
from tests.support.terminal import Server

_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ANYTHING: Final = "…"
_COMMANDS: Final = frozenset({"filetools", "echo", "printf", "mkdir", "cat", "cd", "sed", "rm"})
"""What a console block may run."""
_SECONDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    is_next: bool
    """Whether only blank lines stand between it and the block before."""
    line: int


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(page):
        is_next = bool(found) and not page[end : match.start()].strip()
        line = page.count("\n", 0, match.start()) + 1
        found.append(Block(language=match[1], text=match[2], is_next=is_next, line=line))
        end = match.end()
    return found


class Shell:
    """Where console blocks run: `filetools` is there, started through a `command_server`. Lives as long as that."""

    def __init__(self, server: Server, folder: Path) -> None:
        """Make the command.

        Args:
            server: Starts the processes.
            folder: For the command itself.
        """
        self._descriptor = server.descriptor
        self._folder = folder
        command = folder / "filetools"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -SE "{command_client.__file__}" "$@"\n')
        command.chmod(0o700)

    def run(self, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a command line in a folder; what it wrote to both streams is its output."""
        return subprocess.run(
            command, shell=True, cwd=folder, env=self._environment(folder), check=False, text=True, timeout=_SECONDS,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=(self._descriptor,),
        )  # fmt: skip

    def _environment(self, folder: Path) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FILETOOLS_")}
        kept |= {
            "HOME": str(folder),
            "NO_COLOR": "1",
            "COLUMNS": "80",
            "LC_ALL": "C.UTF-8",
            "FILETOOLS_DURABILITY": "relaxed",
        }
        path = os.pathsep.join((str(self._folder), kept.get("PATH", "")))
        return {**kept, "PATH": path, command_client.VARIABLE: str(self._descriptor)}


def run_page(page: str, folder: Path, shell: Shell) -> None:
    """Run all examples of a page, in order, in a folder that is the working folder already.

    Raises:
        AssertionError: An example printed something else than the page says, or a command failed without saying so.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks(page):
        if block.language == "python":
            printed = run_python(block.text, names, f"<example in line {block.line}>")
        elif block.language == "console":
            run_console(block.text, folder, shell)
        elif block.language == "text" and block.is_next and printed is not None:
            assert_matches(printed, block.text)
        if block.language != "python":
            printed = None


def run_python(source: str, names: dict[str, Any], title: str) -> str:
    """Run a block, which may await, and return what it printed."""
    code = compile(source, title, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(_awaited(code, names))
        else:
            exec(code, names)
    return printed.getvalue()


async def _awaited(code: Any, names: dict[str, Any]) -> None:
    # Evaluating code that awaits gives a coroutine, which its loop must own.
    await eval(code, names)


def run_console(text: str, folder: Path, shell: Shell) -> None:
    """Run the commands of a console block and compare what they print."""
    for command, expected in commands(text):
        assert _programs(command) <= _COMMANDS, command
        done = shell.run(command, folder)
        assert_matches(done.stdout, expected)
        says_so = "error " in expected or '"error_code":' in expected
        assert done.returncode == 0 or says_so, f"{command}: exit code {done.returncode}"


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with what it is said to print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def assert_matches(printed: str, expected: str) -> None:
    """Compare what was printed with what the page says, blanks at the ends of lines aside."""
    pattern = _pattern(expected)
    tidy = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    assert re.fullmatch(pattern, tidy), f"the page says:\n{expected}\nbut it printed:\n{printed}"


def _pattern(expected: str) -> str:
    lines = expected.rstrip().splitlines()
    return "".join(
        r"(?:.*\n)*?"
        if line.strip() == _ANYTHING
        else ".*?".join(map(re.escape, line.rstrip().split(_ANYTHING))) + "\n"
        for line in lines
    )


def _programs(command: str) -> set[str]:
    """Return the first words of a pipeline."""
    return {part.split()[0] for part in re.split(r"\|\|?|&&|;", re.sub(r"'[^']*'", "''", command))}
