from __future__ import annotations

import pytest

from filetools.cli.terminal import printable


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("two\nlines", "two\\nlines"),
        ("tab\there", "tab\\there"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("\udcff", "\\udcff"),
        ("\u2028", "\\u2028"),
    ],
)
def test_what_would_steer_the_terminal_is_shown_escaped(name: str, shown: str) -> None:
    assert printable(name) == shown


@pytest.mark.parametrize(
    "name", ["a b.txt", "straße", "日本語\u3000.txt", "👨\u200d👩.md", "[bold]x[/bold]", "back\\slash"]
)
def test_other_names_are_shown_as_they_are(name: str) -> None:
    assert printable(name) == name
