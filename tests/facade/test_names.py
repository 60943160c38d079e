"""Which entry had a name, after random moves, some of them taken back."""

from __future__ import annotations

import random
import sys

import pytest

from filetools.history.draft_tree import EntryNames, within
from tests.support.dose import dose

FOLDERS = ("", "a/", "b/", "a/b/", "b/c/")
Files = dict[int, str]


def moved(files: Files, old: str, new: str) -> Files:
    return {file: new + path[len(old) :] if old in within(path) else path for file, path in files.items()}


def is_free(files: Files, place: str) -> bool:
    return not any(place in within(each) or each in within(place) for each in files.values())


@pytest.mark.parametrize("seed", range(dose(100)))
def test_each_former_name_leads_to_its_file(seed: int) -> None:
    chance, names = random.Random(seed), EntryNames()
    files = {file: f"{folder}{file}" for file, folder in enumerate(FOLDERS)}
    known: list[dict[int, int]] = []
    story: list[tuple[int, int]] = []
    for _ in range(30):
        old = "/".join(chance.choice(list(files.values())).split("/")[: chance.randint(1, 3)])
        new = chance.choice(FOLDERS) + chance.choice("abcxyz")
        if is_free(files, new):
            known.append({file: names.at(path) for file, path in files.items()})
            entry = names.at(old)
            names.move(old, new)
            story.append((entry, names.at(old)))
            files = moved(files, old, new)
    for entry, home in reversed(story):
        where, free = names.paths[entry], names.paths[home]
        if where and free and is_free(files, free) and chance.random() < 0.5:
            files = moved(files, where, free)
            names.move(where, free)
        assert all({file: names.paths[each] for file, each in entries.items()} == files for entries in known)


def test_a_name_comes_back_once_the_entry_that_took_it_is_moved_away() -> None:
    names = EntryNames()
    assert [names.at(path) for path in ("d", "d/x", "e")] == [0, 1, 2]
    names.move("e", "d")
    assert names.paths == [None, None, "d"]
    names.move("d", "f")
    assert names.paths == ["d", "d/x", "f"]


def calls_of_moves(count: int) -> int:
    names, calls = EntryNames(), list[str]()
    sys.setprofile(lambda _frame, event, _argument: calls.append(event))
    for number in range(count):
        names.move(f"b{number}", f"a{number}")
    sys.setprofile(None)
    return len(calls)


def test_each_of_many_moves_costs_the_same() -> None:
    assert calls_of_moves(400) < 10 * calls_of_moves(50)
