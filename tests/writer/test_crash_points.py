"""Every call of the store and every commit is a moment to die, for every kind of change; after each, old or new, never a mix.

A part of the moments is tried, chosen by the seed: all from about FILETOOLS_DOSE=20 on.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from filetools.errors import AccessDeniedError, DiskFullError, FileToolsError, StorageFailedError
from filetools.journal.contents import Contents
from filetools.journal.core.tree_rows import TreeRow, TreeTable
from filetools.writer.operations import Link, MakeFolder, Move, Put, Remove, RemoveFolder
from filetools.writer.steps import OperationStep
from tests.support import core_crashes
from tests.support.core import at
from tests.support.core_crashes import (
    GONE,
    Case,
    Tree,
    act_out,
    die,
    die_settling,
    faults_after,
    faults_after_failure,
    moments,
    prepare,
)
from tests.support.dose import sampled
from tests.support.faulty import Plan

BIG = random.Random(1).randbytes(150_000)
BEFORE: Tree = {
    "a": b"old a", "b": b"old b", "big": BIG, "l": "a",
    "d": None, "d/x": b"old x", "d/s": None, "d/s/y": b"old y", "d/s/l": "nowhere",
}  # fmt: skip


def put(path: str, content: bytes, mode: int | None = None) -> Put:
    return Put(path=at(path), content=content, mode=mode)


def move(path: str, to: str) -> Move:
    return Move(path=at(path), to=at(to))


def folder(path: str) -> MakeFolder:
    return MakeFolder(path=at(path), mode=0o755)


def case(*operations: Any, **delta: Any) -> Case:
    return Case(before=BEFORE, calls=[(operations, delta)])


def saved(path: str, text: bytes, method: str, *operations: Any, **delta: Any) -> Case:
    """A stranger saves a file at the very instant of a call of the store."""

    def save(root: Path) -> None:
        (root / f"{path}~").write_bytes(text)
        (root / f"{path}~").rename(root / path)
        (root / ".filetools/saved").touch()

    return Case(before=BEFORE, calls=[(operations, delta)], acts={method: save}, saved={path: text})


WITHOUT_D = {"d": GONE, "d/x": GONE, "d/s": GONE, "d/s/y": GONE, "d/s/l": GONE}
MOVED_D = {**WITHOUT_D, "e": None, "e/x": b"old x", "e/s": None, "e/s/y": b"old y", "e/s/l": "nowhere"}
CASES: dict[str, Case] = {
    "create": case(put("n", b"new"), n=b"new"),
    "create a large one": case(put("n", BIG + b"n", 0o600), n=BIG + b"n"),
    "replace": case(put("a", b"new"), a=b"new"),
    "replace a large one": case(put("big", b""), big=b""),
    "remove": case(Remove(path=at("a")), a=GONE),
    "remove a link": case(Remove(path=at("l")), l=GONE),
    "move": case(move("a", "d/a"), **{"a": GONE, "d/a": b"old a"}),
    "move a folder": case(move("d", "e"), **MOVED_D),
    "make": case(folder("n"), put("n/f", b"f"), n=None, **{"n/f": b"f"}),
    "make deeper": case(folder("n"), folder("n/m"), move("a", "n/m/a"), a=GONE, n=None, **{"n/m": None, "n/m/a": b"old a"}),
    "remove a folder": case(RemoveFolder(path=at("d")), **WITHOUT_D),
    "remove an empty folder": Case(before={**BEFORE, "z": None}, calls=[([RemoveFolder(path=at("z"))], {"z": GONE})]),
    "link": case(Link(path=at("k"), target=b"b"), k="b"),
    "link elsewhere": case(Link(path=at("l"), target=b"b"), l="b"),
    "link over a file": case(Link(path=at("a"), target=b"b"), a="b"),
    "several": case(
        put("a", b"new"), move("b", "c"), Remove(path=at("big")), put("n", b"n"),
        a=b"new", b=GONE, c=b"old b", big=GONE, n=b"n",
    ),
    "exchange": case(move("a", "t"), move("b", "a"), move("t", "b"), a=b"old b", b=b"old a"),
    "put and move": case(put("a", b"new"), move("a", "c"), a=GONE, c=b"new"),
    "move and put": case(move("a", "c"), put("a", b"new"), a=b"new", c=b"old a"),
    "move over": case(Remove(path=at("b")), move("a", "b"), a=GONE, b=b"old a"),
    "file for folder": case(RemoveFolder(path=at("d")), put("d", b"file"), **{**WITHOUT_D, "d": b"file"}),
    "folder anew": case(
        RemoveFolder(path=at("d")), folder("d"), put("d/x", b"new x"), **{**WITHOUT_D, "d": None, "d/x": b"new x"}
    ),
    "change what was moved": case(move("a", "c"), put("c", b"new"), a=GONE, c=b"new"),
    "change in a moved folder": case(
        move("d", "e"), put("e/x", b"new x"), put("e/n", b"n"), folder("e/m"), put("e/m/f", b"f"),
        **{**MOVED_D, "e/x": b"new x", "e/n": b"n", "e/m": None, "e/m/f": b"f"},
    ),
    "make and move": case(
        folder("n"), put("n/f", b"f"), move("n", "m"), m=None, **{"m/f": b"f"}
    ),
    "move a folder and change it": case(put("d/x", b"new x"), move("d", "e"), **{**MOVED_D, "e/x": b"new x"}),
    "calls": Case(before=BEFORE, calls=[
        ([put("a", b"new a")], {"a": b"new a"}), ([Remove(path=at("b"))], {"b": GONE}),
        ([folder("n"), put("n/f", b"f")], {"n": None, "n/f": b"f"}), ([move("d", "e")], MOVED_D),
    ]),
}  # fmt: skip
SAVED: dict[str, Case] = {
    "exchange": saved("a", b"stranger's", "Prepared.exchange", put("a", b"new"), a=b"new"),
    "exchange of a large one": saved("big", BIG[::-1], "Prepared.exchange", put("big", b"new"), big=b"new"),
    "creation": saved("n", b"stranger's", "Prepared.exchange", put("n", b"new"), n=b"new"),
    "removal": saved("a", b"stranger's", "remove", Remove(path=at("a")), a=GONE),
    "removal of a folder": saved("d/s/new", b"stranger's", "remove", RemoveFolder(path=at("d")), **WITHOUT_D),
    "removal of a folder, changed": saved("d/s/y", b"stranger's", "remove", RemoveFolder(path=at("d")), **WITHOUT_D),
    "move": saved("a", b"stranger's", "move", move("a", "c"), a=GONE, c=b"stranger's"),
    "move to": saved("c", b"stranger's", "move", move("a", "c")),
    "link": saved("a", b"stranger's", "remove", Link(path=at("a"), target=b"b"), a="b"),
    "setting back": saved("n", b"stranger's", "Displaced.put_back", put("a", b"new"), put("n", b"n"), a=b"new", n=b"n"),
}


@pytest.mark.parametrize("name", [*CASES, *(f"saved: {name}" for name in SAVED)])
def test_after_a_death_at_any_call_each_call_is_done_or_not(name: str, tmp_path: Path) -> None:
    chosen = CASES.get(name) or SAVED[name.removeprefix("saved: ")]
    for number, moment in sampled(moments(tmp_path, chosen), 3, name):
        root = tmp_path / f"{number}-{moment}"
        acknowledged = die(root, chosen, number, moment)
        assert faults_after(root, chosen, acknowledged=acknowledged) == [], (name, number, moment)


@pytest.mark.parametrize("name", CASES)
def test_after_a_death_in_the_settling_of_a_death_each_call_is_done_or_not(name: str, tmp_path: Path) -> None:
    for number, moment in sampled(moments(tmp_path, CASES[name]), 1, name, "twice"):
        for second in sampled(range(1, 60), 2, name, number, moment):
            root = tmp_path / f"{number}-{moment}-{second}"
            acknowledged = die(root, CASES[name], number, moment)
            die_settling(root, second)
            assert faults_after(root, CASES[name], acknowledged=acknowledged) == [], (name, number, moment, second)


ERRORS: dict[str, Callable[[str], FileToolsError]] = {
    "full": DiskFullError, "denied": lambda path: AccessDeniedError(path, "planned"),
    "failed": lambda path: StorageFailedError(path, "planned"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_call_that_fails_anywhere_is_refused_wholly_and_harms_no_other(name: str, tmp_path: Path) -> None:
    prepare(tmp_path / "counted", CASES[name])
    counted = Plan.record()
    act_out(tmp_path / "counted", CASES[name], counted)
    calls = [call.number for call in counted.calls if call.method != "committed"]
    for number, error in sampled([(number, error) for number in calls for error in ERRORS], 3, name):
        root = tmp_path / f"{number}-{error}"
        prepare(root, CASES[name])
        done = act_out(root, CASES[name], Plan.fail(number, ERRORS[error]))
        found = faults_after_failure(root, CASES[name], done)
        assert found == [], (name, error, counted.calls[number - 1], done)


def plant(owner: Any, name: str, replacement: Any) -> Callable[[], object]:
    return lambda: setattr(owner, name, replacement)


def put_as_applied(table: TreeTable, rows: Iterable[TreeRow]) -> None:
    for row in rows:
        PUT(table, [structs.replace(row, applied=True)])


def keep_new(table: Contents, digest: bytes, content: bytes) -> None:
    if content != BEFORE["a"]:
        KEEP(table, digest, content)


@contextmanager
def commit_afterwards(
    database: core_crashes.PlannedDatabase, *, durable: bool, is_mark: bool = False
) -> Iterator[sqlite3.Connection]:
    is_second = database.connection.in_transaction
    if not is_second:
        database.connection.execute("BEGIN IMMEDIATE")
    yield database.connection
    if is_second or not database.plan.is_armed:  # what opens the database is no step of the turn
        database.connection.execute("COMMIT")


PUT, KEEP = TreeTable.put, Contents.keep_inside
FAULTS: dict[str, tuple[Case, Callable[[], object]]] = {
    "former bytes are not kept": (CASES["replace"], plant(Contents, "keep_inside", keep_new)),
    "marked before the exchange": (CASES["replace"], plant(TreeTable, "put", put_as_applied)),
    "committed after the exchange": (
        CASES["calls"],
        plant(core_crashes.PlannedDatabase, "transaction", commit_afterwards),
    ),
    "displaced bytes are not looked at": (SAVED["exchange"], plant(OperationStep, "surprises", lambda _step: [])),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_of_a_turn_is_found(name: str, tmp_path: Path) -> None:
    chosen, bug = FAULTS[name]
    deaths = [(tmp_path / f"{number}-{moment}", number, moment) for number, moment in moments(tmp_path, chosen)]
    assert any(
        faults_after(root, chosen, acknowledged=die(root, chosen, number, moment, bug))
        for root, number, moment in reversed(deaths)
    )


@pytest.mark.parametrize(
    ("name", "method"),
    [("remove", "_redo_removal"), ("move", "_redo_move"), ("create", "_write"), ("link over a file", "finish")],
)
def test_a_planted_fault_of_settling_is_found(
    name: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"filetools.writer.settle._Unfinished.{method}", lambda *_, **__: None)
    found = []
    for number, moment in moments(tmp_path, CASES[name]):
        root = tmp_path / f"{number}-{moment}"
        acknowledged = die(root, CASES[name], number, moment)
        found += faults_after(root, CASES[name], acknowledged=acknowledged)
    assert found
