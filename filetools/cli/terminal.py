"""Terminal output: consoles, escaped names, error messages in terms of the command line, exit codes, tables."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

import filetools.settings as settings
from filetools.errors import FileToolsError
from filetools.printable import printable as printable
from filetools.printable import printable_text as printable_text

FAILED: Final = 1
DIFFERS: Final = 1
USAGE: Final = 2
CONFLICT: Final = 3
LOCKED: Final = 4
REFUSED: Final = 5
INTERRUPTED: Final = 130

_CODES: Final = {
    "INVALID_ARGUMENT": USAGE,
    "UNKNOWN_TOOL": USAGE,
    "VERSION_MISMATCH": CONFLICT,
    "EDIT_CONFLICT": CONFLICT,
    "CHANGED_MEANWHILE": CONFLICT,
    "LOCK_TIMEOUT": LOCKED,
    "FILE_BUSY": LOCKED,
    "PERMISSION_DENIED": REFUSED,
    "APPROVAL_REQUIRED": REFUSED,
    "APPROVAL_DENIED": REFUSED,
    "TOOL_BLOCKED": REFUSED,
    "PATH_HIDDEN": REFUSED,
    "HARD_LINKED": REFUSED,
    "INVALID_PATH": REFUSED,
    "ABSOLUTE_PATH": REFUSED,
    "PATH_TRAVERSAL": REFUSED,
    "PATH_TOO_LONG": REFUSED,
    "SYMLINK_NOT_ALLOWED": REFUSED,
    "SYMLINK_ESCAPE": REFUSED,
}


def exit_code(code: str, cause: object = None) -> int:
    """Return the exit code of an error code.

    Args:
        code: Code of the error.
        cause: Code of the error that made a batch fail, if it is a batch.
    """
    return _CODES.get(cause if isinstance(cause, str) else code, FAILED)


_HINTS: Final = {
    "FILE_NOT_FOUND": "Look for it with 'filetools ls'.",
    "DIR_NOT_FOUND": "Look for it with 'filetools ls', or make it with 'filetools mkdir'.",
    "FILE_EXISTS": "Choose another path, or move what is there; 'filetools mv' and 'filetools cp' replace a file with -f.",
    "IS_A_DIRECTORY": "Name a file; 'filetools ls' lists what is in the folder.",
    "DIR_NOT_EMPTY": "Pass -r to remove the folder with everything in it.",
    "FILE_TOO_LARGE": "Read a part with --offset and --limit. Files over the setting max_write_bytes are not changed.",
    "PATH_TRAVERSAL": "Name a path inside the workspace; --root selects the workspace.",
    "ABSOLUTE_PATH": "Name a path inside the workspace; --root selects the workspace.",
    "EDIT_NOT_FOUND": "Read the file with 'filetools read', and copy --old from it exactly.",
    "EDIT_AMBIGUOUS": "Include more of the surrounding text in --old, or pass --all.",
    "VERSION_MISMATCH": "Read the file with 'filetools read', then pass --expected-version {current_version}.",
    "VERSION_GONE": "List the kept versions with 'filetools versions'.",
    "FD_NOT_FOUND": "'filetools fd list' lists them; --actor selects the agent.",
    "PROJECT_NOT_FOUND": "'filetools project list' lists them.",
    "PERMISSION_DENIED": "Ask its owner for access, or choose another path.",
    "RUN_NOT_FOUND": "'filetools runs' lists them.",
    "APPROVAL_REQUIRED": "Run the command at a terminal, where you can answer.",
    "STATE_ELSEWHERE": "Pass --state-dir with the folder that the root was first opened with.",
    "SYNC_FAILED": "'filetools mirror list' shows why a mirror is behind.",
    "LOCK_TIMEOUT": "Run the command again when the other operation has finished.",
}
"""Hints that replace those of the library, which address callers of its API; in braces, a detail of the error."""

_TOOLS: Final = {
    "append_file": "append",
    "copy_file": "cp",
    "create_directory": "mkdir",
    "delete_directory": "rm",
    "delete_file": "rm",
    "edit_file": "edit",
    "file_info": "info",
    "grep_files": "grep",
    "insert_lines": "edit",
    "list_files": "ls",
    "move_file": "mv",
    "read_file": "read",
    "search_files": "find",
    "undo_changes": "undo",
    "write_file": "write",
}
_OPTIONS: Final = {
    "expected_version": "--expected-version",
    "hard_links='break' in the settings": "FILETOOLS_HARD_LINKS=break in the environment",
    "insert_lines or write_file": "'filetools append' or 'filetools write'",
    "literal=true": "-F",
    "multiline=true": "-U",
    "name one where the root is opened": "name one with --mirror",
    "overwrite=true": "-f",
    "partial=True": "--partial",
    "recursive=true": "-r",
    "replace=True": "--replace",
    "state_dir": "--state-dir",
    "versions()": "'filetools versions'",
}
_PHRASES: Final = _OPTIONS | {name: f"'filetools {command}'" for name, command in _TOOLS.items()}
_PHRASE: Final = re.compile(
    "|".join(
        rf"(?<![\w./'-]){re.escape(phrase)}(?![\w/'=-]|\.\w)" for phrase in sorted(_PHRASES, key=len, reverse=True)
    )
)


def sentence_of(error: FileToolsError) -> str:
    """Return an error's message in terms of commands and options."""
    if error.code == "PATH_TRAVERSAL":
        return f"{error.path!r} is outside of the workspace"
    message = error.message
    if "available" in error.details:
        return message  # it lists tools by their own names
    if error.code == "INVALID_PATH":
        message = message.replace("Invalid path ''", "Invalid path '.'")
    # Do not translate the user's own path, even if it is spelt like a call of the library.
    parts = [message] if not error.path else re.split(f"({re.escape(error.path)})", message)
    return "".join(part if part == error.path else translated(part) for part in parts)


def hint_of(error: FileToolsError) -> str:
    """Return an error's hint in terms of commands and options."""
    given = error.suggested_action or error.action
    if given == error.action and error.code in _HINTS:
        return _HINTS[error.code].format_map(error.details)
    return translated(given)


def envelope_of(error: FileToolsError) -> dict[str, Any]:
    """Return the envelope of a failed command; its messages are translated, since scripts and agents read them, too."""
    from filetools.tools.envelope import failure_envelope  # only needed for failures in JSON

    return failure_envelope(error) | {"error": sentence_of(error), "suggested_action": hint_of(error)}


def translated(text: str) -> str:
    """Replace calls and arguments in a sentence of the library by commands and options."""
    return _PHRASE.sub(lambda found: _PHRASES[found[0]], text)


if TYPE_CHECKING:  # rich takes longer to import than many commands take to run, and output to a pipe does not need it
    from rich.console import Console
    from rich.text import Text

_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def leave_quietly(code: int = 0) -> NoReturn:
    """Exit silently because the output cannot be written: the reader of a pipe has closed it, as `head` does."""
    # Buffered output would raise the error again at exit; redirect it to nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


class Stream:
    """Standard output or standard error. Its console is created on first use.

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
        """True if it is a terminal, or the environment says to treat it as one."""
        return (getattr(sys, self._name).isatty() or settings.forces_terminal()) and self.console.is_terminal

    def print(self, *parts: Any, **options: Any) -> None:
        """Print with rich, after flushing standard output."""
        if self._name == "stderr":
            sys.stdout.flush()
        self.console.print(*parts, **options)


STDOUT: Final = Stream("stdout")
STDERR: Final = Stream("stderr")


def printable_line(text: str) -> str:
    """Escape a line of a file, without its end; tabs are kept in a pipe and become blanks on a terminal."""
    return printable_text(text.expandtabs() if STDOUT.is_terminal else text).replace("\n", "\\n")


def amount(count: int, thing: str, things: str | None = None) -> str:
    """Return a number with its unit, such as "1 byte" or "1,024 bytes"."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def styled(*parts: str | tuple[str, str] | Text) -> Text:
    """Return a text assembled from parts; a pair is text with its style."""
    from rich.text import Text

    return Text.assemble(*parts)


def print_line(*parts: str | tuple[str, str] | Text) -> None:
    """Print one line to standard output; a pair is text with its style."""
    if STDOUT.is_terminal:
        STDOUT.print(styled(*parts))
        return
    plain = (part if isinstance(part, str) else part[0] if isinstance(part, tuple) else part.plain for part in parts)
    sys.stdout.write(f"{''.join(plain)}\n")  # rich would expand tabs, which breaks patches


VERB_STYLES: Final = (
    dict.fromkeys(("add", "added", "copied", "created", "linked", "made", "restored"), "green")
    | dict.fromkeys(("delete", "deleted", "removed"), "red")
    | dict.fromkeys(("moved", "mode"), "blue")
    | dict.fromkeys(("exists", "unchanged"), "dim")
    | dict.fromkeys(("away", "mirror", "not kept", "problem", "project", "replaced", "unknown", "unread"), "yellow")
    | {"failed": "bold red"}
)
"""Styles of the words at the start of rows."""


def path_text(path: str, old_path: str | None = None, *, is_folder: bool = False) -> str:
    """Return a path, escaped, with its former path and the slash of a folder."""
    end = "/" if is_folder else ""
    return ("" if old_path is None else f"{printable(old_path)}{end} → ") + printable(path) + end


def print_row(
    verb: str, path: str, old_path: str | None = None, *, is_folder: bool = False, detail: str | None = None
) -> None:
    """Print a row: what was done, the path and, if given, a detail."""
    print_line(
        (f"{verb:<9} ", VERB_STYLES.get(verb, "")), path_text(path, old_path, is_folder=is_folder),
        (f"  {printable(detail)}" if detail else "", "dim"),
    )  # fmt: skip


def print_text(text: str) -> None:
    """Print a text, escaped for a terminal, unchanged to a pipe."""
    sys.stdout.flush()
    sys.stdout.buffer.write((printable_text(text) if STDOUT.is_terminal else text).encode("utf-8", "surrogatepass"))


def print_diff(diff: str) -> None:
    """Print a diff, in colour to a terminal, otherwise byte for byte, so that it can be applied."""
    if not STDOUT.is_terminal:
        sys.stdout.flush()
        sys.stdout.buffer.write(diff.encode("utf-8", "surrogateescape"))
        return
    is_head = True
    for line in diff.split("\n")[:-1]:
        is_head = not line.startswith("@@") and (is_head or line.startswith("diff --git "))
        print_line((printable_line(line), "bold" if is_head else _DIFF_STYLES.get(line[:1], "")))


def print_note(text: str) -> None:
    """Print a remark to standard error, separate from piped output."""
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
    """Print an error, as an envelope to standard output, or as a message and a hint to standard error."""
    if as_json:
        print_json(envelope_of(error))
        return
    # The library's own advice for wrong arguments says no more than the message.
    is_bare = error.code == "INVALID_ARGUMENT" and error.suggested_action == error.action
    print_refusal(sentence_of(error), None if is_bare else hint_of(error), code=f" {error.code}")


def print_refusal(sentence: str, hint: str | None, *, code: str = "") -> None:
    """Print why the command fails, and what to do instead, to standard error."""
    _complain(("error", "bold red"), f"{code}: {printable_text(sentence)}")
    if hint:
        _complain(("hint", "bold"), f": {printable(hint)}")


def _complain(name: tuple[str, str], text: str) -> None:
    if STDERR.is_terminal:
        STDERR.print(styled(name, text), soft_wrap=False)
    else:  # printing thousands of warnings with rich would take minutes
        sys.stderr.write(f"{name[0]}{text}\n")


def print_warnings(warnings: Iterable[Mapping[str, Any]]) -> None:
    """Print warnings of a result to standard error."""
    for warning in warnings:
        text = printable(f" {warning.get('code', '')}: {warning.get('message', '')}")
        _complain(("warning", "bold yellow"), text)


def print_table(rows: Iterable[Sequence[str | Text]], *headings: str) -> None:
    """Print an unruled table, folded to the width of a terminal; in a pipe each row is a line. Facts need no headings."""
    if not STDOUT.is_terminal:
        lines = [list(map(str, row)) for row in (headings, *rows) if any(row)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for cells in lines:
            print_line("  ".join(map(str.ljust, cells, widths)).rstrip())
        return
    from rich.table import Table

    table = Table(box=None, show_header=any(headings), pad_edge=False, padding=(0, 2, 0, 0))
    for place, heading in enumerate(headings or ("", "")):
        table.add_column(heading, header_style="dim", overflow="fold", no_wrap=place == 0)
    for row in rows:
        table.add_row(*row)
    STDOUT.print(table, soft_wrap=False)


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one per line."""
    print_table((styled((name, "dim")), printable(str(value))) for name, value in facts)


def use_terminal() -> None:
    """Prepare the standard streams: unencodable characters are escaped, and the library's warnings take one line each."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the parent process has closed it
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - it stays open
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    log = logging.getLogger("filetools")
    if not log.handlers:
        log.addHandler(_OneLine(logging.WARNING))
        log.propagate = False


class _OneLine(logging.Handler):
    """Shows log records as `warning: …` on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        style = "bold red" if record.levelno >= logging.ERROR else "bold yellow"
        name = "problem" if record.levelno >= logging.ERROR else "warning"
        _complain((name, style), f": {printable(record.getMessage())}")
