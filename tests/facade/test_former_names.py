"""Where a draft has the file that once had a name, after random moves, some of them undone."""

from __future__ import annotations

import random
import sys

import pytest

from filetools.history.draft_tree import within
from filetools.history.undo import FormerNames
from filetools.models.records import EXTERNAL, ChangeRecord, Operation
from tests.support.dose import dose

FOLDERS = ("", "a/", "b/", "a/b/", "b/c/")
Files = dict[int, str]


def moved(files: Files, old: str, new: str) -> Files:
    return {file: new + path[len(old) :] if old in within(path) else path for file, path in files.items()}


def is_free(files: Files, place: str) -> bool:
    return not any(place in within(each) or each in within(place) for each in files.values())


@pytest.mark.parametrize("seed", range(dose(100)))
def test_a_draft_maps_each_former_name_to_its_file(seed: int) -> None:
    chance, names = random.Random(seed), FormerNames()
    files = {file: f"{folder}{file}" for file, folder in enumerate(FOLDERS)}
    story: list[tuple[Files, str, str]] = []
    for _ in range(30):
        old = "/".join(chance.choice(list(files.values())).split("/")[: chance.randint(1, 3)])
        new = chance.choice(FOLDERS) + chance.choice("abcxyz")
        if is_free(files, new):
            story.append((files, old, new))
            files = moved(files, old, new)
    for before, old, new in reversed(story):
        where, home = names.now(new), names.above(old)
        move = ChangeRecord(number=1, operation=Operation.MOVE, path=new, old_path=old, actor=EXTERNAL, time=0)
        taken = where if where and home and is_free(files, home) and chance.random() < 0.5 else None
        files = moved(files, taken, home or "") if taken else files
        names.passed(move, where=taken, home=home or "")
        assert [names.now(path) for path in before.values()] == list(files.values())


def calls_of_a_walk(moves: int) -> int:
    """Count the calls of a search back over this many moves, each of them undone."""
    names, calls = FormerNames(), list[str]()
    sys.setprofile(lambda _frame, event, _argument: calls.append(event))
    for n in range(moves):
        move = ChangeRecord(number=n, operation=Operation.MOVE, path=f"b{n}", old_path=f"a{n}", actor=EXTERNAL, time=0)
        names.passed(move, where=names.now(f"b{n}"), home=f"a{n}")
    sys.setprofile(None)
    return len(calls)


def test_a_walk_back_over_many_moves_costs_each_the_same() -> None:
    assert calls_of_a_walk(400) < 10 * calls_of_a_walk(50)
