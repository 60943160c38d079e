"""The store that fails on demand does what the crash tests rely on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from filetools.errors import DiskFullError
from filetools.paths.workspace_path import ROOT
from filetools.stores.store import Store
from tests.support.faulty import EXIT_CODE, Call, Died, FaultyStore, Moment, Plan
from tests.support.memory_store import MemoryStore
from tests.support.store_worlds import FILE, OTHER, LocalWorld, make_world


def work(store: Store) -> None:
    store.prepare(OTHER, b"new", new=True).exchange()
    displaced = store.prepare(FILE, b"replaced", new=False).exchange()
    assert displaced is not None
    displaced.discard()


def fresh() -> MemoryStore:
    store = MemoryStore()
    store.prepare(FILE, b"one", new=True).exchange()
    return store


def test_a_recorded_run_lists_its_calls_in_order() -> None:
    plan = Plan.record()
    store = FaultyStore(fresh(), plan)
    work(store)
    list(store.scan(ROOT))
    assert plan.calls == [
        Call(1, "memory", "prepare", "other.txt"),
        Call(2, "memory", "Prepared.exchange", "other.txt"),
        Call(3, "memory", "prepare", "file.txt"),
        Call(4, "memory", "Prepared.exchange", "file.txt"),
        Call(5, "memory", "Displaced.discard", "file.txt"),
        Call(6, "memory", "scan", ""),
    ]
    assert [call.number for call in plan.changing_calls] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("at", "moment", "live", "hidden"),
    [
        (3, "before", b"one", 0),
        (3, "half", b"one", 1),
        (3, "after", b"one", 1),
        (4, "before", b"one", 1),
        (4, "after", b"replaced", 1),
        (5, "before", b"replaced", 1),
        (5, "after", b"replaced", 0),
    ],
)
def test_dying_leaves_what_a_killed_process_leaves(at: int, moment: Moment, live: bytes, hidden: int) -> None:
    inner = fresh()
    store = FaultyStore(inner, Plan.die(at, moment))
    with pytest.raises(Died):
        work(store)
    store.close()
    after = MemoryStore(inner.tree)
    assert after.read(FILE)[0] == live
    left = [found.read() for found in after.leftovers()]
    assert len(left) == hidden
    if moment == "half":
        assert left == [b"repl"]


def test_the_dead_do_nothing_more() -> None:
    inner = fresh()
    plan = Plan.die(4)
    store = FaultyStore(inner, plan)
    with pytest.raises(Died):
        work(store)
    for act in (lambda: store.read(FILE), lambda: store.remove(FILE), store.probe):
        with pytest.raises(Died):
            act()
    assert (len(plan.calls), inner.read(FILE)[0]) == (4, b"one")


def test_an_error_comes_once_or_for_ever_and_names_the_path() -> None:
    once = FaultyStore(fresh(), Plan.fail(1, DiskFullError))
    with pytest.raises(DiskFullError) as caught:
        work(once)
    assert caught.value.path == "other.txt"
    work(once)
    lasting = FaultyStore(fresh(), Plan.fail(2, DiskFullError, is_lasting=True))
    for _ in range(3):
        with pytest.raises(DiskFullError):
            work(lasting)


def test_an_error_after_the_call_hides_that_it_was_done() -> None:
    inner = fresh()
    with pytest.raises(DiskFullError):
        work(FaultyStore(inner, Plan.fail(2, DiskFullError, "after")))
    assert inner.read(OTHER)[0] == b"new"


def test_two_stores_count_in_one_row() -> None:
    plan = Plan.record()
    first, second = FaultyStore(fresh(), plan), FaultyStore(MemoryStore(name="mirror"), plan)
    first.stat(FILE)
    second.stat(FILE)
    assert [(call.number, call.store) for call in plan.calls] == [(1, "memory"), (2, "mirror")]


def test_a_process_can_end_for_real(native: LocalWorld) -> None:
    child = os.fork()
    if child == 0:
        work(FaultyStore(native.store, Plan.die(4, "after", exits=True)))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == EXIT_CODE
    assert (native.look(FILE), native.look(OTHER)) == (b"replaced", b"new")
    [left] = native.store.leftovers()
    assert left.read() == b"one"


def test_every_crash_of_a_write_leaves_the_old_or_the_new_bytes(tmp_path: Path) -> None:
    plan = Plan.record()
    recorded = make_world("memory", tmp_path)
    work(FaultyStore(recorded.store, plan))
    cases = [(call.number, moment) for call in plan.calls for moment in call.moments]
    before = len(os.listdir("/proc/self/fd"))
    for number, moment in cases:
        world = make_world("local", tmp_path / f"{number}-{moment}")
        with pytest.raises(Died):
            work(FaultyStore(world.store, Plan.die(number, moment)))
        assert world.look(FILE) in (b"one", b"replaced")
        assert world.look(OTHER) in (None, b"new")
        for left in world.reopen().leftovers():
            assert left.read() in (b"one", b"replaced", b"repl")
            left.discard()
        assert world.hidden() == set()
        world.close()
    assert (len(cases), len(os.listdir("/proc/self/fd"))) == (12, before)
