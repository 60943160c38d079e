"""Hints are few, keyed by inode, and wake the writer once."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

import pytest

from filetools.tree.hints import MOST_NAMES, Agenda, Due, FolderId, Names
from tests.support.hinted import Sink, wait_until

FOLDER = (1, 2)


def taken(sink: Sink) -> Mapping[FolderId, Names]:
    return sink.agenda.take(with_again=False).hints


@pytest.mark.parametrize("name", [".filetools", ".FileTools", ".ft-0123456789abcdef"])
def test_names_of_filetools_are_ignored(name: str) -> None:
    sink = Sink()
    sink.agenda.hint(FOLDER, name)
    assert (sink.agenda.due_at(), sink.wakes) == (None, 0)
    for like in (f"{name}0", name[1:], name[:-1]):
        sink.agenda.hint(FOLDER, like)
    assert taken(sink) == {FOLDER: frozenset({f"{name}0", name[1:], name[:-1]})}


def test_taking_empties() -> None:
    sink = Sink()
    sink.agenda.hint(FOLDER, "a")
    sink.agenda.hint(FOLDER, "b")
    sink.agenda.hint((1, 3), None)
    sink.agenda.hint_everything("start")
    hints = {FOLDER: frozenset({"a", "b"}), (1, 3): None}
    assert sink.agenda.take(with_again=True) == Due(hints=hints, doubtful=frozenset(), reasons=frozenset({"start"}))
    assert sink.agenda.due_at() is None
    assert sink.agenda.take(with_again=True) == Due(hints={}, doubtful=frozenset(), reasons=frozenset())


@pytest.mark.parametrize("order", [["a", None], [None, "a"]])
def test_all_names_include_one(order: list[str | None]) -> None:
    sink = Sink()
    for name in order:
        sink.agenda.hint(FOLDER, name)
    assert taken(sink) == {FOLDER: None}


@pytest.mark.parametrize(("count", "whole"), [(MOST_NAMES, False), (MOST_NAMES + 1, True)])
def test_many_names_become_the_whole_folder(count: int, whole: bool) -> None:
    sink = Sink()
    for number in range(count):
        sink.agenda.hint(FOLDER, str(number))
    assert (taken(sink)[FOLDER] is None) == whole


def test_the_first_hint_after_each_taking_wakes() -> None:
    sink = Sink()
    for _ in range(3):
        sink.agenda.hint(FOLDER, "a")
        sink.agenda.hint_everything("start")
        sink.agenda.hint(FOLDER, None)
        taken(sink)
    assert sink.wakes == 3


def test_the_woken_may_take_at_once() -> None:
    found: list[Mapping[FolderId, Names]] = []
    agenda = Agenda(lambda: found.append(agenda.take(with_again=False).hints))
    agenda.hint(FOLDER, "a")
    assert found == [{FOLDER: frozenset({"a"})}]


def test_no_hint_is_lost_between_threads() -> None:
    sink, rounds, found = Sink(), 300, set[FolderId]()

    def note(thread: int) -> None:
        for number in range(rounds):
            sink.agenda.hint((thread, number), "a")

    threads = [threading.Thread(target=note, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) or sink.agenda.due_at() is not None:
        found |= set(taken(sink))
    assert len(found) == 4 * rounds


def test_polling_is_due_again_and_again_and_less_often_after_slow_looks() -> None:
    sink = Sink()
    sink.agenda.poll(0.001)
    for _ in range(3):
        sink.forget()
        wait_until(lambda: sink.has("poll"))
    began_at = time.monotonic()
    sink.agenda.note_whole_look(1000)
    due_at = sink.agenda.due_at()
    assert due_at is not None
    assert began_at + 9000 <= due_at <= time.monotonic() + 9001
    sink.forget()
    assert sink.reasons == set()


def test_a_look_without_polling_schedules_none() -> None:
    sink = Sink()
    sink.agenda.note_whole_look(1000)
    assert sink.agenda.due_at() is None
