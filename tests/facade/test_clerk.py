"""The background work: what it sees to when no call does."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

import filetools
from filetools.errors import VersionMismatchError
from filetools.watch import Hint
from tests.support.crashing import QUIET
from tests.support.opened import clerk_of

DYING_WRITER = """
import asyncio, filetools, os, sys
async def main():
    async with filetools.open(sys.argv[1], settings={"watch": False}) as files:
        await files.write_file("a.txt", "two")
        os._exit(0)
asyncio.run(main())
"""
PATIENCE_SECONDS = 60


async def test_a_change_of_a_dead_process_is_told_although_the_call_that_settled_it_was_refused(tmp_path: Path) -> None:
    settings = {"watch": False, "sync_after_seconds": 0.5}
    async with filetools.open(tmp_path, settings=settings) as files:
        await files.write_file("a.txt", "one")
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING_WRITER, str(tmp_path))
        assert await process.wait() == 0
        with pytest.raises(VersionMismatchError):
            await files.write_file("a.txt", "three", expected_version="sha256:" + "0" * 64)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await files.status())["pending"]:
                await asyncio.sleep(0.02)
        assert (await files.read_file("a.txt")).content == "two"


async def test_hints_that_come_during_a_call_wait_for_it_unless_they_say_different_things(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        clerk, written, moved = clerk_of(files), Hint("changed", "b.txt"), Hint("moved", "b.txt", "a.txt")
        with files._runner._writing(["b.txt"]):
            clerk._take_hints([written, written, Hint("changed", "c.txt")])
            assert clerk._hints == [Hint("changed", "c.txt")]
            # Whatever is at its new name by now, somebody must look at the old one.
            clerk._take_hints([moved])
            assert clerk._hints[1:] == [written, moved]
            clerk._take_hints([moved])
            clerk._take_hints([Hint("changed", "a.txt")])
            assert clerk._hints[3:] == [Hint("changed", "a.txt")]
        clerk._take_overdue_echoes()
        assert clerk._hints[4:] == [moved]
