from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from filetools.cli.terminal import printable, printable_text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("two\nlines", "two\\nlines"),
        ("tab\there", "tab\\there"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("\udcff", "\\xff"),
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


def test_every_control_character_is_escaped_and_a_text_keeps_its_tabs_and_lines() -> None:
    for code in (*range(0x20), *range(0x7F, 0xA0)):
        character = chr(code)
        assert printable(f"a{character}b").isprintable(), code
        assert (printable_text(f"a{character}b") == f"a{character}b") is (character in "\n\t"), code
    assert printable_text("a\r\nb\r") == "a\nb\\r"


@pytest.mark.parametrize(
    ("closed", "code", "error"),
    [
        ("</dev/null >&-", 0, ""),
        ("</dev/null >&- 2>&-", 0, ""),
        ("<&-", 1, "standard input: not JSON: EOF while parsing a value at line 1 column 0\n"),
    ],
)
def test_streams_that_are_closed_stop_nothing(closed: str, code: int, error: str, tmp_path: Path) -> None:
    source = "-" if code else "items.json"
    (tmp_path / "items.json").write_bytes(b"[]")
    line = f'exec "$0" -m filetools history analyze --input {source} {closed}'
    ran = subprocess.run(["sh", "-c", line, sys.executable], capture_output=True, cwd=tmp_path, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", error)
