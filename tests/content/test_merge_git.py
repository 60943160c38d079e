from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from filetools.content.differences.merging import aligned_ends, merge
from tests.support.merging import ADVERSARIAL, DOSE, Merge, Texts, git_merges, random_texts

TRIES = max(1, int(800 * DOSE) if DOSE <= 1 else int(1600 * DOSE))
"""With a quarter as many of mixed line ends; 20,000 in `make nightly`."""


def by_lines(base: str, ours: str, theirs: str) -> str | None:
    return merge(base, ours, theirs, by_words=False).text


def as_compared(texts: Texts) -> Texts:
    """Return texts with the line ends that the current one, and not git, decides about."""
    base, theirs = aligned_ends(*texts)
    return base, texts[1], theirs


def differing(one: Merge, folder: Path, triples: list[Texts]) -> tuple[list[Texts], int]:
    """Return the texts whose merges are both clean but differ, and how often ours conflicts where git is clean."""
    triples = [as_compared(texts) for texts in triples]
    wrong, shy = [], 0
    for texts, its in zip(triples, git_merges(folder, triples), strict=True):
        mine = one(*texts)
        if mine is not None and its is not None and mine != its:
            wrong.append(texts)
        shy += mine is None and its is not None
    return wrong, shy


def test_oracle_notices_a_merge_that_drops_a_line_of_one_side(tmp_path: Path) -> None:
    def dropping(base: str, ours: str, theirs: str) -> str | None:
        added = [line for line in theirs.splitlines(keepends=True) if line not in base]
        return by_lines(base, ours, theirs.replace(added[0], "", 1) if added else theirs)

    random = Random(1)
    assert differing(dropping, tmp_path, [random_texts(random) for _ in range(60)])[0]


@pytest.mark.parametrize("ends", [("\n",), ("\n", "\n", "\r\n")], ids=["lf", "mixed"])
@pytest.mark.timeout(3600)
def test_clean_merges_are_those_of_git(tmp_path: Path, ends: tuple[str, ...]) -> None:
    random, tries = Random(20261120 + len(ends)), TRIES if len(ends) == 1 else TRIES // 4
    wrong, shy = differing(by_lines, tmp_path, [random_texts(random, ends=ends) for _ in range(tries)])
    assert wrong == []
    assert shy <= tries // 25


@pytest.mark.parametrize("kind", ADVERSARIAL)
@pytest.mark.timeout(3600)
def test_clean_merges_of_adversarial_texts_are_those_of_git(tmp_path: Path, kind: str) -> None:
    random, tries = Random(20261120), max(1, TRIES // 10)
    wrong, shy = differing(by_lines, tmp_path, [ADVERSARIAL[kind](random) for _ in range(tries)])
    assert wrong == []
    assert shy <= tries // 10
