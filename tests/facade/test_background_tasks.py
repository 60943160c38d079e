"""The background work: what happens without any call."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

import filetools
from filetools.errors import VersionMismatchError

DYING_WRITER = """
import asyncio, filetools, os, sys
async def main():
    async with filetools.open(sys.argv[1], settings={"watch": False}) as files:
        await files.write_file("a.txt", "two")
        os._exit(0)
asyncio.run(main())
"""
PATIENCE_SECONDS = 60


async def test_a_change_of_a_dead_process_is_published_although_the_call_that_recovered_it_was_refused(
    tmp_path: Path,
) -> None:
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
