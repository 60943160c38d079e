from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from filetools.content import merge
from filetools.content.merge import aligned_ends
from tests.support.merging import ADVERSARIAL, DOSE, GitMerge, Merge, random_texts

TRIES = max(1, int(1000 * DOSE) if DOSE <= 1 else int(1600 * DOSE))
"""With a quarter as many of mixed line ends; 20,000 in `make long`."""


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


@pytest.mark.parametrize("kind", ADVERSARIAL)
@pytest.mark.timeout(3600)
def test_clean_merges_of_adversarial_texts_are_those_of_git(tmp_path: Path, kind: str) -> None:
    random, git = Random(20261120), GitMerge(tmp_path)
    tries = max(1, TRIES // 10)
    shy = 0
    for _ in range(tries):
        texts = ADVERSARIAL[kind](random)
        mine = by_lines(*texts)
        its = git.merge(*(ended(text) for text in as_compared(*texts)))
        assert mine is None or its is None or ended(mine) == its, texts
        shy += mine is None and its is not None
    assert shy <= tries // 10


def as_compared(base: str, ours: str, theirs: str) -> tuple[str, str, str]:
    """Return the texts with the line ends that the current one, and not git, decides about."""
    base, theirs = aligned_ends(base, ours, theirs)
    return base, ours, theirs


def ended(text: str) -> str:
    """Return a text whose last line has an end: whether there is one, the current text decides, too."""
    if not text or text.endswith("\n"):
        return text
    return text + ("\r\n" if "\r\n" in text else "\n")
