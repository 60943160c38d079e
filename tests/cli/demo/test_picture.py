from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

from filetools.cli.demo import SCENES
from tests.support.demo_picture import PICTURE, drawn


def words(drawing: str) -> list[str]:
    """Return what a drawing says, line by line as it stands there."""
    lines: dict[str, str] = {}
    for y, text in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', drawing):
        lines[y] = lines.get(y, "") + unescape(text).replace("\xa0", " ")
    return [line.strip() for line in lines.values()]


def test_a_drawing_needs_nothing_from_anywhere_and_has_the_words() -> None:
    drawing = drawn(["\x1b[1mbold <&>\x1b[0m", "      indented"])
    ElementTree.fromstring(drawing)
    assert re.findall(r"https?://", drawing) == ["http://"]
    assert "www.w3.org/2000/svg" in drawing
    assert words(drawing) == ["$ filetools demo", "bold <&>", "indented"]


def test_the_picture_in_the_documents_shows_the_present_demo_holding_its_promises() -> None:
    shown = words(PICTURE.read_text(encoding="utf-8"))
    for scene in SCENES:
        assert any(line.startswith(scene.title) for line in shown), "run: make picture"
    assert any(re.fullmatch(r"lost +0 of \d+ that were done +ok", line) for line in shown)
    assert not any("BROKEN" in line for line in shown)
    assert len(shown) <= 60, "a screen or two"
    assert len(PICTURE.read_bytes()) < 40_000
