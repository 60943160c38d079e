"""What counting promises."""

from __future__ import annotations

from .counter import count_words, merge


def test_case_does_not_count() -> None:
    """Words differ by their letters only."""
    assert count_words("Tea tea TEA") == {"tea": 3}


def test_counts_add_up() -> None:
    """Several files are counted as one."""
    assert merge([count_words("a b"), count_words("b c")]) == {"a": 1, "b": 2, "c": 1}
