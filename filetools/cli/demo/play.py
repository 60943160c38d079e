"""The command `demo`: the play, its output, and the count that determines the exit code."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Final

import click
from msgspec import Struct
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from filetools.app.opening import open_workspace
from filetools.cli.command import command
from filetools.cli.demo.agent import SETTINGS, insert, remark
from filetools.cli.runner import CommandRunner, ending_cleanly, logging_from
from filetools.cli.terminal import FAILED, STDOUT, print_json, print_table
from filetools.content.editing.edits import Edit
from filetools.content.editing.text_edits import TextEdit
from filetools.distribution import require_extra
from filetools.errors import EditConflictError, NetworkError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.models.words import STATE_DIRECTORY
from filetools.settings import use_user_directory


class CountRow(Struct, frozen=True):
    """One line of the count."""

    name: str
    value: str
    holds: bool = True


async def counted(play: Play) -> list[CountRow]:
    """Return the count."""
    tree, copies = read_tree(play.root), read_tree(play.mirror)
    lines = {path: content.decode("utf-8", "replace").splitlines(keepends=True) for path, content in tree.items()}
    found = {(path, line.rstrip("\n")) for path, content in lines.items() for line in content}
    missing = {line for line in play.acknowledged if (play.begun[line][1], line) not in found}
    kept = await _kept(
        play.files, {line: path for line in missing for name, path in [play.begun[line]] if name == "shell"}
    )
    lost = missing - kept
    damaged = tree.keys() ^ PROJECT.keys()
    for path, content in lines.items():
        own = [line for line in content if line.rstrip("\n") not in play.begun]
        is_whole = "".join(own) == PROJECT.get(path) and len(set(content)) - len(set(own)) == len(content) - len(own)
        damaged |= set() if is_whole else {path}
    differing = {path for path in tree | copies if tree.get(path) != copies.get(path)}
    return [
        CountRow("lost", f"{len(lost)} of {len(play.acknowledged)} edits", not lost),
        CountRow("damaged", f"{len(damaged)} of {len(PROJECT)} files", not damaged),
        CountRow("displaced", f"{len(kept)} lines of the shell, kept as versions"),
        CountRow("mirror equal", "yes" if not differing else f"no: {', '.join(sorted(differing))}", not differing),
    ]


async def _kept(files: FileToolsFacade, lines: Mapping[str, str]) -> set[str]:
    """Return the lines that are in an earlier version of their files.

    A shell opens a file and writes to it later: if another program replaces the file in between, the line is in the old
    version only.
    """
    kept = set()
    for line, path in lines.items():
        for entry in (await files.versions(path, limit=1000)).versions:
            if entry.kept and line in (await files.read_file(path, version=entry.version)).content.splitlines():
                kept.add(line)
    return kept


def read_tree(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files in a folder by path, without the state of filetools."""
    found = ((path.relative_to(folder), path) for path in folder.rglob("*") if path.is_file())
    return {inside.as_posix(): path.read_bytes() for inside, path in found if inside.parts[0] != STATE_DIRECTORY}


PROJECT: Final = {
    "README.md": "# Tally\n\nCounts the words of a text.\n\n## Ideas\n\n- one list for all languages\n",
    "CHANGELOG.md": "# Changes\n\n- the first version\n",
    "docs/guide.md": "# Guide\n\nRun `tally FILE`.\n\n- it prints the ten most frequent words\n",
    "src/tally.py": 'def count_words(text):\n    """Return how often each word occurs."""\n    counts = {}\n'
    "    for word in text.split():\n        counts[word] = counts.get(word, 0) + 1\n    return counts\n",
}
SHARED: Final = ("README.md", "CHANGELOG.md", "docs/guide.md")
CODE: Final = "src/tally.py"
ROUNDS: Final = 4
KILLED_AFTER: Final = 12
PACE_SECONDS: Final = 0.8
WAIT_SECONDS: Final = 10
_SETTLING_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.02


@command("demo", ("as_json",), examples=("filetools demo", "filetools demo --open"))
@click.option("--open", "on_page", is_flag=True, help="Also show it, slowly, in the editor page in your browser.")
def demo(runner: CommandRunner, *, on_page: bool) -> None:
    """Watch many writers change one project, and count lost edits.

    Two agents, a person with unsaved text, a shell, a mirror that is lost and a process that is killed work on a small
    project in a temporary folder, which is removed at the end. The exit code is 0 only if nothing was lost or damaged.
    """
    if on_page:
        require_extra("editor", "the editor page", "rocher", "fastapi", "uvicorn", "mcp")
    started = time.monotonic()
    STDOUT.console.quiet = runner.options.as_json
    with ending_cleanly(), logging_from(logging.ERROR):  # the demo itself reports the lost mirror
        found = asyncio.run(_play(on_page=on_page))
    found.append(CountRow("seconds", f"{time.monotonic() - started:.1f}"))
    holds = all(finding.holds for finding in found)
    if runner.options.as_json:
        print_json({"success": holds, "data": {finding.name: finding.value for finding in found}})
    else:
        _print_count(found)
    if not holds:
        raise click.exceptions.Exit(FAILED)


class Play:
    """One play: the open project with its mirror."""

    def __init__(self, files: FileToolsFacade, root: Path, mirror: Path) -> None:
        self.files, self.root, self.mirror = files, root, mirror
        self.begun: dict[str, tuple[str, str]] = {}
        """Each edit adds a unique line: line -> its author and its file."""
        self.acknowledged: set[str] = set()
        """Lines whose write has returned; they must be in their files."""
        self.repeated = 0
        """Number of writes that were refused because another writer was faster, and were retried."""
        self.pace_seconds = 0.0
        """Pause after each sentence, for people watching the page."""
        self._numbers: Counter[str] = Counter()

    def actor(self, name: str) -> FileToolsFacade:
        """Return the files as an agent's actor, or as Ann's with her editor."""
        return self.files.for_actor(Actor(kind="editor" if name == "ann" else "agent", id=name, session="demo"))

    def line(self, name: str, path: str) -> str:
        """Return the line of an actor's next edit."""
        self._numbers[name] += 1
        line = remark(name, self._numbers[name], path)
        self.begun[line] = name, path
        return line

    async def insert(self, name: str, path: str) -> str:
        """Make an agent add a line, and return it."""
        line = self.line(name, path)
        self.repeated += await insert(self.actor(name), path, line)
        self.acknowledged.add(line)
        await asyncio.sleep(self.pace_seconds / 4)
        return line

    async def say(self, text: str, *lines: str) -> None:
        """Print a sentence, and lines of files: "+" for added lines."""
        STDOUT.print(Padding.indent(Text(text), 2), soft_wrap=False)
        for line in lines:
            STDOUT.print(Text(f"    {line.rstrip()}", style="green" if line.startswith("+") else "cyan"))
        await asyncio.sleep(2 * self.pace_seconds)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> bool:
        """Wait a few seconds at most until a condition holds. Return True if it does."""
        try:
            async with asyncio.timeout(_SETTLING_SECONDS):
                while not await holds():  # noqa: ASYNC110 - disks and other processes set no event
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            return False
        return True

    async def is_settled(self) -> bool:
        """Return True if nothing is pending, and the mirror is ready and complete."""
        status = await self.files.status()
        mirror = status["mirrors"]["mirror"]
        return not status["pending"] and mirror["state"] == "ready" and not mirror["behind"]


async def _play(*, on_page: bool) -> list[CountRow]:
    folder = Path(tempfile.mkdtemp(prefix="filetools-demo-"))
    use_user_directory(folder / "configuration")
    root, mirror = folder / "project", folder / "mirror"
    try:
        for path, text in PROJECT.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        async with open_workspace(root, mirror=mirror, settings=SETTINGS) as files:
            await files.sync_all()
            return await _played(Play(files, root, mirror), on_page=on_page)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _played(play: Play, *, on_page: bool) -> list[CountRow]:
    await play.say(f"A project of {len(PROJECT)} files in a temporary folder, with a mirror of it in another.")
    async with _page_of(play) if on_page else nullcontext():
        for title, part in PARTS.items():
            _print_title(title)
            await part(play)
        await play.until(play.is_settled)
        await play.files.look()
        await play.until(play.is_settled)
    return await counted(play)


@asynccontextmanager
async def _page_of(play: Play) -> AsyncIterator[None]:
    """Serve the project, open a browser, wait for it, and slow the play down.

    Raises:
        NetworkError: The server does not start.
    """
    command = ("serve", str(play.root), "--port", "0", "--open", "--permissions", "allow")
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "filetools", *command, start_new_session=True,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdout is not None
    try:
        *_, login = [(await server.stdout.readline()).decode().strip() for _ in range(3)]
        if not login:
            raise NetworkError("The server of the page does not start", suggested_action="See why: filetools serve .")
        await play.say(
            "Your browser opens the editor page; elsewhere, once and within a minute:", login.rpartition(" ")[2]
        )
        await play.say(f"Open README.md or src/tally.py in it; the play begins in {WAIT_SECONDS} seconds.")
        sys.stdout.flush()
        await asyncio.sleep(WAIT_SECONDS)
        play.pace_seconds = PACE_SECONDS
        yield
    finally:
        if server.returncode is None:
            server.terminate()
            await server.wait()


async def _write_together(play: Play) -> None:

    async def work(name: str) -> None:
        for _ in range(ROUNDS):
            for path in SHARED:
                newest[name] = await play.insert(name, path)

    async def shell() -> None:
        for path in SHARED[:2] * ROUNDS:
            newest["shell"] = play.line("shell", path)
            target = str(play.root / path)
            process = await asyncio.create_subprocess_exec(
                "sh", "-c", 'echo "$1" >> "$2"', "sh", newest["shell"], target
            )
            if await process.wait() == 0:
                play.acknowledged.add(newest["shell"])
            await asyncio.sleep(play.pace_seconds / 4 + _POLL_SECONDS)

    newest: dict[str, str] = {}
    async with asyncio.TaskGroup() as group:
        for each in (work("alice"), work("bob"), shell()):
            group.create_task(each)
    await play.say("Each of them added lines to the shared files, such as", *(f"+ {each}" for each in newest.values()))
    await play.say(
        f"{play.repeated} writes of the agents were refused because the file had changed, and repeated on the newer text."
    )


async def _type_without_saving(play: Play) -> None:
    ann, alice, bob = (play.actor(name) for name in ("ann", "alice", "bob"))
    opened = await ann.buffers.open(CODE)
    typed, version = play.line("ann", CODE), opened.buffer_version
    for place, letter in enumerate(f"{typed}\n"):  # one keystroke at a time
        edits = [TextEdit(place, place, letter)]
        version = (await ann.buffers.change(opened.handle, buffer_version=version, edits=edits)).buffer_version
        await asyncio.sleep(play.pace_seconds / 10)
    await play.say(f"Ann has typed a line into {CODE}, and not saved it:", f"+ {typed}")
    if typed in (await alice.read_file(CODE)).content and typed not in (play.root / CODE).read_text(encoding="utf-8"):
        await play.say("Alice reads the file and sees that line, although it is not on the disk.")

    added = play.line("bob", CODE)
    await bob.append_file(CODE, f"{added}\n")
    play.acknowledged.add(added)
    if {typed, added} <= {*(await play.files.read_file(CODE)).content.splitlines()}:
        await play.say("Bob adds a line at the end. It is on the disk, and appears in Ann's editor.", f"+ {added}")

    answer = play.line("alice", CODE)
    if (await alice.edit_file(CODE, [Edit(old=f"{typed}\n", new=f"{typed}\n{answer}\n")])).in_buffer:
        await play.say("Alice answers Ann's line. That goes into Ann's editor, not to the disk.", f"+ {answer}")

    refused = play.line("bob", CODE)
    disk = await bob.read_file(CODE, view="disk")
    try:
        await bob.write_file(CODE, f"{refused}\n{disk.content}", expected_version=disk.version)
    except EditConflictError as error:
        (conflict, *_) = error.details["conflicts"]
        sides = (("ann", "current"), ("bob", "yours"))
        shown = (f"{name} | {line}" for name, side in sides for line in conflict[side].splitlines())
        await play.say("Bob writes where Ann is typing: refused as EDIT_CONFLICT, with both texts.", *shown)

    saved = await ann.buffers.save(opened.handle)
    play.acknowledged.update((typed, answer))
    await ann.buffers.close(opened.handle)
    await play.say(f"Ann saves: her line and those of the agents are in the file, version {saved.version[7:19]}.")


async def _lose_the_mirror(play: Play) -> None:
    # A mode would not stop root.
    away = play.mirror.with_name("mirror-away")
    play.mirror.rename(away)
    play.mirror.touch()
    try:
        for path in PROJECT:
            for name in ("alice", "bob"):
                await play.insert(name, path)
        behind = (await play.files.status())["mirrors"]["mirror"]["behind"]
    finally:
        play.mirror.unlink()
        away.rename(play.mirror)
    await play.say(
        f"Alice and Bob made {2 * len(PROJECT)} edits. The mirror is back, and {behind} files in it are old."
    )
    if await play.until(play.is_settled):
        await play.say("The mirror has caught up by itself.")


async def _kill_a_writer(play: Play) -> None:
    # -P: a file json.py in the working folder must not shadow Python's own. A new session: Ctrl-C is only for us.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "filetools.cli.demo.agent", str(play.root), str(play.mirror), "carol", *PROJECT,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    output, done = b"", 0
    try:
        while done < KILLED_AFTER and (line := await process.stdout.readline()):
            output += line
            done += line.startswith(b"done")
    finally:
        process.kill()
        await process.wait()
    pending = (await play.files.status())["pending"]
    # Reports from before it died count, too: an acknowledged edit must be there.
    reports = (output + await process.stdout.read()).decode().splitlines()
    for word, number, path in (report.split(" ", 2) for report in reports):
        edit = remark("carol", int(number), path)
        play.begun[edit] = "carol", path
        if word == "done":
            play.acknowledged.add(edit)
    done = sum(report.startswith("done") for report in reports)
    more = f"; {pending} more were in the journal, and not yet in the files" if pending else ""
    await play.say(f"Carol is killed after {done} edits{more}.")
    if await play.until(play.is_settled):
        completed = "The surviving process has completed the others. " if pending else ""
        await play.say(f"{completed}Every edit acknowledged to Carol is in the files.")


PARTS: Final = {
    "Two agents and a shell write to the same files at once": _write_together,
    "Ann types and does not save; the agents continue": _type_without_saving,
    "The mirror is lost; the work continues": _lose_the_mirror,
    "A second process writes, and is killed in the middle of it": _kill_a_writer,
}


def _print_count(found: list[CountRow]) -> None:
    verdicts = {True: Text("ok", "green"), False: Text("BROKEN", "bold red")}
    _print_title("The count")
    print_table(((row.name, Text(row.value, "bold"), verdicts[row.holds]) for row in found), "", "", "")


def _print_title(title: str) -> None:
    STDOUT.print()
    STDOUT.print(Rule(Text(title, "bold"), align="left", style="dim"), soft_wrap=False)
