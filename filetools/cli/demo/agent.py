"""An agent of the demo: reads a file, waits, and writes it back. As a program, it repeats this until it is killed."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

from filetools.app.opening import open_workspace
from filetools.errors import ChangedMeanwhileError, FileBusyError, VersionMismatchError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor

SETTINGS: Final[dict[str, Any]] = {
    "durability": "commit",
    "permissions": "allow",
    "mirror_policy": "eventual",
    "mirror_probe_seconds": 0.3,
    "sync_after_seconds": 0.2,
    "watch": True,
}
"""All settings are given, so that those of the machine do not change the demo; a lost mirror is probed more often."""
THINKING_SECONDS: Final = 0.005
"""Pause between reading and writing, in which others may write."""
_REMARKS: Final = (
    "count words, not letters",
    "say what it prints",
    "what about empty files?",
    "close the file when done",
    "show the largest first",
    "two lines are enough",
    "ask before it deletes",
)


def remark(name: str, number: int, path: str) -> str:
    """Return the line added to a file by the edit with this number; it is unique to the edit."""
    return f"{'# ' if path.endswith('.py') else '- '}{name} {number}: {_REMARKS[number % len(_REMARKS)]}"


async def insert(files: FileToolsFacade, path: str, line: str) -> int:
    """Insert a line in the middle of a file, and return the number of retries.

    The write expects the version that was read, and is refused if another writer has changed the file meanwhile.
    """
    tries = 0
    while True:
        before = await files.read_file(path)
        await asyncio.sleep(THINKING_SECONDS)
        lines = before.content.splitlines(keepends=True)
        lines.insert(len(lines) // 2, f"{line}\n")
        try:
            await files.write_file(path, "".join(lines), expected_version=before.version)
        except (VersionMismatchError, ChangedMeanwhileError, FileBusyError):
            tries += 1
        else:
            return tries


async def main(root: str, mirror: str, name: str, *paths: str) -> None:
    """Edit until killed, and report each edit when it begins and when it is acknowledged."""
    async with open_workspace(root, mirror=mirror, settings=SETTINGS) as opened, asyncio.TaskGroup() as group:
        for place, path in enumerate(paths):
            files = opened.for_actor(Actor(kind="agent", id=name, session="demo"))
            group.create_task(_edit_until_killed(files, path, 1000 * place))


async def _edit_until_killed(files: FileToolsFacade, path: str, number: int) -> None:
    while True:
        number += 1
        for word in ("begun", "done"):
            # One system call per line: if the process is killed, a line is written completely or not at all.
            sys.stdout.write(f"{word} {number} {path}\n")
            sys.stdout.flush()
            if word == "begun":
                await insert(files, path, remark(files.actor.id, number, path))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
