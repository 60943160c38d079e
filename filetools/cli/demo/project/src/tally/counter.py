"""Counting: from text to numbers."""

from __future__ import annotations

import re
from collections import Counter

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def count_words(text: str) -> Counter[str]:
    """Return how often each word stands in a text, whatever its case."""
    return Counter(word.casefold() for word in WORD.findall(text))


def merge(counts: list[Counter[str]]) -> Counter[str]:
    """Return the sum of several counts."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total
