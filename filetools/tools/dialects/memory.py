"""The dialect of Anthropic's memory tool, `memory_20250818`: all its files are in `/memories`.

Source: Anthropic's documentation of the memory tool, which also specifies the messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import unquote

from filetools.errors import (
    DirectoryNotFoundError,
    FileToolsError,
    InvalidArgumentError,
    InvalidPathError,
    PathExistsError,
    PathNotFoundError,
    PathTraversalError,
)
from filetools.paths.lexical import names_folder
from filetools.printable import printable
from filetools.tools.answers.seen import TextLimits, clipped
from filetools.tools.dialects.dialect import Dialect, presented, reworded
from filetools.tools.dialects.text_editor import WORDS as TEXT_EDITOR_WORDS
from filetools.tools.dialects.text_editor import Editor, EditorCommand, check, run, shown_lines
from filetools.tools.handlers.changing import DeleteFile, delete_file
from filetools.tools.tool import Tool, ToolContext

NAME: Final = "memory"
TYPE: Final = "memory_20250818"
FOLDER: Final = "memories"
WORDS: Final = TEXT_EDITOR_WORDS | {
    "exists": "File {path} already exists",
    "replaced": "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}",
    "inserted": "The file {path} has been edited.",
    "ambiguous": (
        "No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}. Please ensure it is"
        " unique"
    ),
}


class MemoryCommand(EditorCommand):
    """Parameters of the memory."""

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"]
    old_path: str | None = None
    new_path: str | None = None


async def remember(context: ToolContext, given: MemoryCommand) -> dict[str, Any]:
    """Run one command."""
    check(given)
    if given.command == "rename":
        return await _rename(context, given.old_path or "", given.new_path or "")
    path = given.path or ""
    inside = inside_memories(path)
    if given.command == "delete":
        return await _delete(context, path, inside)
    editor = Editor(context, WORDS, path, inside, suggests_paths=False)
    if given.command == "view" and inside == FOLDER and not await context.files.exists(inside):
        return {"path": path, "entries": [], "truncated": False}
    return await run(editor, given)


def inside_memories(path: str) -> str:
    """Convert a memory path into a workspace path.

    Raises:
        InvalidPathError: It does not begin with `/memories`.
        PathTraversalError: It has a segment "..", as it is or percent-decoded.
    """
    if ".." in unquote(path).replace("\\", "/").split("/"):
        raise PathTraversalError(path)
    segments = [segment for segment in path.split("/") if segment not in ("", ".")]
    if not path.startswith("/") or "\\" in path or segments[:1] != [FOLDER]:
        raise InvalidPathError(path, "every path of the memory begins with /memories")
    return "/".join([*segments, ""] if len(segments) > 1 and names_folder(path) else segments)


async def _delete(context: ToolContext, shown: str, inside: str) -> dict[str, Any]:
    if inside == FOLDER:
        raise InvalidArgumentError("Cannot delete the /memories directory itself")
    try:
        deleted = await delete_file(context, DeleteFile(path=inside, recursive=True))
    except (PathNotFoundError, DirectoryNotFoundError) as error:
        raise _missing(error, shown) from error
    return {"path": shown, "output": f"Successfully deleted {printable(shown)}", "entries_deleted": deleted.entries}


async def _rename(context: ToolContext, old: str, new: str) -> dict[str, Any]:
    source, destination = inside_memories(old), inside_memories(new)
    if FOLDER in (source, destination):
        raise InvalidArgumentError("Cannot rename the /memories directory itself")
    try:
        await context.files.move_file(source, destination)
    except (PathNotFoundError, DirectoryNotFoundError) as error:
        raise _missing(error, old) from error
    except PathExistsError as error:
        raise reworded(error, f"The destination {printable(new)} already exists", "Choose another new_path.") from error
    return {"path": new, "old_path": old, "output": f"Successfully renamed {printable(old)} to {printable(new)}"}


def _missing(error: FileToolsError, shown: str) -> FileToolsError:
    return reworded(error, f"The path {printable(shown)} does not exist")


def _shown(data: Mapping[str, Any], limits: TextLimits) -> str:
    if "output" in data:
        return str(data["output"])
    if "entries" in data:
        return _folder(data, limits)
    return f"Here's the content of {data['path']} with line numbers:\n{shown_lines(data, limits)}"


def _folder(data: Mapping[str, Any], limits: TextLimits) -> str:
    folder = data["path"].rstrip("/")
    head = (
        f"Here're the files and directories up to 2 levels deep in {folder}, excluding hidden items and node_modules:"
    )
    sizes = {entry["path"]: entry["size"] for entry in data["entries"]}
    rows = [(_below(sizes, ""), folder), *((_below(sizes, path), f"{folder}/{path}") for path in sizes)]
    more = "[there are more]\n" if data["truncated"] else ""
    text, _ = clipped("".join(f"{_size(size)}\t{path}\n" for size, path in rows), limits)
    return f"{head}\n{text}{more}".removesuffix("\n")


def _below(sizes: Mapping[str, int], path: str) -> int:
    """Return the size of a file, or the total size of the entries shown in a folder."""
    return sum(size for each, size in sizes.items() if each.startswith(path)) if path[-1:] in ("", "/") else sizes[path]


def _size(count: int) -> str:
    """Return a number of bytes in a human-readable form: 0B, 512B, 5.5K, 1.2M."""
    amount = float(count)
    for unit in "BKM":
        if amount < 1024:
            return f"{amount:.1f}".removesuffix(".0") + unit
        amount /= 1024
    return f"{amount:.1f}".removesuffix(".0") + "G"


MEMORY: Final = Dialect(
    name=NAME,
    tools=(
        Tool(
            name="memory",
            description=(
                "Keep notes across conversations, in text files below /memories. view: a file with line numbers (view_range),"
                " or a folder. create: path, file_text. str_replace: old_str must appear exactly once, new_str. insert:"
                " insert_text after insert_line, 0 is the top. delete: path. rename: old_path, new_path."
            ),
            parameters=MemoryCommand,
            handler=remember,
            group=NAME,
            effect="delete",
            present=presented(_shown),
        ),
    ),
    hosted={"type": TYPE, "name": "memory"},
)
