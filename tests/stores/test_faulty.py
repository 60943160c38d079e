"""The store that fails on demand does what the crash tests rely on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from filetools.errors import DiskFullError
from filetools.stores.store import Store
from tests.support.faulty import EXIT_CODE, Died, FaultyStore, Moment, Plan
from tests.support.store_worlds import FILE, OTHER, LocalWorld, make_world


def work(store: Store) -> None:
    store.prepare(OTHER, b"new", new=True).exchange()
    displaced = store.prepare(FILE, b"replaced", new=False).exchange()
    assert displaced is not None
    displaced.discard()


@pytest.mark.parametrize(
    ("at", "moment", "live", "hidden"),
    [
        (3, "before", b"one", []),
        (3, "half", b"one", [b"repl"]),
        (3, "after", b"one", [b"replaced"]),
        (4, "before", b"one", [b"replaced"]),
        (4, "after", b"replaced", [b"one"]),
        (5, "before", b"replaced", [b"one"]),
        (5, "after", b"replaced", []),
    ],
)
def test_dying_leaves_what_a_killed_process_leaves(
    native: LocalWorld, at: int, moment: Moment, live: bytes, hidden: list[bytes]
) -> None:
    store = FaultyStore(native.store, Plan.die(at, moment))
    with pytest.raises(Died):
        work(store)
    for act in (lambda: store.read(FILE), lambda: store.remove(FILE), store.probe):
        with pytest.raises(Died):
            act()
    store.close()
    assert native.look(FILE) == live
    assert [found.read() for found in native.reopen().leftovers()] == hidden


def test_an_error_comes_once_or_for_ever_and_names_the_path(native: LocalWorld) -> None:
    once = FaultyStore(native.store, Plan.fail(1, DiskFullError))
    with pytest.raises(DiskFullError) as caught:
        work(once)
    assert caught.value.path == "other.txt"
    work(once)
    lasting = FaultyStore(native.store, Plan.fail(2, DiskFullError, "after", is_lasting=True))
    native.erase(OTHER)
    for _ in range(3):
        with pytest.raises(DiskFullError):
            work(lasting)
    assert native.look(OTHER) == b"new"


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
    recorded = make_world("local", tmp_path)
    work(FaultyStore(recorded.store, plan))
    recorded.close()
    cases = [(call.number, moment) for call in plan.calls for moment in call.moments]
    for number, moment in cases:
        world = make_world("local", tmp_path / f"{number}-{moment}")
        with pytest.raises(Died):
            work(FaultyStore(world.store, Plan.die(number, moment)))
        assert world.look(FILE) in (b"one", b"replaced")
        assert world.look(OTHER) in (None, b"new")
        for left in world.reopen().leftovers():
            assert left.read() in (b"one", b"replaced", b"repl", b"new", b"n")
            left.discard()
        assert world.hidden() == set()
        world.close()
    assert len(cases) == 12
