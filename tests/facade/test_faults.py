"""Every call of store and journal fails, once or from then on: a typed error or success, old or new, nothing left over."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.facade.test_crash_points import BEFORE, CASES, DOSE, reopened, with_empty_parents
from tests.support.crashing import Tree, grow, leftovers, snapshot
from tests.support.failing import ERRORS, Error, act, calls_of, failing_at
from tests.support.faulty import Call

KINDS = list(ERRORS)
TIDYING = ("Displaced.discard", "Displaced.is_being_written", "Displaced.is_untouched", "Prepared.discard")
"""Calls whose failure leaves a temporary file for the next sweep."""


def kinds_of(at: int) -> list[Error]:
    """All errors with a larger dose, by default one for each call in turn."""
    names = KINDS if DOSE > 1 else [KINDS[at // 2 % len(KINDS)]]
    return [ERRORS[name] for name in names]


def numbers_of(calls: Sequence[Call]) -> range:
    """Every call with a larger dose, by default every other one."""
    return range(1, len(calls) + 1, 1 if DOSE > 1 else 2)


@pytest.mark.parametrize("name", CASES)
def test_one_failure_at_any_call_is_typed_and_undone_without_a_trace(name: str, tmp_path: Path) -> None:
    action, wanted = CASES[name]
    grow(tmp_path / "model", BEFORE)
    calls = calls_of(tmp_path / "model", action)
    assert len(calls) >= 4
    for at in numbers_of(calls):
        for error in kinds_of(at):
            root = tmp_path / str(at)
            grow(root, BEFORE)
            plan = failing_at(at, error, is_lasting=False)
            end = asyncio.run(act(root, action, plan))
            failed = [call.method for call in plan.calls[at - 1 : at]]
            about = (failed, end.error)
            if end.error is None:
                assert end.tree == wanted, about
            else:
                made = {path for path in end.tree if path not in BEFORE}
                assert {path: end.tree[path] for path in end.tree if path not in made} == BEFORE, about
                assert made == end.told_folders, about
                assert str(tmp_path) not in end.error.message, about
            # A deletion on a full disk is done; bytes that the journal has no room for wait in limbo.
            waits = error is ERRORS["disk full"] and end.error is None
            assert end.left_over == () or failed[0] in TIDYING or waits, about
            assert reopened(root) == end.tree, about
            assert leftovers(root) == [], about
            shutil.rmtree(root)


@pytest.mark.parametrize("name", CASES)
def test_failures_from_any_call_on_are_typed_and_leave_old_or_new(name: str, tmp_path: Path) -> None:
    action, wanted = CASES[name]
    grow(tmp_path / "model", BEFORE)
    calls = calls_of(tmp_path / "model", action)
    for at in numbers_of(calls):
        call = calls[at - 1]
        for error in kinds_of(at + 1):
            root = tmp_path / str(at)
            grow(root, BEFORE)
            end = asyncio.run(act(root, action, failing_at(at, error, is_lasting=True)))
            about = (call, end.error)
            assert each_is_old_or_new(end.tree, wanted), about
            assert reopened(root) in ([wanted] if end.error is None else with_empty_parents(wanted)), about
            assert leftovers(root) == [], about
            shutil.rmtree(root)


def each_is_old_or_new(found: Tree, wanted: Tree) -> bool:
    """Whether no file carries anything but what it had or was to get; a batch may be half set back until it is settled."""
    return all(content in (BEFORE.get(path), wanted.get(path)) for path, content in found.items())


@pytest.mark.parametrize("name", ["replace", "create", "move over", "delete", "write several"])
def test_a_failing_mirror_fails_no_call(name: str, tmp_path: Path) -> None:
    action, wanted = CASES[name]
    grow(tmp_path / "model", BEFORE)
    calls = [call for call in calls_of(tmp_path / "model", action, tmp_path / "mirror") if call.store == "mirror"]
    assert not calls, "a mirror of a directory is no part of the plan"
    root, mirror = tmp_path / "root", tmp_path / "other"
    grow(root, BEFORE)
    mirror.mkdir()
    (mirror / "a.txt").mkdir()
    os.mkfifo(mirror / "b.txt")
    assert asyncio.run(act(root, action, failing_at(10_000, ERRORS["denied"], is_lasting=False), mirror)).error is None
    assert snapshot(root) == wanted
