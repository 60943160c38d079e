"""Hints are few, keyed by inode, and wake the writer once."""

from __future__ import annotations

import threading

import pytest

from filetools.tree.hints import MOST_NAMES, DirtyFolders, FolderId, Names
from tests.support.hinted import Sink

FOLDER = (1, 2)


@pytest.mark.parametrize("name", [".filetools", ".FileTools", ".ft-0123456789abcdef"])
def test_names_of_filetools_are_ignored(name: str) -> None:
    sink = Sink()
    sink.hints.note(FOLDER, name)
    assert (sink.hints.is_empty, sink.wakes) == (True, 0)
    for like in (f"{name}0", name[1:], name[:-1]):
        sink.hints.note(FOLDER, like)
    assert sink.hints.take()[0] == {FOLDER: frozenset({f"{name}0", name[1:], name[:-1]})}


def test_taking_empties() -> None:
    sink = Sink()
    sink.hints.note(FOLDER, "a")
    sink.hints.note(FOLDER, "b")
    sink.hints.note((1, 3), None)
    sink.hints.everything("poll")
    assert sink.hints.take() == ({FOLDER: frozenset({"a", "b"}), (1, 3): None}, frozenset({"poll"}))
    assert sink.hints.is_empty
    assert sink.hints.take() == ({}, frozenset())


@pytest.mark.parametrize("order", [["a", None], [None, "a"]])
def test_all_names_include_one(order: list[str | None]) -> None:
    sink = Sink()
    for name in order:
        sink.hints.note(FOLDER, name)
    assert sink.hints.take()[0] == {FOLDER: None}


@pytest.mark.parametrize(("count", "whole"), [(MOST_NAMES, False), (MOST_NAMES + 1, True)])
def test_many_names_become_the_whole_folder(count: int, whole: bool) -> None:
    sink = Sink()
    for number in range(count):
        sink.hints.note(FOLDER, str(number))
    assert (sink.hints.take()[0][FOLDER] is None) == whole


def test_the_first_hint_after_each_taking_wakes() -> None:
    sink = Sink()
    for _ in range(3):
        sink.hints.note(FOLDER, "a")
        sink.hints.everything("poll")
        sink.hints.note(FOLDER, None)
        sink.hints.take()
    assert sink.wakes == 3


def test_the_woken_may_take_at_once() -> None:
    taken: list[dict[FolderId, Names]] = []
    hints = DirtyFolders(lambda: taken.append(hints.take()[0]))
    hints.note(FOLDER, "a")
    assert taken == [{FOLDER: frozenset({"a"})}]


def test_no_hint_is_lost_between_threads() -> None:
    sink, rounds, taken = Sink(), 300, set[FolderId]()

    def note(thread: int) -> None:
        for number in range(rounds):
            sink.hints.note((thread, number), "a")

    threads = [threading.Thread(target=note, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) or not sink.hints.is_empty:
        taken |= set(sink.hints.take()[0])
    assert len(taken) == 4 * rounds
