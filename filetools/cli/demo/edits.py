"""How the demo's agents edit: read, change, write what they read the version of, and try again if they were too late."""

from __future__ import annotations

import asyncio
import json
from typing import Final

from filetools.cli.demo.marks import line_with
from filetools.errors import ChangedMeanwhileError, FileBusyError, VersionMismatchError
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import WriteResult

MOST_TRIES: Final = 100
THINKING_SECONDS: Final = 0.005
"""How long an agent thinks between reading and writing; meanwhile somebody else may write."""


async def insert(files: FileToolsFacade, path: str, mark: str) -> tuple[WriteResult, int]:
    """Put a mark somewhere into a file, expecting the version that was read.

    Returns:
        What the write returned, and how often it had to be repeated.

    Raises:
        VersionMismatchError: Somebody else was faster a hundred times.
    """
    change = _into_json if path.endswith(".json") else _into_text
    for tries in range(MOST_TRIES):
        before = await files.read_file(path)
        await asyncio.sleep(THINKING_SECONDS)
        text = change(before.content, mark, path)
        try:
            return await files.write_file(path, text, expected_version=before.version), tries
        except (VersionMismatchError, ChangedMeanwhileError, FileBusyError):
            if tries == MOST_TRIES - 1:
                raise
    raise AssertionError("unreachable")


async def append(files: FileToolsFacade, path: str, mark: str) -> tuple[WriteResult, int]:
    """Add a line with a mark to the end of a file; the same as `insert`, but nothing needs to be expected."""
    end = "\r\n" if path.endswith("windows.txt") else "\n"
    return await files.append_file(path, line_with(mark, path) + end), 0


def _into_text(text: str, mark: str, path: str) -> str:
    lines = text.splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    # Somewhere in the middle, and not always at the same place.
    lines.insert(sum(mark.encode("ascii")) % (len(lines) + 1), line_with(mark, path) + end)
    return "".join(lines)


def _into_json(text: str, mark: str, path: str) -> str:
    plain = json.loads(text)
    plain.setdefault("edits", []).append(mark)
    return json.dumps(plain, indent=2) + "\n"
