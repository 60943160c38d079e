"""The tools that list folders and search for names, and their globs, which match the whole path."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import ConfigDict, Field

from filetools.errors import FileToolsError
from filetools.models.searching import Entry
from filetools.paths.patterns import Glob, alternatives
from filetools.printable import printable
from filetools.tools.arguments import Parameters
from filetools.tools.dialects.mcp_filesystem.files import answer, place_of, real_path
from filetools.tools.handlers.reading import OnePath, pages
from filetools.tools.roots import ServedPath
from filetools.tools.tool import ToolContext


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tests if a path matches any of the globs. A glob must match the whole path; "" matches nothing.

    An odd number of `!` before a glob negates it.

    Raises:
        InvalidArgumentError: A glob is too long, or its braces expand to too many globs.
    """
    globs = []
    for pattern in patterns:
        body = pattern.lstrip("!")
        choices = [Glob(f"/{choice}") for choice in alternatives(body) if choice.strip("/\\")]
        globs.append((choices, (len(pattern) - len(body)) % 2 == 1))
    return lambda path: any(any(glob.matches(path) for glob in choices) != negated for choices, negated in globs)


T = TypeVar("T")
ITEMS_AT_ONCE: Final = 1000
_UNITS: Final = ("B", "KB", "MB", "GB", "TB")


class ListWithSizes(Parameters):
    """Parameters of list_directory_with_sizes."""

    path: str
    sort_by: Annotated[Literal["name", "size"], Field(alias="sortBy")] = "name"


class Tree(Parameters):
    """Parameters of directory_tree."""

    path: str
    exclude_patterns: Annotated[list[str], Field(alias="excludePatterns", default_factory=list)]


class Search(Parameters):
    """Parameters of search_files."""

    path: str
    pattern: str
    exclude_patterns: Annotated[list[str], Field(alias="excludePatterns", default_factory=list)]


class AnyParameters(Parameters):
    """Parameters of list_allowed_directories, which has none; any are ignored, as in the official server."""

    model_config = ConfigDict(extra="ignore")


async def list_directory(context: ToolContext, given: OnePath) -> Mapping[str, Any]:
    """List a folder."""
    rows = [f"{_mark(entry)} {printable(entry.name)}" for _, entry in await _entries(context, given.path)]
    return answer("\n".join(rows))


async def list_directory_with_sizes(context: ToolContext, given: ListWithSizes) -> Mapping[str, Any]:
    """List a folder with the sizes of its files."""
    place = await place_of(context, given.path)
    sized = [(entry, await _size(place, entry)) for _, entry in await _entries(context, given.path)]
    if given.sort_by == "size":
        sized.sort(key=lambda each: each[1], reverse=True)
    else:
        sized.sort(key=lambda each: (each[0].name.casefold(), each[0].name))
    rows = [
        f"{_mark(entry)} {printable(entry.name):<30} {'' if entry.type == 'directory' else f'{format_size(size):>10}'}"
        for entry, size in sized
    ]
    folders = sum(entry.type == "directory" for entry, _ in sized)
    total = format_size(sum(size for _, size in sized))
    rows += ["", f"Total: {len(sized) - folders} files, {folders} directories", f"Combined size: {total}"]
    return answer("\n".join(rows))


async def directory_tree(context: ToolContext, given: Tree) -> Mapping[str, Any]:
    """Show the tree below a folder."""
    rows = await _entries(context, given.path, recursive=True)
    # A plain name excludes every entry of that name with everything below it; a pattern with a star is used as a glob.
    forms = (
        [each] if "*" in each or not each else [each, f"**/{each}", f"**/{each}/**"] for each in given.exclude_patterns
    )
    is_left_out = matcher(form for each in forms for form in each)
    children: dict[str, list[dict[str, Any]]] = {"": []}
    async for path, entry in _paced(rows):
        siblings = children.get(path.rpartition("/")[0])
        if siblings is None or is_left_out(path):
            continue
        siblings.append({"name": printable(entry.name), "type": "directory" if entry.type == "directory" else "file"})
        if entry.type == "directory":
            siblings[-1]["children"] = children[path] = []
    # In a thread: a large tree would block the loop for long.
    return answer(await asyncio.to_thread(json.dumps, children[""], ensure_ascii=False, indent=2))


async def search_files(context: ToolContext, given: Search) -> Mapping[str, Any]:
    """Find files and folders whose path below a folder fits a glob."""
    place = await place_of(context, given.path)
    is_wanted, is_left_out = matcher([given.pattern]), matcher(given.exclude_patterns)
    real = await real_path(place.root, place.path)
    start = (place.absolute if real == place.path else place.root.absolute(real)).rstrip("/")
    entered, found = {""}, []
    async for path, entry in _paced(await _entries(context, given.path, recursive=True)):
        if path.rpartition("/")[0] not in entered or is_left_out(path):
            continue
        if entry.type == "directory":
            entered.add(path)
        if is_wanted(path) and (entry.type != "symlink" or await _leads_inside(place, entry)):
            found.append(printable(f"{start}/{path}"))
    return answer("\n".join(found) or "No matches found")


async def list_allowed_directories(context: ToolContext, given: AnyParameters) -> Mapping[str, Any]:
    """List the served folders."""
    return answer("\n".join(["Allowed directories:", *map(printable, context.roots.folders)]))


async def _entries(context: ToolContext, raw_path: str, *, recursive: bool = False) -> list[tuple[str, Entry]]:
    """Return the entries in or below a folder, ordered by name, each folder before its contents."""
    place = await place_of(context, raw_path)
    # Entries have real paths, which differ from the given one below a linked folder.
    real = await real_path(place.root, place.path)
    base = len(real) + 1 if real else 0
    listed = partial(
        place.files.list_files, real, recursive=recursive, all=True, details=not recursive, abort=context.is_aborted
    )
    rows = [(entry.path[base:], entry) async for page in pages(listed) for entry in page.entries]
    # The end of a name must sort before any character, so that a folder's contents follow it directly.
    return sorted(rows, key=lambda row: row[0].encode().replace(b"/", b"\0"))


async def _paced(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield items, and yield to the event loop from time to time, since a tree may be very large."""
    for index, item in enumerate(items):
        if index % ITEMS_AT_ONCE == 0:
            await asyncio.sleep(0)
        yield item


async def _size(place: ServedPath, entry: Entry) -> int:
    """Return the size of a file or of a link's target; 0 for anything else and for unreachable targets."""
    if entry.type != "symlink":
        return entry.size or 0 if entry.type == "file" else 0
    try:
        info = await place.files.file_info(await real_path(place.root, entry.path))
    except FileToolsError:
        return 0
    return info.size or 0


async def _leads_inside(place: ServedPath, entry: Entry) -> bool:
    try:
        await real_path(place.root, entry.path)
    except FileToolsError:
        return False
    return True


def _mark(entry: Entry) -> str:
    return "[DIR]" if entry.type == "directory" else "[FILE]"


def format_size(size: int) -> str:
    """Return a number of bytes in a human-readable form."""
    index = 0 if size < 1024 else min((size.bit_length() - 1) // 10, len(_UNITS) - 1)
    return f"{size / 1024**index:.2f} {_UNITS[index]}" if index else f"{size} B"
