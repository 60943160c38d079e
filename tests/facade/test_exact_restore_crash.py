"""A restore of links, kinds and modes that dies at any call: what is left is one of the two trees, or restored again."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import filetools
from filetools import Actor
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, count_calls, die_at, moments_of
from tests.support.exact_trees import on_disk
from tests.support.faulty import Plan

ANN = Actor(kind="editor", id="ann")
GROWN = "mkdir -p d/s; echo f > f; echo x > d/x; ln -s f link; ln -s nowhere d/s/dangling; chmod 711 d"
CASES = {
    "links and modes": (
        "rm link d/s/dangling; ln -s d made; ln -s other d/s/dangling; chmod 755 d; chmod 700 d/s",
        False,
    ),
    "kinds": ("rm link; mkdir link; echo y > link/y; rm f; ln -s d f; rm -r d; echo file > d", True),
}
EVERY = max(1, 3 // int(os.environ.get("FILETOOLS_DOSE", "1")))
"""Only each third moment in the short dose."""


async def restore(files: FileToolsFacade) -> object:
    return await files.for_actor(ANN).restore("before")


@pytest.mark.parametrize("name", CASES)
def test_after_a_death_at_any_call_it_is_restored_or_can_be(name: str, tmp_path: Path) -> None:
    deeds, has_phases = CASES[name]
    model = tmp_path / "model"
    model.mkdir()
    subprocess.run(["sh", "-ec", GROWN], cwd=model, check=True)
    wanted = on_disk(model)
    asyncio.run(acting(model, "checkpoint"))
    subprocess.run(["sh", "-ec", deeds], cwd=model, check=True)
    before = on_disk(model)
    counted = copied(model, tmp_path / "counted")
    calls = count_calls(counted, restore).calls
    assert on_disk(counted) == wanted
    for at, moment in moments_of(calls)[::EVERY]:
        root = copied(model, tmp_path / f"{at}-{moment}")
        acknowledged = die_at(root, restore, Plan.die(at, moment, exits=True))
        asyncio.run(settled(root))
        where = (calls[at - 1], moment, acknowledged)
        if acknowledged:
            assert on_disk(root) == wanted, where
        elif not has_phases:
            assert on_disk(root) in (before, wanted), where
        asyncio.run(acting(root, "restore"))
        assert on_disk(root) == wanted, where
        shutil.rmtree(root)


async def settled(root: Path) -> None:
    """Open a root, and wait until nothing is left that a dead process has begun."""
    async with filetools.open(root, settings={**QUIET, "sync_after_seconds": 0.01}) as files:
        pending = files._parts.journal.marks.pending
        for _ in range(6000):
            if not pending():
                break
            await asyncio.sleep(0.01)
        assert pending() == []


async def acting(root: Path, act: str) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await getattr(files.for_actor(ANN), act)("before")


def copied(model: Path, root: Path) -> Path:
    shutil.copytree(model, root, symlinks=True)
    return root
