from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from filetools.content import merge
from filetools.content.merge import aligned_ends
from tests.support.merging import DOSE, GitMerge, Merge, random_texts

TRIES = max(1, int(1000 * DOSE))


def by_lines(base: str, ours: str, theirs: str) -> str | None:
    return merge(base, ours, theirs, by_words=False).text


def differing(one: Merge, git: GitMerge, random: Random, tries: int, ends: tuple[str, ...]) -> tuple[int, int]:
    """Return how often both are clean but differ, and how often ours conflicts where git is clean."""
    wrong = shy = 0
    for _ in range(tries):
        base, ours, theirs = random_texts(random, ends=ends)
        base, theirs = aligned_ends(base, ours, theirs)
        mine, its = one(base, ours, theirs), git.merge(base, ours, theirs)
        wrong += mine is not None and its is not None and mine != its
        shy += mine is None and its is not None
    return wrong, shy


def test_oracle_notices_a_merge_that_drops_a_line_of_one_side(tmp_path: Path) -> None:
    def dropping(base: str, ours: str, theirs: str) -> str | None:
        added = [line for line in theirs.splitlines(keepends=True) if line not in base]
        return by_lines(base, ours, theirs.replace(added[0], "", 1) if added else theirs)

    assert differing(dropping, GitMerge(tmp_path), Random(1), 60, ("\n",))[0] > 0


@pytest.mark.parametrize("ends", [("\n",), ("\n", "\n", "\r\n")], ids=["lf", "mixed"])
@pytest.mark.timeout(3600)
def test_clean_merges_are_those_of_git(tmp_path: Path, ends: tuple[str, ...]) -> None:
    tries = TRIES if len(ends) == 1 else TRIES // 4
    wrong, shy = differing(by_lines, GitMerge(tmp_path), Random(20261120 + len(ends)), tries, ends)
    assert wrong == 0
    assert shy <= tries // 25
