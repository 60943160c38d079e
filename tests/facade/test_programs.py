"""Real programs that know nothing of filetools save a file all the time while two agents write it: no text is lost by us."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import Actor, Edit
from filetools.content.version import version_of
from filetools.facade.facade import FileToolsFacade
from tests.support import programs
from tests.support.crashing import leftovers
from tests.support.programs import WAYS, Save, text_of, token

DOSE = float(os.environ.get("FILETOOLS_DOSE", "1"))
SAVES = 1000 if DOSE > 1 else 60
SECONDS = 0.4 * DOSE
"""How long one program goes on saving."""
SETTINGS: dict[str, Any] = {"durability": "relaxed", "sync_after_seconds": 0.05}
PATH = "a.txt"
_EXPECTED = {
    "EDIT_NOT_FOUND", "EDIT_AMBIGUOUS", "EDIT_CONFLICT", "VERSION_MISMATCH", "FILE_BUSY", "FILE_NOT_FOUND",
    "CHANGED_MEANWHILE", "INVALID_ARGUMENT",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One acknowledged write of an agent."""

    began_ns: int
    ended_ns: int
    version: str
    replaced: str | None


@dataclass
class World:
    """A root with a file in it, its agents and what they did."""

    root: Path
    files: FileToolsFacade
    events: list[dict[str, Any]] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    refusals: dict[str, int] = field(default_factory=dict)
    is_over: bool = False

    async def work(self, name: str) -> None:
        """Change one's own line, now by an edit and now by a whole write, until it is over."""
        agent = self.files.for_actor(Actor(kind="agent", id=name))
        serial = 0
        while not self.is_over:
            serial += 1
            began = time.monotonic_ns()
            try:
                version, replaced = await self._change(agent, name, serial)
            except filetools.FileToolsError as exc:
                if exc.code not in _EXPECTED:
                    raise
                self.refusals[exc.code] = self.refusals.get(exc.code, 0) + 1
            else:
                ended = time.monotonic_ns()
                self.writes.append(Write(began_ns=began, ended_ns=ended, version=version, replaced=replaced))
            await asyncio.sleep(0.001)

    async def _change(self, agent: FileToolsFacade, name: str, serial: int) -> tuple[str, str | None]:
        text = (await agent.read_file(PATH)).content
        old = next((line for line in text.splitlines() if line.startswith(f"{name}: ")), "line 3")
        if serial % 2:
            edit = await agent.edit_file(PATH, [Edit(old=f"{old}\n", new=f"{name}: {serial}\n")])
            return edit.version, edit.replaced_version
        write = await agent.write_file(PATH, text.replace(f"{old}\n", f"{name}: {serial}\n"))
        return write.version, write.replaced_version

    async def texts(self) -> dict[str, str]:
        """Return every text that the path's history can give back, by version."""
        entries = (await self.files.versions(PATH, limit=100_000)).versions
        found = {}
        for version in {entry.version for entry in entries}:
            found[version] = (await self.files.read_file(PATH, version=version)).content
        return found


async def saves_of(way: str, place: Path) -> list[Save]:
    """Run a program to its end; returns what it saved."""
    command = (sys.executable, "-m", programs.__name__, way, str(place), str(SAVES), str(SECONDS), "1")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return [Save(*json.loads(line)) for line in output.splitlines()]


def displaced_for_sure(saves: list[Save], writes: list[Write]) -> list[int]:
    """Return the saves behind which an agent's write began and ended before the program saved again: it took them away."""
    found = []
    for save, following in pairwise(saves):
        between = (save.ended_ns < one.began_ns and one.ended_ns < following.began_ns for one in writes)
        if save.is_done and any(between):
            found.append(save.number)
    return found


@pytest.mark.parametrize("way", WAYS)
async def test_no_text_of_a_program_is_lost_by_an_act_of_ours(tmp_path: Path, way: str) -> None:
    if shutil.which(WAYS[way][0]) is None:
        pytest.skip(f"{WAYS[way][0]} is not installed")
    root = tmp_path / "root"
    root.mkdir()
    place = root / PATH
    if way.startswith("git"):
        programs.make_repository(place, SAVES)
    place.write_text(text_of(0))
    async with filetools.open(root, settings=SETTINGS) as files:
        world = World(root, files)
        files.on("file:*", lambda event: world.events.append(event.to_dict()))
        agents = [asyncio.create_task(world.work(name)) for name in ("ann", "bob")]
        saves = await saves_of(way, place)
        world.is_over = True
        await asyncio.gather(*agents)
        await assert_nothing_is_lost(world, saves)


async def assert_nothing_is_lost(world: World, saves: list[Save]) -> None:
    done = [save.number for save in saves if save.is_done]
    assert done
    assert world.writes
    texts: dict[str, str] = {}
    async with asyncio.timeout(60):
        while leftovers(world.root) or not any(token(done[-1]) in text for text in texts.values()):
            await asyncio.sleep(0.05)
            texts = await world.texts()
    texts = await world.texts()
    assert [one for one in world.writes if one.version not in texts] == []
    assert [one for one in world.writes if one.replaced is not None and one.replaced not in texts] == []
    known = "".join(texts.values())
    surely = displaced_for_sure(saves, world.writes)
    assert [number for number in surely if token(number) not in known] == []
    last = {version for version, text in texts.items() if token(done[-1]) in text}
    assert last & {event.get("version") for event in world.events}
    assert version_of((world.root / PATH).read_bytes()) in texts
