"""Typical mistakes of models: the share of them that needs no second guess, in our own names and in Claude Code's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scoring import TABLES, Names, score_of

PAGE = Path(__file__).parents[2] / "docs" / "dialects.md"
LEAST_ROWS = 60
LEAST_SHARE = 0.95


@pytest.mark.timeout(300)
@pytest.mark.parametrize("names", ["default", "claude-code"])
async def test_nearly_every_mistake_is_done_or_mended_with_what_its_answer_says(names: Names, tmp_path: Path) -> None:
    score = await score_of(names, tmp_path)
    assert len(TABLES[names]) >= LEAST_ROWS
    assert score.share >= LEAST_SHARE, "\n".join(score.failed)
    assert score.row(names) in PAGE.read_text(), f"docs/dialects.md needs {score.row(names)} {score.failed}"


@pytest.mark.parametrize("names", ["default", "claude-code"])
def test_no_mistake_is_counted_twice(names: Names) -> None:
    rows = [(row.tool, row.name) for row in TABLES[names]]
    assert sorted(set(rows)) == sorted(rows)
