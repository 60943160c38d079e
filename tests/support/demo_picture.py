"""The picture of the demo in the README: what a real run prints at a terminal of 80 columns, as a drawing.

Nothing is left out, and no word is ours.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.support.declared import REPOSITORY

PICTURE: Final = REPOSITORY / "docs" / "pictures" / "demo.svg"
COLUMNS: Final = 80
CHARACTER_WIDTH: Final = 12.2
LINE_HEIGHT: Final = 24.4
"""As rich draws them, in pixels."""
MARGIN: Final = 16
_LEADING: Final = re.compile(
    r'x="(?P<x>[\d.]+)"(?P<between>[^>]*)textLength="(?P<length>[\d.]+)"(?P<rest>[^>]*)>(?P<blanks>(?:&#160;)+)(?=[^<])'
)
_COLOURS: Final = (
    "3c404d", "f07178", "98c379", "e5c07b", "61afef", "c678dd", "56b6c2", "c8ccd4",
    "6e7486", "ff8b92", "b2db94", "f6d593", "82c4fa", "d895ea", "75ccd6", "ffffff",
)  # fmt: skip
"""Eight plain and eight bright ones, in the order of terminals."""


def _channels(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour)
    return red, green, blue


_THEME: Final = TerminalTheme(
    _channels("181a21"),
    _channels("d6dae4"),
    [_channels(each) for each in _COLOURS[:8]],
    [_channels(each) for each in _COLOURS[8:]],
)
_DRAWING: Final = """<svg viewBox="0 0 WIDTH HEIGHT" xmlns="http://www.w3.org/2000/svg" role="img">
<title>filetools demo</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<rect fill="#181a21" width="WIDTH" height="HEIGHT" rx="8"/>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
<g transform="translate(MARGIN, MARGIN)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's own names a font on somebody's server; this one takes what the reader has."""


def main() -> None:
    """Run the demo and draw it; fails if the demo does."""
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn(printed()), encoding="utf-8")


def printed() -> list[str]:
    """Return the lines that a real run prints at a terminal, colours and all."""
    terminal, other = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("FILETOOLS_", "NO_COLOR"))}
    environment |= {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "PYTHONPATH": str(REPOSITORY)}
    command = (sys.executable, "-m", "filetools", "demo")
    with subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment) as process:
        os.close(other)
        text = b""
        with suppress(OSError):  # a terminal whose other side is closed ends with EIO
            while part := os.read(terminal, 65536):
                text += part
    os.close(terminal)
    if process.returncode:
        raise SystemExit(text.decode())
    return text.decode().replace("\r\n", "\n").rstrip("\n").split("\n")


def drawn(lines: list[str]) -> str:
    """Return the lines as a drawing."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        console.print(Text("$ ", "dim"), Text("filetools demo", "bold"), sep="")
        for line in lines:
            console.print(Text.from_ansi(line))
        width, height = round(COLUMNS * CHARACTER_WIDTH), round((len(lines) + 1) * LINE_HEIGHT)
        form = _DRAWING
        for word, pixels in (("WIDTH", width + 2 * MARGIN), ("HEIGHT", height + 2 * MARGIN), ("MARGIN", MARGIN)):
            form = form.replace(word, str(pixels))
        return _LEADING.sub(_moved, console.export_svg(title="", theme=_THEME, code_format=form, unique_id="demo"))


def _moved(text: re.Match[str]) -> str:
    """Begin a text where its first letter stands: not everything that draws takes blanks for text."""
    blanks = text["blanks"].count(";") * CHARACTER_WIDTH
    x, length = (round(float(text[name]) + change, 1) for name, change in (("x", blanks), ("length", -blanks)))
    return f'x="{x:g}"{text["between"]}textLength="{length:g}"{text["rest"]}>'


if __name__ == "__main__":
    main()
