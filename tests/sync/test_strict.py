"""The strict policy: a change that a mirror does not follow is taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import BatchFailedError, DiskFullError
from filetools.facade.facade import FileToolsFacade
from filetools.stores.local import LocalStore
from tests.support.crashing import grow, snapshot
from tests.support.mirror_worlds import QUICK, Hang, caught_up, scripted, tree
from tests.support.opened import refused, told

BEFORE: dict[str, bytes | None] = {"a": b"a", "b": b"b", "c": b"c", "d": None, "d/e": b"e", "f": None, "f/g": b"g"}


class Refuse:
    """Fails a call of one path while it is on."""

    def __init__(self, method: str, path: str) -> None:
        self._at = (method, path)
        self.is_on = False

    def __call__(self, method: str, path: str) -> None:
        if self.is_on and (method, path) == self._at:
            raise DiskFullError(path)


@asynccontextmanager
async def strictly(
    tmp_path: Path, inner: LocalStore, before: Any, **settings: Any
) -> AsyncIterator[tuple[FileToolsFacade, Path]]:
    """Open a root with a strict mirror that has everything."""
    root = tmp_path / "root"
    grow(root, BEFORE)
    mirror = scripted(inner, before=before)
    async with filetools.open(root, mirror=mirror, mirror_policy="strict", settings={**QUICK, **settings}) as files:
        await caught_up(files)
        yield files, root


@pytest.mark.parametrize("method", ["prepare", "Prepared.exchange"])
async def test_a_change_that_the_mirror_refuses_is_taken_back(inner: LocalStore, tmp_path: Path, method: str) -> None:
    refuse = Refuse(method, "last")
    async with strictly(tmp_path, inner, refuse) as (files, root):
        heard = told(files, "file:*")
        refuse.is_on = True
        error = await refused("SYNC_FAILED", files.write_file("last", "refused"))
        assert error.message == "The mirror is not in sync with last: No space left for last"
        items = [{"path": path, "content": "changed"} for path in ("a", "new/file", "last")]
        with pytest.raises(BatchFailedError, match="is not in sync with"):
            await files.write_multiple(items)
        assert snapshot(root) == BEFORE
        refuse.is_on = False
        await caught_up(files)
        assert tree(inner) == snapshot(root)
        assert heard == []
        assert (await files.write_file("last", "taken")).mirror == "in_sync"
        assert tree(inner)["last"] == b"taken"


@pytest.mark.parametrize("call", ["move", "folder", "delete", "delete folder", "make"])
async def test_every_kind_of_change_is_taken_back(inner: LocalStore, tmp_path: Path, call: str) -> None:
    hang = Hang()
    async with strictly(tmp_path, inner, hang, lock_timeout_seconds=0.3) as (files, root):
        changes: dict[str, Callable[[], Awaitable[Any]]] = {
            "move": lambda: files.move_file("b", "c", overwrite=True),
            "folder": lambda: files.move_file("f", "moved"),
            "delete": lambda: files.delete_file("d/e"),
            "delete folder": lambda: files.delete_directory("d", recursive=True),
            "make": lambda: files.create_directory("x/y"),
        }
        hang.on()
        error = await refused("SYNC_FAILED", changes[call]())
        assert "does not answer in time" in error.message
        assert snapshot(root) == BEFORE
        hang.off()
        await caught_up(files)
        assert tree(inner) == snapshot(root)


async def test_a_mirror_that_does_not_answer_refuses_later_changes_at_once(inner: LocalStore, tmp_path: Path) -> None:
    hang = Hang()
    async with strictly(tmp_path, inner, hang, lock_timeout_seconds=0.1) as (files, _):
        hang.on()
        await refused("SYNC_FAILED", files.write_file("a", "1"))
        position = (await files.status())["position"]
        error = await refused("SYNC_FAILED", files.write_file("a", "1"))
        assert "does not answer in time" in error.message
        assert (await files.status())["position"] == position  # nothing was recorded, and nothing taken back
        hang.off()


async def test_a_paused_mirror_refuses(inner: LocalStore, tmp_path: Path) -> None:
    async with strictly(tmp_path, inner, lambda method, path: None) as (files, root):
        files._parts.sync.pause()
        error = await refused("SYNC_FAILED", files.write_file("a", "1"))
        assert "is paused" in error.message
        assert snapshot(root) == BEFORE
