"""The stage: a copy of a small project in a temporary folder, opened with a mirror, and what everybody does on it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from filetools.app.opening import open_workspace
from filetools.cli.demo.ledger import Ledger
from filetools.cli.demo.narrator import Narrator
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import WriteResult
from filetools.models.records import Actor

SETTINGS: Final[dict[str, Any]] = {
    "durability": "commit",
    "permissions": "allow",
    "mirror_policy": "eventual",
    "mirror_probe_seconds": 0.3,
    "sync_after_seconds": 0.2,
    "watch": True,
}
"""Named all of them, so that settings of the machine do not change the play; a lost mirror is tried again sooner."""
SETTLE_SECONDS: Final = 8.0
POLL_SECONDS: Final = 0.02

EditKind = Callable[[FileToolsFacade, str, str], Awaitable[tuple[WriteResult, int]]]


class Stage:
    """One play: a project with its mirror, opened and perhaps closed and opened again. Lives until the play is over."""

    def __init__(self, folder: Path) -> None:
        """Lay out the project in an empty folder; `open` opens it."""
        self.root = folder / "project"
        self.mirror = folder / "mirror"
        _copy(package_files("filetools.cli.demo") / "project", self.root)
        self.originals = read_tree(self.root)
        """Every file of the project at the start."""
        self.ledger = Ledger()
        self.narrator = Narrator()
        self.children: list[asyncio.subprocess.Process] = []
        """Processes that a scene has started; none outlives the play."""
        self.pace_seconds = 0.0
        """Pause between steps, for people who look on."""
        self._files: FileToolsFacade | None = None
        self._opened = AsyncExitStack()

    @property
    def files(self) -> FileToolsFacade:
        """The opened workspace."""
        assert self._files is not None
        return self._files

    async def open(self) -> None:
        """Open the workspace."""
        opening = open_workspace(self.root, mirror=self.mirror, settings=SETTINGS)
        self._files = await self._opened.enter_async_context(opening)

    async def close(self) -> None:
        """Close the workspace, if it is open."""
        self._files = None
        await self._opened.aclose()

    async def edit(self, actor: str, path: str, how: EditKind) -> WriteResult:
        """Let an agent make one edit, and keep the books."""
        mark = self.ledger.begin(actor)
        files = self.files.for_actor(Actor(kind="agent", id=actor, session="demo"))
        result, retries = await how(files, path, mark)
        # Where a person at the page has unsaved text, an edit of it goes to the disk when that is saved.
        (self.ledger.unsaved if result.in_buffer else self.ledger.acknowledged).add(mark)
        self.ledger.retries += retries
        await self.pause()
        return result

    async def stranger(self, name: str, path: str, how: Callable[[Path, str, str], Awaitable[bool]]) -> None:
        """Let another program make one edit, and keep the books."""
        mark = self.ledger.begin(name)
        if await how(self.root, path, mark):
            self.ledger.foreign[mark] = path
        await self.pause()

    async def pause(self, share: float = 1.0) -> None:
        """Let those who look on follow, if there are any."""
        await asyncio.sleep(share * self.pace_seconds)

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds: float = SETTLE_SECONDS) -> bool:
        """Wait until a condition holds, a few seconds at most; whether it does."""
        try:
            async with asyncio.timeout(seconds):
                while not await holds():  # noqa: ASYNC110 - disks and other processes set no event
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            return False
        return True

    async def is_mirror_up(self) -> bool:
        """Whether the mirror answers and owes nothing."""
        mirror = (await self.files.status())["mirrors"]["mirror"]
        return mirror["state"] == "ready" and not mirror["behind"]


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    """Set the stage in a temporary folder and open it; everything is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="filetools-demo-"))
    try:
        stage = Stage(folder)
        try:
            await stage.open()
            await stage.files.sync_all()
            yield stage
        finally:
            for child in stage.children:
                if child.returncode is None:
                    child.kill()
                    await child.wait()
            await stage.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder by its path, what filetools keeps for itself left out."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        inside.as_posix(): path.read_bytes()
        for path in found
        if (inside := path.relative_to(folder)).parts[0] != ".filetools"
    }


def _copy(source: Traversable, target: Path) -> None:
    target.mkdir()
    for entry in source.iterdir():
        if entry.name == "__pycache__":  # the installer may have compiled the project's modules
            continue
        if entry.is_dir():
            _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
