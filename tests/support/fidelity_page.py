"""The page docs/fidelity.md: made by doing everything it tells of, on a real disk. Run as a program, it writes the page.

python -m tests.support.fidelity_page
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Final, TypeVar

from tests.support import fidelity, fidelity_attributes
from tests.support.declared import REPOSITORY
from tests.support.fidelity import COLUMNS, OPERATIONS, WRITING
from tests.support.fidelity_attributes import ATTRIBUTES

T = TypeVar("T")

PAGE: Final = REPOSITORY / "docs" / "fidelity.md"
_INTRODUCTION: Final = """\
# What every change leaves alone

<!-- Made by `python -m tests.support.fidelity_page`; do not edit. -->

The touched span changes, nothing else. Every cell was tried on a real disk, through the facade, when this page was made;
`tests/facade/test_fidelity.py` tries it again.

## Bytes

Each cell stands for eight files: line ends LF, CRLF, CR and mixed, each with and without an end behind the last line.
✓ means that all bytes outside the touched span are the same as before. Files in cp1252, Shift-JIS and GB18030 look like
Latin-1 to everybody who does not know better: the actor names the encoding when it reads them, and its changes are
written in it.
"""
_LACKING: Final = """
## Characters that the encoding lacks

The new text has a character that the file's encoding cannot hold (in Unicode encodings, half of a surrogate pair). ✓
means `ENCODING_ERROR` with the character and its position, and nothing written; `write_multiple` gives it as the cause
of its `BATCH_FAILED`.
"""
_BESIDE: Final = """
## What a file has beside its bytes

A copy is a new file: it takes over bytes and mode, the rest is its own. What a patch renames and changes at once is a
new file, too: it has all that the old one had but its other names, which keep the old bytes. Links are followed
only where `follow_symlinks` is set; the link stays as it is and its target changes. Owner and group are kept where the
process may give files away.
"""


def text() -> str:
    """Return the page."""
    return "".join((_INTRODUCTION, _byte_table(), _LACKING, _lacking_table(), _BESIDE, _attribute_table()))


def write() -> None:
    """Write the page."""
    PAGE.write_text(text(), encoding="utf-8")


@cache
def changed(operation: str, name: str) -> list[str]:
    """Return where an operation changes bytes that it should leave, in one encoding."""
    return _tried(partial(fidelity.failures, operation=operation, name=name))


@cache
def accepted(operation: str, name: str) -> list[str]:
    """Return where an operation writes, or does not name, what an encoding lacks."""
    return _tried(partial(fidelity.accepted, operation=operation, name=name))


@cache
def verdict(operation: str, name: str) -> str:
    """Return what becomes of an attribute."""
    return _tried(partial(fidelity_attributes.verdict, operation=operation, name=name))


def _tried(work: Callable[[Path], Coroutine[None, None, T]]) -> T:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(work(Path(folder)))


def _byte_table() -> str:
    rows = ((operation, [_mark(changed(operation, name)) for name in COLUMNS]) for operation in OPERATIONS)
    return _table(list(COLUMNS), rows)


def _lacking_table() -> str:
    rows = ((operation, [_mark(accepted(operation, name)) for name in COLUMNS]) for operation in WRITING)
    return _table(list(COLUMNS), rows)


def _attribute_table() -> str:
    rows = ((operation, [_kept(operation, name) for name in ATTRIBUTES]) for operation in OPERATIONS)
    return _table(list(ATTRIBUTES), rows)


def _mark(failed: list[str]) -> str:
    return "✗ " + "; ".join(failed) if failed else "✓"


def _kept(operation: str, name: str) -> str:
    found, good = verdict(operation, name), fidelity_attributes.wanted(operation, name)
    if found == fidelity_attributes.KEPT:
        return "✓"
    return found if found == good else f"✗ {found}"


def _table(names: list[str], rows: Iterator[tuple[str, list[str]]]) -> str:
    head = ["", " | ".join(("| Operation", *names)) + " |", "|".join(("", *(" --- " for _ in ("", *names)), ""))]
    return "\n".join([*head, *(" | ".join((f"| {operation}", *cells)) + " |" for operation, cells in rows), ""])


if __name__ == "__main__":
    write()
