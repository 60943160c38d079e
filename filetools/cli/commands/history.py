"""Commands over the logs that coding agents keep: `history list`, `extract`, `collect`, `analyze`, `rules`."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any, Final, Literal

import typer

from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.desk import Desk
from filetools.cli.exit_codes import FAILED
from filetools.cli.help_page import PagedGroup
from filetools.cli.saving import save
from filetools.cli.terminal import STDOUT, exact_json, printable, printable_text
from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.settings import MIB

_PANEL: Final = "Tools"
_SHORT: Final = 8
_WHOLE_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOST_HELD_BYTES: Final = 16 * MIB
"""Of what was collected; the rest waits in a temporary file."""

Project = Annotated[str, typer.Option(metavar="DIR", help="Folder of the project; it may be gone.")]
Logs = Annotated[
    str | None, typer.Option(metavar="DIR", help="Folder of all logs; else 'projects' in CLAUDE_CONFIG_DIR or ~/.claude.")
]  # fmt: skip
NoWorktrees = Annotated[
    bool, typer.Option("--no-worktrees", help="Leave out the logs of the repository's other work trees.")
]
Output = Annotated[str | None, typer.Option(metavar="FILE", help="Write there, in one step, instead of printing.")]
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="What to print.")]
Input = Annotated[
    str, typer.Option("--input", metavar="FILE", help="What 'collect' or 'extract' wrote; - reads a pipe.")
]
Sidechains = Annotated[bool, typer.Option("--include-sidechains", help="Count what agents told other agents, too.")]
Errors = Annotated[bool, typer.Option("--include-errors", help="Count calls that failed without a person's no, too.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(
        cls=PagedGroup,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Read what people told their agents from the logs of agents, and make rules of it.\n\n"
        "Nothing is ever written among the logs.",
        epilog="filetools history list\nfiletools history collect | filetools history rules --input -",
    )
    for body, shared, name, examples in (
        (list_sessions, (), "list", ("list", "list --project ../api --format json")),
        (extract, ("actor",), "extract", ("extract 3f2a9c11", "extract 3f2a --output notes/feedback.json")),
        (collect, ("actor",), "collect", ("collect --output feedback.json", "collect --project ~/api --no-worktrees")),
        (analyze, (), "analyze", ("analyze --input feedback.json", "analyze --input - --format json < feedback.json")),
        (rules, (), "rules", ("rules --input feedback.json", "rules --input feedback.json --min-length 40")),
    ):
        lines = [f"filetools history {example}" for example in examples]
        workspace_command(group, shared, name=name, panel=_PANEL, examples=lines)(_failing_in_one_line()(body))
    app.add_typer(group, name="history", rich_help_panel=_PANEL)


def list_sessions(
    desk: Desk, *, project: Project = ".", logs: Logs = None, no_worktrees: NoWorktrees = False,
    form: Format = "text",
) -> None:  # fmt: skip
    """List the sessions that agents have logged of a project, the newest first."""
    from filetools.tools import session_logs

    found = session_logs.list_sessions(project, logs=logs, with_worktrees=not no_worktrees)
    if _wants_json(desk, form):
        _write_array(map(asdict, found), desk)
        return
    short = _shortened([info.session_id for info in found])
    _print("".join(f"[{short[info.session_id]}] {info.title}\n" for info in found) or "No sessions found\n")


def extract(
    desk: Desk,
    prefix: Annotated[
        str, typer.Argument(metavar="PREFIX", help="The first digits of an id.", autocompletion=suggestions.sessions)
    ],
    *, project: Project = ".", logs: Logs = None, no_worktrees: NoWorktrees = False, output: Output = None,
) -> None:  # fmt: skip
    """Print what was said in one session, and to the agents below it, as JSON."""
    from filetools.tools import session_logs

    wanted = prefix.strip().lower()
    if not wanted:
        raise ValueError("The prefix is empty: give the first digits of an id of 'filetools history list'")
    listed = session_logs.list_sessions(project, logs=logs, with_worktrees=not no_worktrees)
    found = [info for info in listed if info.session_id.startswith(wanted)]
    if len(found) > 1:
        candidates = (f"{info.session_id}  {info.title}" for info in found)
        for line in (f"Multiple sessions match prefix '{prefix}'", *candidates):
            _complain(line)
        raise typer.Exit(FAILED)
    items = list[session_logs.FeedbackItem]()
    if found or _WHOLE_ID.fullmatch(wanted):  # of a session whose own log is gone, those of its agents may be left
        session_id = found[0].session_id if found else wanted
        items = session_logs.extract_feedback(session_id, project, logs=logs, with_worktrees=not no_worktrees)
    if not found and not items:
        raise ValueError(f"No session found with prefix '{prefix}'")
    _write_array(map(asdict, items), desk, output)


def collect(
    desk: Desk, *, project: Project = ".", logs: Logs = None, no_worktrees: NoWorktrees = False,
    output: Output = None,
) -> None:  # fmt: skip
    """Print what was said in all sessions of a project, the newest session first, as JSON."""
    from filetools.tools import session_logs

    items = session_logs.collect_feedback(
        project, logs=logs, with_worktrees=not no_worktrees,
        failed=lambda session_id, error: _complain(f"Warning: Failed to extract from {session_id}: {error.message}"),
    )  # fmt: skip
    _write_array(map(asdict, items), desk, output)


def analyze(
    desk: Desk, *, source: Input, form: Format = "text", include_sidechains: Sidechains = False,
    include_errors: Errors = False,
) -> None:  # fmt: skip
    """Count what was said, by kind."""
    from filetools.tools import session_logs

    items = _items(source)
    found = session_logs.analyze(items, include_sidechains=include_sidechains, include_errors=include_errors)
    if _wants_json(desk, form):
        _print(f"{exact_json(found)}\n")
        return
    counts = "".join(f"  {name}: {count}\n" for name, count in found["categories"].items())
    _print(f"total: {found['total']}\nfiltered: {found['filtered']}\ncategories:\n{counts}")


def rules(
    desk: Desk, *, source: Input, form: Format = "text", include_sidechains: Sidechains = False,
    include_errors: Errors = False,
    min_length: Annotated[int, typer.Option(metavar="N", min=0, help="Fewest characters of a rule.")] = 20,
) -> None:  # fmt: skip
    """Print what could be rules, the oldest first, each once."""
    from filetools.tools import session_logs

    found = session_logs.rules(
        _items(source), min_length=min_length, include_sidechains=include_sidechains, include_errors=include_errors
    )
    if _wants_json(desk, form):
        _write_array(found, desk)
        return
    _print("".join(f"{rule['index']}. {rule['content'].replace(chr(10), chr(10) + '   ')}\n" for rule in found))


@contextmanager
def _failing_in_one_line() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (FileToolsError, OSError, ValueError) as error:
        place = getattr(error, "filename", None)
        _complain(str(error) if place is None else f"{place}: {getattr(error, 'strerror', error)}")
        raise typer.Exit(FAILED) from error


def _complain(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")


def _wants_json(desk: Desk, form: str) -> bool:
    return form == "json" or desk.options.as_json


def _shortened(ids: Sequence[str]) -> dict[str, str]:
    """Return the first 8 characters of each id, or as many as tell it from all others."""
    starts = Counter(each[:most] for each in ids for most in range(_SHORT, len(each)))
    lengths = range(_SHORT, len(max(ids, default="")))
    return {each: next((each[:most] for most in lengths if starts[each[:most]] == 1), each) for each in ids}


def _items(source: str) -> list[dict[str, Any]]:
    from filetools.tools import session_logs

    try:
        return session_logs.parse_items(sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes())
    except InvalidArgumentError as error:
        raise ValueError(f"{'standard input' if source == '-' else source}: {error.message}") from error


def _print(text: str) -> None:
    """Print texts of logs: what cannot steer a terminal there, and exactly all of it into a pipe."""
    sys.stdout.buffer.write((printable_text(text) if STDOUT.is_terminal else text).encode("utf-8", "replace"))


def _write_array(rows: Iterable[Mapping[str, Any]], desk: Desk, output: str | None = None) -> None:
    """Write a JSON array, a row a line, to a file or standard output, where nothing appears before all of it is there."""
    with SpooledTemporaryFile(_MOST_HELD_BYTES) as held:
        end = b"["
        for row in rows:
            held.write(end + b"\n" + exact_json(row).encode())
            end = b","
        held.write(b"[]\n" if end == b"[" else b"\n]\n")
        held.seek(0)
        if output is None:
            shutil.copyfileobj(held, sys.stdout.buffer)
        else:
            save(held, output, actor=desk.options.actor)
