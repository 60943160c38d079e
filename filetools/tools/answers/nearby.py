"""Paths that may have been meant where one leads nowhere: models misremember folders, case and endings."""

from __future__ import annotations

import difflib
import itertools
from typing import Final
from urllib.parse import unquote

from filetools.errors import DirectoryNotFoundError, FileToolsError, PathNotFoundError
from filetools.facade.facade import FileToolsFacade

MOST_SUGGESTED: Final = 3
MOST_FOLDERS: Final = 1000
"""How much of the tree is searched for the name: a hint is not worth more. Counted, so that it is the same everywhere."""
_LONGEST_PATH: Final = 300
_LIKENESS: Final = 0.6
_GLOB: Final = frozenset("*?[{")


async def suggest_paths(files: FileToolsFacade, error: PathNotFoundError | DirectoryNotFoundError) -> None:
    """Add to an error the paths that are there and most like the one that is not, if there are any."""
    found = await similar_paths(files, error.path or "")
    if _GLOB & set(error.path or ""):
        error.suggested_action = "Paths are taken literally. To match names by a pattern, use search_files."
    if found:
        error.details["similar"] = found
        error.suggested_action = f"Did you mean {found[0]!r}? Otherwise list_files or search_files shows what is there."


async def similar_paths(files: FileToolsFacade, path: str) -> list[str]:
    """Return at most 3 paths that are there and most like one that is not, the likest first.

    Args:
        files: The workspace.
        path: What was asked for.
    """
    if not path or len(path) > _LONGEST_PATH or _GLOB & set(path):
        return []
    found: list[str] = []
    for look in (_undecorated, _without_first_folders, _beside, _elsewhere):
        try:
            found += await look(files, path)
        except FileToolsError:  # a folder that is not there, a search that took too long, or what rules forbid
            continue
    return list(dict.fromkeys(found))[:MOST_SUGGESTED]


async def _undecorated(files: FileToolsFacade, path: str) -> list[str]:
    """Models wrap paths in quotes or backticks, and percent-encode them."""
    plain = unquote(path.strip("`'\"<> \n"))
    return [plain] if plain != path and await files.exists(plain) else []


async def _without_first_folders(files: FileToolsFacade, path: str) -> list[str]:
    """The root's own name, or that of a folder above it, stands before many a path."""
    segments = path.split("/")
    shorter = ("/".join(segments[start:]) for start in range(1, min(len(segments), 4)))
    return [each for each in shorter if await files.exists(each)]


async def _beside(files: FileToolsFacade, path: str) -> list[str]:
    folder, _, name = path.rpartition("/")
    entries = (await files.list_files(folder)).entries
    there: dict[str, list[str]] = {}
    for entry in entries:
        there.setdefault(_stem(entry.name), []).append(entry.path)
    # Endings are alike in most files of a folder, and would make all of them alike.
    likest = difflib.get_close_matches(_stem(name), there, n=MOST_SUGGESTED, cutoff=_LIKENESS)
    return [each for stem in likest for each in there[stem]]


def _stem(name: str) -> str:
    stem, dot, _ = name.casefold().rpartition(".")
    return stem if dot and stem else name.casefold()


async def _elsewhere(files: FileToolsFacade, path: str) -> list[str]:
    name = path.rpartition("/")[2]
    # The search asks at every folder, and in a large one now and then.
    asked = itertools.count()
    page = await files.search_files(name, limit=100, abort=lambda: next(asked) > MOST_FOLDERS)
    return [entry.path for entry in page.entries if entry.name.casefold() == name.casefold()]
