"""Runs one CLI command: opens the workspace, runs it, prints the result or the error, and closes the workspace."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO, TypeAlias, TypeVar

import click
from msgspec import Struct

from filetools.app.opening import Opening, open_workspace
from filetools.app.state import lacks_state, own_directory
from filetools.cli.terminal import (
    STDERR,
    exit_code,
    hint_of,
    print_error,
    print_json,
    print_note,
    print_warnings,
    printable,
    styled,
)
from filetools.cli.workplace import Workplace, find_workplace, refuse_file
from filetools.errors import DirectoryNotFoundError, FileToolsError, PathNotFoundError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.models.result import Result
from filetools.models.words import STATE_DIRECTORY, STATE_PATH, Durability
from filetools.paths.names import require_printable
from filetools.permissions.requests import ApprovalAnswer, ApprovalRequest, short_diff
from filetools.settings import Settings, load_settings, named_session

if TYPE_CHECKING:
    from rich.text import Text

R = TypeVar("R", bound="Result | Mapping[str, Any]")
Work: TypeAlias = Callable[[FileToolsFacade], Awaitable[None]]
"""What a command does in its open workspace; it prints its result."""
_NO_STATE: Final = "no state yet; the first change or 'filetools init' creates it"
_BROUGHT: Final = (
    "a state that came with the folder, which is not used; the first change sets it aside for 'filetools trust'"
)
TERMINATING: Final = ("SIGTERM", "SIGHUP")
KILLED: Final = 128
"""Exit codes above it are this plus the number of the signal that killed a process."""


class SharedOptions(Struct, frozen=True, kw_only=True):
    """Options shared by many commands."""

    root: Path | None = None
    state_dir: Path | None = None
    mirror: Path | None = None
    durability: Durability | None = None
    actor: str | None = None
    as_json: bool = False


OWN: Final = ("root", "state_dir", "as_json")
READING: Final = ("root", "state_dir", "actor", "as_json")
CHANGING: Final = ("root", "state_dir", "mirror", "durability", "actor", "as_json")


class CommandRunner:
    """Opens the workspace of one command, prints its result or its errors, and determines the exit code."""

    def __init__(self, options: SharedOptions) -> None:
        self.options = options
        self._exit_code = 0

    @cached_property
    def workplace(self) -> Workplace:
        """Root and working folder."""
        return find_workplace(self.options.root)

    def path(self, raw_path: str) -> str:
        """Convert a path of the command line to a workspace path; see `Workplace.path`."""
        return self.workplace.path(raw_path)

    def settings(self, **arguments: Any) -> tuple[Settings, dict[str, str]]:
        """Return the settings in force and the source of each.

        Args:
            arguments: Values given by the command itself.
        """
        root, state = self.workplace.root, self.options.state_dir
        refuse_file("state directory", state or root / STATE_DIRECTORY)
        given = {"durability": self.options.durability, **arguments}
        return load_settings(given, own_directory=own_directory(root, state), tree_directory=root / STATE_DIRECTORY)

    def perform(self, work: Work, *, watch: bool = False) -> None:
        """Open the workspace and run the work; end the command if the work noted a failure.

        Creates a state if the root has none.

        Args:
            work: Called with the files of the command's actor.
            watch: True to watch for foreign changes meanwhile; useful only for long commands.
        """
        self.workplace.refuse_accident()
        self._run(self._opening(watch=watch), work)

    def read(self, work: Work) -> None:
        """As `perform`, for work that changes nothing: creates no state, and leaves nothing behind.

        Naming a mirror is a change, because its backlog starts then.
        """
        if self.options.mirror is not None:
            self.perform(work)
            return
        with ending_cleanly():
            self._run(self._opening(create=False), work)

    @property
    def lacks_state(self) -> bool:
        """True if the root has no state, and therefore no history, yet; `read` does not create one."""
        return self.options.mirror is None and lacks_state(self.workplace.root, self.options.state_dir)

    def missing(self, given: str | Sequence[str]) -> Sequence[str]:
        """Return the paths of an argument if none of them exists in the root, otherwise none."""
        paths = (given,) if isinstance(given, str) else given
        return () if any(map(self._exists, paths)) else paths

    def _exists(self, raw_path: str) -> bool:
        with suppress(FileToolsError):  # a path outside of the root
            return os.path.lexists(self.workplace.root / self.path(raw_path))
        return False

    async def refuse_missing(self, files: FileToolsFacade, raw_paths: Sequence[str]) -> None:
        """Print the error for each of the paths that `missing` returned."""
        for raw_path in raw_paths:
            try:
                await files.file_info(self.path(raw_path))
            except FileToolsError as error:
                await self.refuse(files, error)
            else:  # another program has just made it
                self.fail(PathNotFoundError(raw_path))

    @property
    def no_state(self) -> str:
        """What is there instead of a state, if the root lacks one."""
        journal = self.workplace.root / STATE_PATH / "journal.db"
        return _BROUGHT if self.options.state_dir is None and os.path.lexists(journal) else _NO_STATE

    def note_no_state(self) -> None:
        """If the root has no state, print a note that nothing is recorded."""
        if self.lacks_state:
            print_note(f"There is {self.no_state}.")

    def _run(self, opening: Opening, work: Work) -> None:
        async def opened() -> None:
            async with opening as files:
                terminal = open_terminal()
                if terminal is not None:
                    files.answer_approvals(asking_at(terminal))
                own = files.for_actor(self._actor())
                try:
                    await work(own)
                except (PathNotFoundError, DirectoryNotFoundError) as error:
                    await self.suggest(own, error)
                    raise

        asyncio.run(opened())
        self.end()

    def show(self, result: R, show: Callable[[R], None]) -> None:
        """Print a result, as an envelope or for people."""
        if self.options.as_json:
            from filetools.tools.envelope import success_envelope

            print_json(success_envelope(result))
            return
        show(result)
        print_warnings(getattr(result, "warnings", ()))

    def fail(self, error: FileToolsError) -> None:
        """Print an error; the command will end with the exit code of its first error."""
        print_error(error, as_json=self.options.as_json)
        self.note_failure(exit_code(error.code, error.details.get("cause")))

    async def refuse(self, files: FileToolsFacade, error: FileToolsError) -> None:
        """Print the error for one of several paths, with the path probably meant; the command continues."""
        if isinstance(error, PathNotFoundError):
            await self.suggest(files, error)
        self.fail(error)

    async def suggest(self, files: FileToolsFacade, error: PathNotFoundError | DirectoryNotFoundError) -> None:
        """Add the path probably meant to an error, as it would be typed in the shell's working folder."""
        from filetools.tools.answers.nearby import similar_paths  # only needed for failures

        found = await similar_paths(files, error.path or "")
        if found:
            error.details["similar"] = found
            error.suggested_action = f"Did you mean {self.workplace.typed(found[0])!r}? {hint_of(error)}"

    def note_failure(self, code: int) -> None:
        """Record the exit code of a failure that has already been shown."""
        self._exit_code = self._exit_code or code

    def end(self) -> None:
        """End the command if anything failed."""
        if self._exit_code:
            raise click.exceptions.Exit(self._exit_code)

    def _opening(self, *, watch: bool = False, create: bool = True) -> Opening:
        settings, sources = self.settings()
        if not watch and sources["watch"] == "default":
            settings = replace(settings, watch=False)
        return open_workspace(
            self.workplace.root, mirror=self.options.mirror, state_dir=self.options.state_dir, settings=settings,
            create=create,
        )  # fmt: skip

    def _actor(self) -> Actor:
        session = named_session()
        if self.options.actor is not None:
            require_printable("The name of an actor", self.options.actor)
            return Actor(kind="agent", id=self.options.actor, session=session)
        return Actor(kind="editor", id=user_name(), session=session)


@contextmanager
def logging_from(level: int, logger: str = "filetools") -> Iterator[None]:
    """Suppress the log records of a logger below a level."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(level)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def handling_signals(handlers: Mapping[str, Callable[[int, Any], None]]) -> Iterator[None]:
    """Handle signals, by their names, except those that this process ignores, as under `nohup`, or does not know."""
    present = {getattr(signal, name): handler for name, handler in handlers.items() if hasattr(signal, name)}
    former = {number: signal.getsignal(number) for number in present}
    awaited = [number for number in present if former[number] is not signal.SIG_IGN]
    for number in awaited:
        signal.signal(number, present[number])
    try:
        yield
    finally:
        for number in awaited:
            signal.signal(number, former[number])


def ending_cleanly() -> AbstractContextManager[None]:
    """End the process on SIGTERM and SIGHUP as Ctrl-C does, so that whatever is temporary is removed."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(KILLED + number)

    return handling_signals(dict.fromkeys(TERMINATING, end))


def user_name() -> str:
    """Return the name of the user who runs the command."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in containers
        return "person"


def open_terminal() -> TextIO | None:
    """Return a terminal at which a person can answer, or None.

    If standard input is the content of a file, the controlling terminal is used, as ssh and sudo do.
    """
    if not sys.stderr.isatty():
        return None
    if sys.stdin is not None and sys.stdin.isatty():
        return sys.stdin
    try:
        return open("/dev/tty", encoding="utf-8", errors="replace")
    except OSError:
        return None


def asking_at(terminal: TextIO) -> Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]:
    """Return a function that asks a person at a terminal about approval requests, one at a time."""
    turn = asyncio.Lock()

    async def ask(request: ApprovalRequest) -> ApprovalAnswer:
        """Show what would happen, and return the person's answer; anything but yes means no."""
        async with turn:
            STDERR.print(_question(request), end="")
            answer = await _line_of(terminal)
            return "allow" if answer.strip().lower() in ("y", "yes") else "deny"

    return ask


async def _line_of(terminal: TextIO) -> str:
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        text = terminal.readline()
        loop.call_soon_threadsafe(lambda: None if line.done() else line.set_result(text))

    # A daemon thread: waiting for a key cannot be cancelled, and must not keep an interrupted command alive.
    threading.Thread(target=read, name="filetools terminal", daemon=True).start()
    return await line


def _question(request: ApprovalRequest) -> Text:
    why = (
        "changing it can make other programs run code"
        if request.reason == "protected"
        else "the permissions require approval"
    )
    change = "".join(f"{printable(line)}\n" for line in short_diff(request).splitlines())
    return styled(
        change,
        (f"{printable(request.actor.id)} requests this, risk {request.risk}: {why}\n", "dim"),
        (f"{printable(request.description)}?", "bold yellow"),
        " y/N ",
    )
