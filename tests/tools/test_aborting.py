"""Calls that are stopped at any moment: what is told is what is so, and a call that fails has changed nothing."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.changes.deciding import files as decisions
from filetools.facade import tree_calls
from filetools.tools.registry import ToolRegistry
from filetools.tools.tool import AbortSignal
from tests.support.crashing import QUIET

ROUNDS = 12 * int(os.environ.get("FILETOOLS_DOSE", "1"))
LARGE = "line of a large text\n" * 100_000


def made(root: Path, number: int) -> dict[str, bool]:
    """Whether the call of each kind has done its work in a round."""
    edited, patched = root / f"e{number}", root / f"p{number}"
    return {
        "write_file": (root / f"w{number}").exists(),
        "edit_file": edited.exists() and edited.read_text().endswith("new"),
        "apply_patch": patched.exists() and patched.read_text() == "a\nc\n",
        "move_file": (root / f"n{number}").exists(),
        "delete_file": not (root / f"d{number}").exists(),
        "write_multiple": (root / f"m{number}" / "0").exists(),
        "undo_changes": not (root / f"u{number}").exists(),
    }


async def prepare(files: filetools.FileToolsFacade, kind: str, number: int) -> dict[str, Any]:
    """Lay out what a call works on and return its arguments."""
    match kind:
        case "write_file":
            return {"path": f"w{number}", "content": LARGE}
        case "edit_file":
            await files.write_file(f"e{number}", LARGE + "old")
            return {"path": f"e{number}", "edits": [{"old_string": "old", "new_string": "new"}]}
        case "apply_patch":
            await files.write_file(f"p{number}", "a\nb\n")
            return {"patch": f"--- a/p{number}\n+++ b/p{number}\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"}
        case "move_file":
            await files.write_file(f"s{number}", "x")
            return {"source": f"s{number}", "destination": f"n{number}"}
        case "delete_file":
            for name in range(20):
                await files.write_file(f"d{number}/{name}", "x")
            return {"path": f"d{number}", "recursive": True}
        case "write_multiple":
            return {"items": [{"path": f"m{number}/{name}", "content": "x" * 1000} for name in range(30)]}
        case _:
            await files.write_file(f"u{number}", "x")
            return {"path": f"u{number}"}


@pytest.mark.parametrize(
    "kind",
    ["write_file", "edit_file", "apply_patch", "move_file", "delete_file", "write_multiple", "undo_changes"],
)
async def test_a_call_that_is_aborted_is_done_and_told_as_done_or_has_changed_nothing(
    tmp_path: Path, kind: str
) -> None:
    chance, told = random.Random(kind), []
    async with filetools.open(tmp_path, settings=QUIET) as files:
        tools = ToolRegistry(files, require_version=False)
        for number in range(ROUNDS):
            arguments, signal = await prepare(files, kind, number), AbortSignal()
            asyncio.get_running_loop().call_later(chance.uniform(0, 0.02), signal.abort)
            envelope = await tools.call(kind, arguments, abort=signal)
            assert envelope["success"] == made(tmp_path, number)[kind], envelope
            if not envelope["success"]:
                told.append((envelope["error_code"], envelope["suggested_action"]))
    assert set(told) <= {("ABORTED", "Nothing was changed; repeat the call if it is still wanted.")}


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [("delete_file", {"path": "d", "recursive": True}), ("move_file", {"source": "d", "destination": "e"})],
)
async def test_what_is_aborted_when_a_folder_has_gone_is_told_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, arguments: dict[str, Any]
) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("d/a.txt", "x")
        signal, loop, aborted = AbortSignal(), asyncio.get_running_loop(), threading.Event()
        record = decisions.record_steps

        def abort() -> None:
            signal.abort()
            loop.call_soon(aborted.set)

        def record_when_aborted(*given: Any) -> None:
            loop.call_soon_threadsafe(abort)
            assert aborted.wait(60)
            record(*given)

        monkeypatch.setattr(tree_calls, "record_steps", record_when_aborted)
        envelope = await ToolRegistry(files, require_version=False).call(kind, arguments, abort=signal)
        assert not (tmp_path / "d").exists()
        assert envelope["success"], envelope


async def test_a_deletion_that_is_aborted_by_its_last_report_is_told_as_done(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("d/a.txt", "x")
        signal = AbortSignal()

        def report(percent: float, *_: object) -> None:
            if percent >= 100:
                signal.abort()

        arguments = {"path": "d", "recursive": True}
        envelope = await ToolRegistry(files, require_version=False).call(
            "delete_file", arguments, abort=signal, progress=report
        )
        assert not (tmp_path / "d").exists()
        assert envelope["success"], envelope
