"""Real programs keep saving a file while two agents write it: filetools loses no text."""

from __future__ import annotations

import asyncio
import shutil
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import Actor, Edit
from filetools.content.version import version_of
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import leftovers
from tests.support.dose import DOSE
from tests.support.forked import forked
from tests.support.opened import steps_until, told
from tests.support.programs import WAYS, make_repository, text_of, token

SAVES = 1000 if DOSE > 1 else 60
SECONDS = 0.3 * DOSE
"""How long one program keeps saving."""
PATH = "a.txt"
EXPECTED = {
    "EDIT_NOT_FOUND", "EDIT_AMBIGUOUS", "EDIT_CONFLICT", "VERSION_MISMATCH", "FILE_BUSY", "FILE_NOT_FOUND",
    "CHANGED_MEANWHILE", "INVALID_ARGUMENT",
}  # fmt: skip
Facts = list[dict[str, Any]]


async def work(files: FileToolsFacade, name: str, writes: Facts) -> None:
    """Change an agent's own line, by edits and by whole writes, until cancelled; note what was acknowledged."""
    agent, serial = files.for_actor(Actor(kind="agent", id=name)), 0
    while True:
        serial += 1
        began = time.monotonic_ns()
        try:
            text = (await agent.read_file(PATH)).content
            old = next((line for line in text.splitlines() if line.startswith(f"{name}: ")), "line 3")
            if serial % 2:
                done: Any = await agent.edit_file(PATH, [Edit(old=f"{old}\n", new=f"{name}: {serial}\n")])
            else:
                done = await agent.write_file(PATH, text.replace(f"{old}\n", f"{name}: {serial}\n"))
        except filetools.FileToolsError as exc:
            if exc.code not in EXPECTED:
                raise
        else:
            versions = {done.version, done.replaced_version} - {None}
            writes.append({"began": began, "ended": time.monotonic_ns(), "versions": versions})
        await asyncio.sleep(0.001)


async def texts_of(files: FileToolsFacade) -> dict[str, str]:
    """Return every text in the file's history, by version."""
    versions = {entry.version for entry in (await files.versions(PATH, limit=100_000)).versions if entry.kept}
    return {version: (await files.read_file(PATH, version=version)).content for version in versions}


def displaced_for_sure(saves: Facts, writes: Facts) -> list[int]:
    """Return the saves that an agent's write replaced, because it began and ended before the program's next save."""
    return [
        save["number"]
        for save, following in pairwise(saves)
        if save["is_done"] and any(save["ended"] < one["began"] and one["ended"] < following["began"] for one in writes)
    ]


@pytest.mark.parametrize("way", WAYS)
async def test_no_text_of_a_program_is_lost_by_an_act_of_ours(tmp_path: Path, way: str) -> None:
    if shutil.which(WAYS[way][0]) is None:
        pytest.skip(f"{WAYS[way][0]} is not installed")
    place = tmp_path / "root" / PATH
    place.parent.mkdir()
    if way.startswith("git"):
        make_repository(place, SAVES)
    place.write_text(text_of(0))
    async with filetools.open(place.parent, settings={"durability": "relaxed", "sync_after_seconds": 0.05}) as files:
        events, writes = told(files, "file:*"), Facts()
        agents = [asyncio.create_task(work(files, name, writes)) for name in ("ann", "bob")]
        with forked("tests.support.programs", way, place, str(SAVES), str(SECONDS)) as program:
            saves = await asyncio.to_thread(lambda: list(program.rest()))
        await steps_until(lambda: writes)
        for agent in agents:
            agent.cancel()
        assert [type(end) for end in await asyncio.gather(*agents, return_exceptions=True)] == [
            asyncio.CancelledError
        ] * 2
        last = token([save["number"] for save in saves if save["is_done"]][-1])
        texts: dict[str, str] = {}
        async with asyncio.timeout(60):
            while leftovers(place.parent) or not any(last in text for text in texts.values()):
                await asyncio.sleep(0.02)
                texts = await texts_of(files)
        texts = await texts_of(files)
        assert [one for one in writes if not one["versions"] <= texts.keys()] == []
        known = "".join(texts.values())
        assert [number for number in displaced_for_sure(saves, writes) if token(number) not in known] == []
        assert any(last in texts.get(str(event.to_dict().get("version")), "") for event in events)
        assert version_of(place.read_bytes()) in texts
