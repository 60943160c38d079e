"""The tools that change files and folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from filetools.content.edits import Edit
from filetools.errors import InvalidArgumentError
from filetools.tools.arguments import Parameters
from filetools.tools.changing import PathAndContent
from filetools.tools.dialects.mcp_filesystem.places import answer, place_of, told_as
from filetools.tools.reading import OnePath
from filetools.tools.tool import ToolContext

CONTEXT_LINES: Final = 4
"""Unchanged lines around each change of a diff."""


class TextPair(Parameters):
    """One replacement of edit_file."""

    old_text: Annotated[str, Field(alias="oldText")]
    new_text: Annotated[str, Field(alias="newText")]


class EditTexts(Parameters):
    """Parameters of edit_file."""

    path: str
    edits: list[TextPair]
    dry_run: Annotated[bool, Field(alias="dryRun")] = False


class SourceAndDestination(Parameters):
    """Parameters of move_file."""

    source: str
    destination: str


async def write_file(context: ToolContext, given: PathAndContent) -> Mapping[str, Any]:
    """Create a file, or replace one that the caller has read."""
    place = await place_of(context, given.path)
    with told_as(given.path):
        done = await place.files.write_file(place.path, given.content, require_read=context.require_read)
    return answer(f"Successfully wrote to {given.path}", done)


async def edit_file(context: ToolContext, given: EditTexts) -> Mapping[str, Any]:
    """Replace texts that each stand in the file once."""
    place = await place_of(context, given.path)
    edits = [Edit(old=each.old_text, new=each.new_text) for each in given.edits]
    with told_as(given.path):
        done = await place.files.edit_file(place.path, edits, dry_run=given.dry_run, context_lines=CONTEXT_LINES)
    return answer(_fenced(_diff(place.absolute, done.structured_patch)), done)


async def create_directory(context: ToolContext, given: OnePath) -> Mapping[str, Any]:
    """Create a folder and its missing parents."""
    place = await place_of(context, given.path)
    text = f"Successfully created directory {given.path}"
    if not place.path:
        return answer(text)
    with told_as(given.path):
        return answer(text, await place.files.create_directory(place.path))


async def move_file(context: ToolContext, given: SourceAndDestination) -> Mapping[str, Any]:
    """Move a file or folder to where nothing stands yet."""
    source = await place_of(context, given.source)
    destination = await place_of(context, given.destination)
    if source.files is not destination.files:
        reason = "a move from one root to another cannot be done in one step; write the file there instead"
        raise InvalidArgumentError(f"{given.source} and {given.destination}: {reason}", path=given.source)
    with told_as(given.source):
        done = await source.files.move_file(source.path, destination.path)
    return answer(f"Successfully moved {given.source} to {given.destination}", done)


def _diff(path: str, hunks: Sequence[Mapping[str, Any]]) -> str:
    rows = [f"Index: {path}", "=" * 67, f"--- {path}\toriginal", f"+++ {path}\tmodified"]
    for hunk in hunks:
        rows.append(f"@@ -{_range(hunk, 'old')} +{_range(hunk, 'new')} @@")
        rows += hunk["lines"]
    return "".join(f"{row}\n" for row in rows)


def _range(hunk: Mapping[str, Any], side: str) -> str:
    start, count = hunk[f"{side}Start"], hunk[f"{side}Lines"]
    return f"{start},{count}"


def _fenced(diff: str) -> str:
    """Put a diff between more backticks in a row than it has."""
    fence = "```"
    while fence in diff:
        fence += "`"
    return f"{fence}diff\n{diff}{fence}\n\n"
