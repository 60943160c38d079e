"""A call that exceeds its time limit: before its commit nothing is changed; a finished change is reported as done."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.tools.registry import ToolRegistry
from filetools.tools.tool import AbortSignal
from tests.support.crashing import QUIET
from tests.support.opened import ScriptedOpening, refused, steps_until

PATCH = "*** Begin Patch\n" + "".join(f"*** Add File: {number}\n+x\n" for number in range(40)) + "*** End Patch"
ITEMS = [{"path": str(number), "content": "x\n"} for number in range(40)]
LIMIT_SECONDS = 20.0
"""Longer than a slow machine takes to reach the point where the call is held."""
CALLS: dict[str, dict[str, Any]] = {"apply_patch": {"patch": PATCH}, "write_multiple": {"items": ITEMS}}


class Held:
    """Holds the first call of a store's method until the time limit of the call that makes it has passed."""

    def __init__(self, method: str) -> None:
        self._method = method
        self.passed = threading.Event()
        self.count = 0

    def __call__(self, method: str, path: str) -> None:
        if method == self._method and not path.startswith("."):
            self.count += 1
            assert self.passed.wait(60)


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("method", ["prepare", "Prepared.exchange"])
async def test_a_finished_change_is_reported_as_done_and_the_rest_is_not_begun(
    tmp_path: Path, tool: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, loop = Held(method), asyncio.get_running_loop()
    root = tmp_path / "root"
    root.mkdir()
    async with (
        ScriptedOpening(root, before=held, settings={"tool_timeout_seconds": LIMIT_SECONDS}) as files,
        asyncio.timeout(60),
    ):
        call = asyncio.ensure_future(files.call_tool(tool, CALLS[tool]))
        await steps_until(lambda: held.count)
        clock = loop.time
        monkeypatch.setattr(loop, "time", lambda: clock() + LIMIT_SECONDS)
        loop.call_later(0, held.passed.set)  # timers go off in order: the limit's, then this one
        envelope = await call
        made = [each for each in root.iterdir() if each.name != ".filetools"]
        if method == "prepare":
            assert (envelope["error_code"], made, held.count) == ("TIMEOUT", [], 1)
        else:
            assert (envelope["success"], len(made)) == (True, 40)


@pytest.mark.parametrize("method", ["prepare", "Prepared.exchange"])
async def test_an_aborted_write_stops_before_its_commit_or_reports_that_it_is_done(tmp_path: Path, method: str) -> None:
    held, signal = Held(method), AbortSignal()
    root = tmp_path / "root"
    root.mkdir()
    large = "0123456789abcdef" * 65536
    async with ScriptedOpening(root, before=held, settings={}) as files, asyncio.timeout(60):
        since = await files.position()
        writing = ToolRegistry(files).call("write_file", {"path": "a.txt", "content": large}, abort=signal)
        call = asyncio.ensure_future(writing)
        await steps_until(lambda: held.count)
        signal.abort()
        asyncio.get_running_loop().call_later(0.1, held.passed.set)
        envelope = await call
        changes = [record.path for record in (await files.changes(since, actors=[files.actor])).records]
        if method == "prepare":
            assert (envelope["error_code"], changes) == ("ABORTED", [])
            assert not (root / "a.txt").exists()
        else:
            assert (envelope["success"], changes) == (True, ["a.txt"])
            assert (root / "a.txt").read_text() == large


async def test_a_patch_is_bounded_as_every_batch(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n" + "".join(f"*** Delete File: {number}\n" for number in range(1001)) + "*** End Patch"
    async with filetools.open(tmp_path, settings=QUIET) as files:
        assert "1000 files" in str(await refused("INVALID_ARGUMENT", files.apply_patch(patch)))
