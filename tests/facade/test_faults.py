"""Each call of store and journal fails, once or persistently: a typed error or success, old or new, nothing left over.

The seed chooses a part of the calls; from about FILETOOLS_DOSE=10 on all are tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import filetools
from filetools.errors import AccessDeniedError, DiskFullError, FileToolsError, StorageFailedError
from tests.support.changes import BEFORE, CASES
from tests.support.crashing import Action, CrashingOpening, Tree, grow, leftovers, reopened, snapshot
from tests.support.dose import sampled
from tests.support.faulty import Plan
from tests.support.opened import steps_until

ERRORS = (DiskFullError, lambda path: StorageFailedError(path, "I/O error"), AccessDeniedError)
TIDYING = ("Displaced.discard", "Displaced.is_untouched", "Prepared.discard")
"""Calls whose failure leaves a temporary file for the next sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The outcome of an action with a failed call, before the workspace was closed."""

    root: Path
    failed: str
    """The call."""
    error: FileToolsError | None
    left_over: tuple[str, ...]
    tree: Tree
    told_folders: frozenset[str]
    """Folders created according to the feed."""


async def act(root: Path, action: Action, plan: Plan) -> Ending:
    """Open a root and run an action under a plan; the next call must work."""
    plan.is_armed = False
    error = None
    async with CrashingOpening(root, plan) as files:
        await files.look()  # after the first look
        for _ in range(3):  # and the first background work
            await steps_until(lambda: not files._parts.workers._in_flight._count)
            await asyncio.sleep(0.001)
        plan.is_armed = True
        try:
            await action(files)
        except FileToolsError as exc:
            error = exc
        plan.is_armed = False
        left_over, tree = tuple(leftovers(root)), snapshot(root)
        records = (await files.changes()).records
        await files.write_file("next.txt", "works")
        await files.delete_file("next.txt")
    told = frozenset(record.path for record in records if record.operation == "create_directory")
    failed = plan.calls[plan.faults[0].at - 1].method if plan.faults else ""
    return Ending(root=root, failed=failed, error=error, left_over=left_over, tree=tree, told_folders=told)


def endings(place: Path, name: str, *, most: int, is_lasting: bool) -> Iterator[Ending]:
    """Run one kind of change repeatedly, each time with another call failing in another way."""
    action, plan = CASES[name][0], Plan.record()
    grow(place / "model", BEFORE)
    assert asyncio.run(act(place / "model", action, plan)).error is None
    assert len(plan.calls) >= 4
    for number, call in enumerate(sampled(plan.calls, most, name)):
        root = place / str(call.number)
        grow(root, BEFORE)
        error = ERRORS[(number + len(name)) % len(ERRORS)]
        yield asyncio.run(act(root, action, Plan.fail(call.number, error, is_lasting=is_lasting)))


@pytest.mark.parametrize("name", CASES)
def test_one_failure_at_any_call_is_typed_and_undone_without_a_trace(name: str, tmp_path: Path) -> None:
    for end in endings(tmp_path, name, most=5, is_lasting=False):
        if end.error is None:
            assert end.tree == CASES[name][1], end
        else:
            made = {path for path in end.tree if path not in BEFORE}
            assert {path: end.tree[path] for path in end.tree if path not in made} == BEFORE, end
            assert made == end.told_folders, end
            assert str(tmp_path) not in end.error.message, end
        # A deletion succeeds on a full disk; bytes that do not fit into the journal are kept as files.
        assert end.left_over == () or end.failed in TIDYING or end.error is None, end
        assert reopened(end.root) == end.tree, end
        assert leftovers(end.root) == [], end


@pytest.mark.parametrize("name", CASES)
def test_failures_from_any_call_on_are_typed_and_leave_old_or_new(name: str, tmp_path: Path) -> None:
    wanted = CASES[name][1]
    for end in endings(tmp_path, name, most=3, is_lasting=True):
        # Every file has its old or new content; a batch may be half set back until it is recovered.
        assert all(content in (BEFORE.get(path), wanted.get(path)) for path, content in end.tree.items()), end
        assert reopened(end.root) in ([wanted] if end.error is None else [BEFORE, wanted]), end
        assert leftovers(end.root) == [], end


async def test_a_failing_mirror_fails_no_call(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    grow(root, BEFORE)
    grow(mirror, {"a.txt": None, "b.txt": None})
    async with filetools.open(root, mirror=mirror, settings={"watch": False, "durability": "relaxed"}) as files:
        await CASES["write several"][0](files)
    assert snapshot(root) == CASES["write several"][1]
