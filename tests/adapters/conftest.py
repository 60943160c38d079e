"""A workspace in which two agents work, with a file for each kind of bad input."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade

T = TypeVar("T")

PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))
UNDECODABLE = b"caf\xe9 \xff\xfe\0\n"
LARGE_BYTES = 10 * 1024 * 1024 + 1


@dataclass
class World:
    root: Path
    files: FileToolsFacade
    """Of the agent whose adapter is tried."""
    other: FileToolsFacade
    """Of another agent."""
    closing: AsyncExitStack

    async def close(self) -> None:
        await self.closing.aclose()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    (tmp_path / "notes.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "twice.txt").write_text("same\nbetween\nsame\n")
    (tmp_path / "picture.png").write_bytes(PICTURE)
    (tmp_path / "undecodable.bin").write_bytes(UNDECODABLE)
    (tmp_path / "crlf.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    (tmp_path / "latin.txt").write_bytes("café\nthé\n".encode("latin-1"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "in.txt").write_text("in\n")
    (tmp_path / "large.txt").write_bytes(b"x" * LARGE_BYTES)
    async with AsyncExitStack() as closing:
        files = await closing.enter_async_context(filetools.open(tmp_path))
        alice, bob = (files.for_actor(filetools.Actor(kind="agent", id=name)) for name in ("alice", "bob"))
        yield World(tmp_path, alice, bob, closing)


async def on_another_loop(call: Callable[[], Awaitable[T]]) -> T:
    """Await a call on a loop of another thread."""

    async def main() -> T:
        return await call()

    return await asyncio.to_thread(lambda: asyncio.run(main()))
