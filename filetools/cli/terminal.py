"""What is written to the terminal: consoles, names made safe to show, errors, envelopes, tables."""

from __future__ import annotations

import json
import logging
import os
import sys
import textwrap
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

import filetools.settings as settings
from filetools.cli.failures import envelope_of, hint_of, sentence_of
from filetools.errors import FileToolsError
from filetools.printable import printable as printable
from filetools.printable import printable_text as printable_text

if TYPE_CHECKING:  # rich takes longer to import than many commands take to work, and what a pipe gets needs none
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

LONGEST_LINE: Final = 100
LEAST_COLUMN: Final = 20
_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def leave_quietly() -> NoReturn:
    """End without a word because the reader has gone, as `head` does once it has seen enough."""
    # Whatever is still buffered would raise once more at exit; it goes nowhere now.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


class Stream:
    """Standard output or error; lives as long as the process. Its console is made when something is drawn on it.

    Args:
        name: "stdout" or "stderr".
    """

    def __init__(self, name: Literal["stdout", "stderr"]) -> None:
        self._name = name

    @cached_property
    def console(self) -> Console:
        """The console."""
        from rich.console import Console

        class Terminal(Console):
            def on_broken_pipe(self) -> None:
                leave_quietly()  # rich itself would end with exit code 1

        return Terminal(stderr=self._name == "stderr", highlight=False, markup=False, emoji=False, soft_wrap=True)

    @property
    def is_terminal(self) -> bool:
        """Whether a terminal shows it, or is told to by the environment."""
        return (getattr(sys, self._name).isatty() or settings.forces_terminal()) and self.console.is_terminal

    @property
    def width(self) -> int:
        """Columns."""
        return self.console.width

    def print(self, *parts: Any, **options: Any) -> None:
        """Print what rich prints, after all that waits to be written to standard output."""
        if self._name == "stderr":
            sys.stdout.flush()
        self.console.print(*parts, **options)


STDOUT: Final = Stream("stdout")
STDERR: Final = Stream("stderr")


def printable_line(text: str) -> str:
    """Return a line of a file, without its end; its tabs stay in a pipe, and at a terminal become blanks."""
    return printable_text(text.expandtabs() if STDOUT.is_terminal else text).replace("\n", "\\n")


def amount(count: int, thing: str, things: str | None = None) -> str:
    """Return a number with its unit, such as "1 byte" or "1,024 bytes"."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def styled(*parts: str | tuple[str, str] | Text) -> Text:
    """Return a text made of parts; a pair is text with its style."""
    from rich.text import Text

    return Text.assemble(*parts)


def print_line(*parts: str | tuple[str, str] | Text) -> None:
    """Print one line to standard output; a pair is text with its style."""
    if STDOUT.is_terminal:
        STDOUT.print(styled(*parts))
        return
    plain = (part if isinstance(part, str) else part[0] if isinstance(part, tuple) else part.plain for part in parts)
    sys.stdout.write(f"{''.join(plain)}\n")  # rich makes blanks of tabs, and of a patch no patch


def print_diff(diff: str) -> None:
    """Print a diff: to a terminal with its lines in their colours, else byte by byte, so that it can be applied."""
    if not STDOUT.is_terminal:
        sys.stdout.flush()
        sys.stdout.buffer.write(diff.encode("utf-8", "surrogateescape"))
        return
    is_head = True
    for line in diff.split("\n")[:-1]:
        is_head = not line.startswith("@@") and (is_head or line.startswith("diff --git "))
        print_line((printable_line(line), "bold" if is_head else _DIFF_STYLES.get(line[:1], "")))


def line_width() -> int:
    """Return how long a line of prose may be; wide terminals are not filled, since long lines are hard to read."""
    return min(STDOUT.width, LONGEST_LINE)


def print_beside(name: Text, text: str, *, start: int, style: str = "") -> None:
    """Print a name and a text beside it, folded in a column of its own; under it, where the name is too long.

    Args:
        name: Taken over: it grows by the text.
        text: One paragraph.
        start: Where the column begins.
        style: Of the text.
    """
    lines = textwrap.wrap(text, max(line_width() - start, LEAST_COLUMN)) or [""]
    if name.cell_len > start - 2:
        STDOUT.print(name)
        name = styled()
    name.pad_right(start - name.cell_len)
    for number, line in enumerate(lines):
        STDOUT.print(styled(name if not number else " " * start, (line, style)))


def print_note(text: str) -> None:
    """Print a remark to standard error, out of the way of what is piped on."""
    if STDERR.is_terminal:
        STDERR.print(styled((printable(text), "dim")))
    else:
        sys.stdout.flush()
        sys.stderr.write(f"{printable(text)}\n")


def print_json(plain: Mapping[str, Any]) -> None:
    """Print one JSON object on one line."""
    sys.stdout.write(json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def print_error(error: FileToolsError, *, as_json: bool = False) -> None:
    """Print an error: as the envelope to standard output, or as a sentence and a hint to standard error."""
    if as_json:
        print_json(envelope_of(error))
        return
    print_refusal(sentence_of(error), hint_of(error), code=f" {error.code}")


def print_refusal(sentence: str, hint: str | None, *, code: str = "") -> None:
    """Print what the command does not do, and what to do instead, to standard error."""
    _complain(("error", "bold red"), f"{code}: {printable_text(sentence)}")
    if hint:
        _complain(("hint", "bold"), f": {printable(hint)}")


def _complain(name: tuple[str, str], text: str) -> None:
    if STDERR.is_terminal:
        STDERR.print(styled(name, text), soft_wrap=False)
    else:  # thousands of warnings would take minutes otherwise
        sys.stderr.write(f"{name[0]}{text}\n")


def print_warnings(warnings: Iterable[Mapping[str, Any]]) -> None:
    """Print warnings of a result to standard error."""
    for warning in warnings:
        text = printable(f" {warning.get('code', '')}: {warning.get('message', '')}")
        _complain(("warning", "bold yellow"), text)


def fact_table() -> Table:
    """Return an empty table of names and values without lines."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def print_table(table: Table) -> None:
    """Print a table, folded to the width of the terminal."""
    STDOUT.print(table, soft_wrap=False)


def use_terminal() -> None:
    """Prepare the process's streams: no character stops the output, warnings of the library are one line each."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # whoever started the process has closed it
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - it stays open
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    log = logging.getLogger("filetools")
    if not log.handlers:
        log.addHandler(_OneLine(logging.WARNING))
        log.propagate = False


class _OneLine(logging.Handler):
    """Shows log records as `warning: …` on standard error; lives as long as the process."""

    def emit(self, record: logging.LogRecord) -> None:
        style = "bold red" if record.levelno >= logging.ERROR else "bold yellow"
        name = "problem" if record.levelno >= logging.ERROR else "warning"
        _complain((name, style), f": {printable(record.getMessage())}")
