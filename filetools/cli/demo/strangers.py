"""Programs that know nothing of filetools and change files all the same: a shell, and scripts as editors are."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Final

from filetools.cli.demo.marks import line_with

REWRITTEN: Final = "docs/faq.md"
"""The file that a script writes over: whoever reads it in that instant may see half of it, whatever filetools does."""
_IN_PLACE: Final = """
import sys
with open(sys.argv[2], "r+b") as file:
    lines = file.read().splitlines(keepends=True)
    lines.insert(len(lines) // 2, sys.argv[1].encode() + b"\\n")
    file.seek(0)
    file.write(b"".join(lines))
"""
_BY_RENAME: Final = """
import os, sys
with open(sys.argv[2], "rb") as file:
    content = file.read()
with open(sys.argv[2] + ".swp", "wb") as file:
    file.write(sys.argv[1].encode() + b"\\n" + content)
os.replace(sys.argv[2] + ".swp", sys.argv[2])
"""
_APPENDING: Final = """
import sys
with open(sys.argv[2], "ab") as file:
    file.write(sys.argv[1].encode() + b"\\n")
"""


async def shell_append(root: Path, path: str, mark: str) -> bool:
    """Append a line as `echo … >> file` does, in a shell where there is one; whether it succeeded."""
    line, target = line_with(mark, path), str(root / path)
    if shutil.which("sh") is None:
        return await _run(sys.executable, "-c", _APPENDING, line, target)
    return await _run("sh", "-c", 'echo "$1" >> "$2"', "sh", line, target)


async def rewrite_in_place(root: Path, path: str, mark: str) -> bool:
    """Read a file, and write it anew over itself; whether that succeeded."""
    return await _run(sys.executable, "-c", _IN_PLACE, line_with(mark, path), str(root / path))


async def save_by_rename(root: Path, path: str, mark: str) -> bool:
    """Replace a file by a new one of the same name, as most editors save; whether that succeeded."""
    return await _run(sys.executable, "-c", _BY_RENAME, line_with(mark, path), str(root / path))


async def _run(*command: str) -> bool:
    process = await asyncio.create_subprocess_exec(*command)
    return await process.wait() == 0
