"""Where a draft has what bore a name: found by an index of moves, and here by going through all of them."""

from __future__ import annotations

import random

import pytest

from filetools.versions.past import is_within
from filetools.versions.undo import FormerNames
from tests.support.dose import dose

NAMES = ("a", "b", "a/b", "a/c", "b/c", "a/b/c", "c")


def moved(path: str, source: str, destination: str) -> str:
    return destination + path[len(source) :] if is_within(path, source) else path


def found_in(moves: list[tuple[str, str, str | None, str]], path: str) -> str | None:
    later = []
    for old, new, where, home in reversed(moves):
        if where is not None and not (is_within(path, old) or is_within(path, new)):
            later.append((where, home))
        elif where is not None:
            path = moved(path, old, home) if is_within(path, old) else moved(path, new, where)
            break
        elif is_within(path, new) and not is_within(path, old):
            return None
        else:
            path = moved(path, old, new)
    for where, home in reversed(later):
        path = moved(path, where, home)
    return path


@pytest.mark.parametrize("seed", range(dose(40)))
def test_names_are_found_as_by_going_through_all_moves(seed: int) -> None:
    chance, names, moves = random.Random(seed), FormerNames(), list[tuple[str, str, str | None, str]]()
    for _ in range(12):
        old, new, where, home = chance.sample(NAMES, 4)
        move = (old, new, *((where, home) if chance.random() < 0.5 else (None, "")))
        moves.append(move)
        names.passed(old, new, where=move[2], home=move[3])
        passed = [each for each in moves if each[2] is None]
        if passed and chance.random() < 0.3:
            gone = chance.choice(passed)
            moves.remove(gone)
            names.never_mind(*gone[:2])
        assert [names.now(path) for path in NAMES] == [found_in(moves, path) for path in NAMES]
