"""Reporting: from numbers to lines."""

from __future__ import annotations

from collections import Counter


def lines_of(counts: Counter[str], limit: int = 10) -> list[str]:
    """Return one line for each of the most frequent words."""
    width = max((len(word) for word in counts), default=0)
    return [f"{word:<{width}}  {count}" for word, count in counts.most_common(limit)]
