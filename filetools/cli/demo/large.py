"""The scene of a large result: a listing that no model can take at once is paged, searched, saved and taken back."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from filetools.app.opening import open_workspace
from filetools.cli.demo.narrator import Narrator
from filetools.cli.demo.stage import SETTINGS
from filetools.cli.terminal import STDERR
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.tools.registry import ToolRegistry

FOLDERS: Final = 100
FILES_OF_FOLDER: Final = 500
SAVED: Final = "found/listing.txt"
LISTED: Final = 1000
_MOST_LINES: Final = 8
"""Lines shown of a frame, at each of its ends."""


async def play_large() -> bool:
    """Play it in a temporary folder and print the frames; whether each step did what it promises."""
    folder = Path(tempfile.mkdtemp(prefix="filetools-demo-"))
    try:
        _fill(folder)
        async with open_workspace(folder, settings={**SETTINGS, "watch": False}) as files:
            return await _Large(files.for_actor(Actor(kind="agent", id="alice", session="demo"))).play()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(folder: Path) -> None:
    bar = Progress(
        TextColumn("making files"), BarColumn(), MofNCompleteColumn(), console=STDERR.console, transient=True,
        disable=not STDERR.is_terminal,
    )  # fmt: skip
    with bar:
        for number in bar.track(range(FOLDERS)):
            part = folder / f"part-{number:02}"
            part.mkdir()
            for name in range(FILES_OF_FOLDER):
                (part / f"record-{name:03}.json").touch()


class _Large:
    def __init__(self, files: FileToolsFacade) -> None:
        self._files = files
        self._tools = ToolRegistry(files, descriptors=files.descriptors())
        self._narrator = Narrator()
        self._holds = True

    async def play(self) -> bool:
        total = FOLDERS * FILES_OF_FOLDER
        self._narrator.heading("A result that is too large for a model")
        listing = await self._call("list_files", {"recursive": True, "limit": LISTED})
        self._check(listing.get("fd") == "fd:1", f"the first {LISTED:,} of {total:,} files are kept as fd:1")
        found = await self._call("search_fd", {"fd": "fd:1", "pattern": "part-01/record-007"})
        self._check(len(found["matches"]) == 1, "one line of them is found without reading the rest")
        page = await self._call(
            "read_fd", {"fd": "fd:1", "mode": "line", "start": found["matches"][0]["line"], "count": 2}
        )
        self._check("record-007" in page["content"], "it is read by its number")
        told: list[str] = []
        subscription = self._files.on("file:created", lambda event: told.append(str(event.to_dict())))
        written = await self._call("fd_to_file", {"fd": "fd:1", "file_path": SAVED})
        subscription.unsubscribe()
        self._check(any(SAVED in event for event in told), "editors are told: file:created")
        self._check(await self._size() == written["size_bytes"], "all of it stands in the file")
        await self._call("undo_changes", {})
        self._check(not await self._files.exists(SAVED), "undone: the file is gone again")
        return self._holds

    async def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        self._narrator.say(f"{name}({given})")
        envelope = await self._tools.call(name, arguments)
        lines = self._tools.show(name, envelope).text.split("\n")
        if len(lines) > 2 * _MOST_LINES:
            lines[_MOST_LINES:-_MOST_LINES] = [f"… {len(lines) - 2 * _MOST_LINES} lines …"]
        self._narrator.show(*lines)
        data: dict[str, Any] = envelope.get("data", {})
        self._holds = self._holds and envelope["success"]
        return data

    async def _size(self) -> int:
        return (await self._files.file_info(SAVED)).size or 0

    def _check(self, holds: bool, sentence: str) -> None:
        self._holds = self._holds and holds
        self._narrator.note(f"{'ok' if holds else 'BROKEN'}: {sentence}")
