"""Commands for the logs of coding agents: `history list`, `extract`, `collect`, `analyze`, `rules`."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

import click
from msgspec.structs import asdict

from filetools.app.trust import write_whole
from filetools.cli.command import command
from filetools.cli.runner import CommandRunner, SharedOptions
from filetools.cli.terminal import FAILED, print_text, printable
from filetools.cli.workplace import root_above
from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.printable import printable_json
from filetools.settings import session_logs_folder
from filetools.tools.handlers import session_logs

_SHORT: Final = 8
_WHOLE_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

history = click.Group(
    "history",
    help="Extract people's messages to their agents from the agents' logs.\n\n"
    "It suggests rules and never changes the logs.",
    epilog="\b\nExamples:\n  filetools history list\n  filetools history collect | filetools history rules --input -",
)
project_option = click.option("--project", default=".", metavar="DIR", help="Folder of the project; it need not exist.")
logs_option = click.option(
    "--logs", metavar="DIR", help="Folder of all logs; else 'projects' in CLAUDE_CONFIG_DIR or ~/.claude."
)
no_worktrees_option = click.option(
    "--no-worktrees", is_flag=True, help="Leave out the logs of the repository's other work trees."
)
output_option = click.option("--output", metavar="FILE", help="Write to this file, in one step, instead of printing.")
format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="What to print."
)
input_option = click.option(
    "--input", "source", required=True, metavar="FILE", help="Output of 'collect' or 'extract'; - reads a pipe."
)
sidechains_option = click.option("--include-sidechains", is_flag=True, help="Include messages between agents.")
errors_option = click.option("--include-errors", is_flag=True, help="Include failed calls that no person refused.")


@contextmanager
def _failing_in_one_line() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (FileToolsError, OSError, ValueError) as error:
        place = getattr(error, "filename", None)
        _complain(str(error) if place is None else f"{place}: {getattr(error, 'strerror', error)}")
        raise click.exceptions.Exit(FAILED) from error


def _complain(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")


@command(
    "list",
    (),
    group=history,
    examples=("filetools history list", "filetools history list --project ../api --format json"),
)
@_failing_in_one_line()
@project_option
@logs_option
@no_worktrees_option
@format_option
def list_sessions(
    runner: CommandRunner, *, project: str, logs: str | None, no_worktrees: bool, form: Literal["text", "json"]
) -> None:
    """List the logged sessions of a project, newest first."""

    found = session_logs.list_sessions(project, logs=logs, with_worktrees=not no_worktrees)
    if _wants_json(runner, form):
        _write_array(map(asdict, found), runner)
        return
    short = _shortened([info.session_id for info in found])
    print_text("".join(f"[{short[info.session_id]}] {info.title}\n" for info in found) or "No sessions found\n")
    if not found:
        where = os.path.abspath(logs or session_logs_folder())
        _complain(f"Looked in {where} for {os.path.abspath(project)}; --logs and --project name other folders.")


@command(
    "extract",
    ("actor",),
    group=history,
    examples=("filetools history extract 3f2a9c11", "filetools history extract 3f2a --output notes/feedback.json"),
)
@_failing_in_one_line()
@click.argument("prefix", help="The first digits of an id.")
@project_option
@logs_option
@no_worktrees_option
@output_option
def extract(
    runner: CommandRunner, prefix: str, *, project: str, logs: str | None, no_worktrees: bool, output: str | None
) -> None:
    """Print the messages of one session and its sub-agents, as JSON."""

    wanted = prefix.strip().lower()
    if not wanted:
        raise ValueError("The prefix is empty: give the first digits of an id of 'filetools history list'")
    listed = session_logs.list_sessions(project, logs=logs, with_worktrees=not no_worktrees)
    found = [info for info in listed if info.session_id.startswith(wanted)]
    if len(found) > 1:
        candidates = (f"{info.session_id}  {info.title}" for info in found)
        for line in (f"Multiple sessions match prefix '{prefix}'", *candidates):
            _complain(line)
        raise click.exceptions.Exit(FAILED)
    items = list[session_logs.FeedbackItem]()
    if found or _WHOLE_ID.fullmatch(wanted):  # if a session's own log was deleted, its agents' logs may remain
        session_id = found[0].session_id if found else wanted
        items = session_logs.extract_feedback(session_id, project, logs=logs, with_worktrees=not no_worktrees)
    if not found and not items:
        raise ValueError(f"No session found with prefix '{prefix}'")
    _write_array(map(asdict, items), runner, output)


@command(
    "collect",
    ("actor",),
    group=history,
    examples=(
        "filetools history collect --output feedback.json",
        "filetools history collect --project ~/api --no-worktrees",
    ),
)
@_failing_in_one_line()
@project_option
@logs_option
@no_worktrees_option
@output_option
def collect(runner: CommandRunner, *, project: str, logs: str | None, no_worktrees: bool, output: str | None) -> None:
    """Print the messages of all sessions of a project, newest session first, as JSON."""

    items = session_logs.collect_feedback(
        project, logs=logs, with_worktrees=not no_worktrees,
        failed=lambda session_id, error: _complain(f"Warning: Failed to extract from {session_id}: {error.message}"),
    )  # fmt: skip
    _write_array(map(asdict, items), runner, output)


@command(
    "analyze",
    (),
    group=history,
    examples=(
        "filetools history analyze --input feedback.json",
        "filetools history analyze --input - --format json < feedback.json",
    ),
)
@_failing_in_one_line()
@input_option
@format_option
@sidechains_option
@errors_option
def analyze(
    runner: CommandRunner, *, source: str, form: Literal["text", "json"], include_sidechains: bool, include_errors: bool
) -> None:
    """Count the messages, by category."""

    items = _items(source)
    found = session_logs.analyze(items, include_sidechains=include_sidechains, include_errors=include_errors)
    if _wants_json(runner, form):
        print_text(f"{printable_json(found)}\n")
        return
    counts = "".join(f"  {name}: {count}\n" for name, count in found["categories"].items())
    print_text(f"total: {found['total']}\nfiltered: {found['filtered']}\ncategories:\n{counts}")


@command(
    "rules",
    (),
    group=history,
    examples=(
        "filetools history rules --input feedback.json",
        "filetools history rules --input feedback.json --min-length 40",
    ),
)
@_failing_in_one_line()
@input_option
@format_option
@sidechains_option
@errors_option
@click.option("--min-length", type=click.IntRange(0), default=20, metavar="N", help="Minimum characters of a rule.")
def rules(
    runner: CommandRunner,
    *,
    source: str,
    form: Literal["text", "json"],
    include_sidechains: bool,
    include_errors: bool,
    min_length: int,
) -> None:
    """Print candidates for rules, oldest first, each once."""

    found = session_logs.rules(
        _items(source), min_length=min_length, include_sidechains=include_sidechains, include_errors=include_errors
    )
    if _wants_json(runner, form):
        _write_array(found, runner)
        return
    print_text("".join(f"{rule['index']}. {rule['content'].replace(chr(10), chr(10) + '   ')}\n" for rule in found))


def _wants_json(runner: CommandRunner, form: str) -> bool:
    return form == "json" or runner.options.as_json


def _shortened(ids: Sequence[str]) -> dict[str, str]:
    """Return the first 8 characters of each ID, or as many as make it unique."""
    starts = Counter(each[:most] for each in ids for most in range(_SHORT, len(each)))
    lengths = range(_SHORT, len(max(ids, default="")))
    return {each: next((each[:most] for most in lengths if starts[each[:most]] == 1), each) for each in ids}


def _items(source: str) -> list[dict[str, Any]]:

    try:
        return session_logs.parse_items(sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes())
    except InvalidArgumentError as error:
        raise ValueError(f"{'standard input' if source == '-' else source}: {error.message}") from error


def _write_array(rows: Iterable[Mapping[str, Any]], runner: CommandRunner, output: str | None = None) -> None:
    """Write a JSON array, one row per line, to a file or standard output; nothing is written before it is complete."""
    lines = ",".join(f"\n{printable_json(row)}" for row in rows)
    content = f"[{lines}\n]\n".encode() if lines else b"[]\n"
    if output is None:
        sys.stdout.buffer.write(content)
    else:
        save(content, output, actor=runner.options.actor)


def save(content: bytes, output: str, *, actor: str | None) -> None:
    """Create or replace a file, with missing folders. Inside a root this is a normal change, which can be undone.

    Args:
        content: All its bytes.
        output: Relative to the working folder, or absolute; links are followed.
        actor: Name of the agent that writes in a root; None for a person.

    Raises:
        FileToolsError: The root refuses the change.
        OSError: It cannot be written.
    """
    place = Path(os.path.realpath(output))
    root = root_above(place.parent)
    if root is None:
        _replace(place, content)
        return
    runner = CommandRunner(SharedOptions(root=root, actor=actor))

    async def work(files: FileToolsFacade) -> None:
        await files.replace_file(runner.path(str(place)), content)

    runner.perform(work)


def _replace(place: Path, content: bytes) -> None:
    mode = None
    with suppress(FileNotFoundError):
        mode = place.stat().st_mode
    # A rename would replace even a device, or a read-only file.
    if mode is not None and not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "It is not a file", str(place))
    if mode is not None and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, content, mode=0o666 if mode is None else stat.S_IMODE(mode))
        if mode is not None:
            place.chmod(stat.S_IMODE(mode))  # the umask may have narrowed it
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(place)) from error
