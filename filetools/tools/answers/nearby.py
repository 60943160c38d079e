"""Suggests existing paths for one that was not found: models misremember folders, case and extensions."""

from __future__ import annotations

import difflib
import itertools
from typing import Final
from urllib.parse import unquote

from filetools.errors import DirectoryNotFoundError, FileToolsError, PathNotFoundError
from filetools.facade.facade import FileToolsFacade

MOST_SUGGESTED: Final = 3
MOST_FOLDERS: Final = 1000
"""Limit of the search for a name: a hint is not worth more. A count, so that the result does not depend on speed."""
_LONGEST_PATH: Final = 300
_LIKENESS: Final = 0.6
_GLOB: Final = frozenset("*?[{")


async def suggest_paths(files: FileToolsFacade, error: PathNotFoundError | DirectoryNotFoundError) -> None:
    """Add the most similar existing paths to an error, if there are any."""
    found = await similar_paths(files, error.path or "")
    if _GLOB & set(error.path or ""):
        error.suggested_action = "Paths are taken literally. To match names by a pattern, use search_files."
    if found:
        error.details["similar"] = found
        error.suggested_action = f"Did you mean {found[0]!r}? Otherwise list_files or search_files shows what is there."


async def similar_paths(files: FileToolsFacade, path: str) -> list[str]:
    """Return up to 3 existing paths that are similar to a missing one, most similar first.

    Args:
        files: The workspace.
        path: The missing path.
    """
    if not path or len(path) > _LONGEST_PATH or _GLOB & set(path):
        return []
    found: list[str] = []
    for look in (_other_spellings, _beside, _elsewhere):
        try:
            found += await look(files, path)
        except FileToolsError:  # a missing folder, a search that took too long, or a path that rules forbid
            continue
    return list(dict.fromkeys(found))[:MOST_SUGGESTED]


async def _other_spellings(files: FileToolsFacade, path: str) -> list[str]:
    """Models wrap paths in quotes, percent-encode them, and prefix them with the name of the root or a folder above it."""
    plain = unquote(path.strip("`'\"<> \n"))
    segments = plain.split("/")
    spellings = [plain, *("/".join(segments[start:]) for start in range(1, min(len(segments), 4)))]
    return [each for each in spellings if each != path and await files.exists(each)]


async def _beside(files: FileToolsFacade, path: str) -> list[str]:
    folder, _, name = path.rpartition("/")
    entries = (await files.list_files(folder)).entries
    there: dict[str, list[str]] = {}
    for entry in entries:
        there.setdefault(_stem(entry.name), []).append(entry.path)
    # Compare stems: most files in a folder share an extension, which would make all names similar.
    likest = difflib.get_close_matches(_stem(name), there, n=MOST_SUGGESTED, cutoff=_LIKENESS)
    return [each for stem in likest for each in there[stem]]


def _stem(name: str) -> str:
    stem, dot, _ = name.casefold().rpartition(".")
    return stem if dot and stem else name.casefold()


async def _elsewhere(files: FileToolsFacade, path: str) -> list[str]:
    name = path.rpartition("/")[2]
    # The search calls `abort` in every folder, and repeatedly in large ones.
    asked = itertools.count()
    page = await files.search_files(name, limit=100, abort=lambda: next(asked) > MOST_FOLDERS)
    return [entry.path for entry in page.entries if entry.name.casefold() == name.casefold()]
