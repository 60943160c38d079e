"""Paths as clients of the official filesystem server write them, results as it formats them, and the tools for files."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePath
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import quote

from msgspec.structs import replace
from pydantic import Field

from filetools.content.editing.edits import Edit
from filetools.errors import (
    AbsolutePathError,
    FileTooLargeError,
    FileToolsError,
    InvalidArgumentError,
    PathExistsError,
    PathIsDirectoryError,
    PathTooLongError,
    SymlinkEscapeError,
)
from filetools.models.files import ReadResult
from filetools.models.result import Result
from filetools.printable import printable
from filetools.settings import home_directory
from filetools.tools.answers.seen import Medium, ShownCall, TextLimits
from filetools.tools.answers.shown import news_lines, shown_failure
from filetools.tools.answers.summaries import hunk_place
from filetools.tools.arguments import P, Parameters
from filetools.tools.handlers.changing import PathAndContent
from filetools.tools.handlers.reading import OnePath, pages
from filetools.tools.roots import Root, ServedPath
from filetools.tools.tool import ToolContext

Handler: TypeAlias = Callable[[ToolContext, P], Awaitable[Mapping[str, Any]]]


async def place_of(context: ToolContext, raw_path: str) -> ServedPath:
    """Resolve a path.

    Raises:
        AbsolutePathError: It lies in none of the roots.
        SymlinkEscapeError: A link leads out of the served part of a workspace.
        InvalidArgumentError: Several names on disk differ from one of the path only in their Unicode form.
    """
    place = context.roots.locate(_without_tilde(raw_path))
    place = replace(place, path=await _as_on_disk(place))
    if place.root.base and place.files.settings.follow_symlinks:
        await real_path(place.root, place.path)
    return place


async def real_path(root: Root, path: str) -> str:
    """Return the real path of a path in a root's workspace.

    Raises:
        SymlinkEscapeError: A link leads out of the root, which may be only a part of the workspace.
    """
    real = await root.files.real_path(path)
    if not root.holds(real):
        raise SymlinkEscapeError(path, path)
    return real


async def _as_on_disk(place: ServedPath) -> str:
    """Return a path with the Unicode normalisation used on disk: clients compose names that macOS has decomposed.

    Raises:
        InvalidArgumentError: Several names on disk differ only in their normalisation.
    """
    if place.path.isascii() or await place.files.exists(place.path):
        return place.path
    found: list[str] = []
    for wanted in place.path.split("/"):
        alike = {name async for name in _names(place, "/".join(found)) if _composed(name) == _composed(wanted)}
        if len(alike) > 1 and wanted not in alike:
            raise InvalidArgumentError(
                f"Several names there differ from {wanted!r} only in their Unicode form; rename one"
            )
        found.append(alike.pop() if len(alike) == 1 else wanted)
    return "/".join(found)


async def _names(place: ServedPath, folder: str) -> AsyncIterator[str]:
    """Yield the names in a folder; nothing if it is not a folder."""
    with suppress(FileToolsError):  # missing, a file, or inaccessible: the call itself reports which
        async for page in pages(partial(place.files.list_files, folder, all=True, details=False)):
            for entry in page.entries:
                yield entry.name


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def naming_its_path(handler: Handler[P]) -> Handler[P]:
    """Return a handler whose errors name the path as the client gave it, which identifies the root."""

    async def handle(context: ToolContext, given: P) -> Mapping[str, Any]:
        try:
            return await handler(context, given)
        except (AbsolutePathError, PathTooLongError):
            raise
        except FileToolsError as error:
            path = given.about()
            if isinstance(given, SourceAndDestination) and isinstance(error, PathExistsError | PathIsDirectoryError):
                path = given.destination
            error.path = path
            raise

    return handle


def _without_tilde(raw_path: str) -> str:
    is_home = raw_path == "~" or raw_path.startswith("~/")
    return home_directory().as_posix() + raw_path[1:] if is_home else raw_path


ACTIONS: Final = {
    "ABSOLUTE_PATH": "Use a path inside one of the folders that list_allowed_directories names.",
    "PATH_TRAVERSAL": "Write the path without '..' segments.",
    "FILE_NOT_FOUND": "Check the path with list_directory or search_files.",
    "DIR_NOT_FOUND": "Check the path with list_directory, or make the folder with create_directory.",
    "FILE_EXISTS": "Choose another path.",
    "IS_A_DIRECTORY": "Use list_directory to see what is in the folder.",
    "FILE_TOO_LARGE": "Read a part: pass head or tail.",
    "VERSION_MISMATCH": "Read the whole file with read_text_file, then repeat the call on its current text.",
    "EDIT_AMBIGUOUS": "Include more of the surrounding lines in oldText, so that it matches once.",
}
"""Suggested actions by error code, in terms of these tools."""


_NOTICES: Final = {
    "merged": {
        "code": "MERGED",
        "message": "others have changed the file since you saw it; your text was merged with theirs, read it again",
    },
    "in_buffer": {
        "code": "IN_BUFFER",
        "message": (
            "a person has unsaved text in this file; the change is in that text, and reaches the disk when they save"
        ),
    },
}
"""Warnings by the field of a result that causes them."""


def answer(text: str, *results: Result, **more: Any) -> dict[str, Any]:
    """Return a handler's result: its text, and the warnings of the underlying results."""
    warnings = [warning for result in results for warning in getattr(result, "warnings", ())]
    warnings += [notice for name, notice in _NOTICES.items() for result in results if getattr(result, name, False)]
    return {"content": text, "warnings": warnings, **more}


def present(envelope: Mapping[str, Any], limits: TextLimits) -> ShownCall:
    """Show the whole text, however long, as the official server does: programs write back what they have read."""
    if not envelope["success"]:
        return shown_failure(envelope, limits)
    text = envelope["data"]["content"]
    return ShownCall(text=text, structured={"content": text}, notes=_notes(envelope))


def present_bytes(envelope: Mapping[str, Any], limits: TextLimits) -> ShownCall:
    """Show bytes as an image, audio, or an embedded resource."""
    if not envelope["success"]:
        return present(envelope, limits)
    data = envelope["data"]
    medium = Medium(kind=data["kind"], data=data["content"], mime_type=data["mime_type"], uri=data["uri"])
    return ShownCall(text="", media=medium, structured={"content": [medium.content]}, notes=_notes(envelope))


def _notes(envelope: Mapping[str, Any]) -> tuple[str, ...]:
    lines = "\n".join(news_lines(envelope))
    return (lines,) if lines else ()


MIME_TYPES: Final = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".bmp": "image/bmp", ".svg": "image/svg+xml", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg",
    ".flac": "audio/flac",
}  # fmt: skip
"""Media types by file extension, which is all the official server considers."""
_LAST_END: Final = re.compile(r"(?:\r\n|\n|\r)\Z")
_SAFE_IN_ADDRESSES: Final = "/:!$&'()*+,;=@-._~"


class ReadText(Parameters):
    """Parameters of read_text_file and read_file."""

    path: str
    head: Annotated[int | None, Field(ge=0)] = None
    tail: Annotated[int | None, Field(ge=0)] = None


class ReadMultiple(Parameters):
    """Parameters of read_multiple_files."""

    paths: Annotated[list[str], Field(min_length=1)]


async def read_text_file(context: ToolContext, given: ReadText) -> Mapping[str, Any]:
    """Read a text file, or its first or last lines."""
    if given.head and given.tail:
        raise InvalidArgumentError("Cannot specify both head and tail parameters simultaneously", path=given.path)
    text = (await _read(context, given.path, head=given.head, tail=given.tail)).content
    return answer(_LAST_END.sub("", text) if given.head else text)


async def read_media_file(context: ToolContext, given: OnePath) -> Mapping[str, Any]:
    """Read the bytes of a file."""
    place = await place_of(context, given.path)
    most, content = place.files.settings.max_read_bytes, bytearray()
    async for chunk in place.files.stream_file(place.path):
        content += chunk
        if len(content) > most:
            raise FileTooLargeError(given.path, len(content), most)
    mime_type = MIME_TYPES.get(PurePath(place.path).suffix.lower(), "application/octet-stream")
    kind = mime_type.partition("/")[0]
    return {
        "kind": kind if kind in ("image", "audio") else "bytes",
        "content": base64.b64encode(content).decode("ascii"),
        "mime_type": mime_type,
        "uri": "file://" + quote(place.absolute, safe=_SAFE_IN_ADDRESSES),
    }


async def read_multiple_files(context: ToolContext, given: ReadMultiple) -> Mapping[str, Any]:
    """Read several files; one that fails does not stop the others."""
    parts: list[str] = []
    for raw_path in given.paths:
        if context.is_aborted():
            break
        try:
            parts.append(f"{printable(raw_path)}:\n{(await _read(context, raw_path)).content}\n")
        except FileToolsError as error:
            parts.append(f"{printable(raw_path)}: Error - {error.code}: {error.message}")
    return answer("\n---\n".join(parts))


async def get_file_info(context: ToolContext, given: OnePath) -> Mapping[str, Any]:
    """Return facts about a file or folder; about the target of a link."""
    place = await place_of(context, given.path)
    info = await place.files.file_info(await real_path(place.root, place.path), times=True)
    rows = {
        "size": info.size or 0,
        "created": _moment(info.created or info.modified),
        "modified": _moment(info.modified),
        "accessed": _moment(info.accessed or info.modified),
        "isDirectory": "true" if info.type == "directory" else "false",
        "isFile": "true" if info.type == "file" else "false",
        "permissions": info.mode[-3:].rjust(3, "0"),
    }
    return answer("\n".join(f"{name}: {value}" for name, value in rows.items()))


async def _read(context: ToolContext, raw_path: str, *, head: int | None = None, tail: int | None = None) -> ReadResult:
    place = await place_of(context, raw_path)
    if not place.path:
        raise PathIsDirectoryError(raw_path)
    offset = -tail if tail else 1 if head else None
    read = await place.files.read_file(place.path, offset=offset, limit=head or tail or None)
    if read.is_binary:
        raise InvalidArgumentError(f"{raw_path} is not text; read it with read_media_file", path=raw_path)
    return read


def _moment(moment: datetime) -> str:
    """Return a time in JavaScript's format, in the machine's time zone."""
    local = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone()
    zone = local.tzname() or ""
    name = "Coordinated Universal Time" if zone == "UTC" else zone
    return f"{local:%a %b %d %Y %H:%M:%S} GMT{local:%z} ({name})"


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
    done = await place.files.write_file(place.new_path, given.content, require_read=context.require_read)
    return answer(f"Successfully wrote to {printable(given.path)}", done)


async def edit_file(context: ToolContext, given: EditTexts) -> Mapping[str, Any]:
    """Replace texts that each occur once in the file."""
    place = await place_of(context, given.path)
    edits = [Edit(old=each.old_text, new=each.new_text) for each in given.edits]
    done = await place.files.edit_file(place.path, edits, dry_run=given.dry_run, context_lines=CONTEXT_LINES)
    return answer(_fenced(_diff(place.absolute, done.structured_patch)), done)


async def create_directory(context: ToolContext, given: OnePath) -> Mapping[str, Any]:
    """Create a folder and its missing parents."""
    place = await place_of(context, given.path)
    text = f"Successfully created directory {printable(given.path)}"
    if not place.path:
        return answer(text)
    return answer(text, await place.files.create_directory(place.path))


async def move_file(context: ToolContext, given: SourceAndDestination) -> Mapping[str, Any]:
    """Move a file or folder to a path that does not exist."""
    source = await place_of(context, given.source)
    destination = await place_of(context, given.destination)
    if source.files is not destination.files:
        reason = "a move from one root to another cannot be done in one step; write the file there instead"
        raise InvalidArgumentError(f"{given.source} and {given.destination}: {reason}", path=given.source)
    done = await source.files.move_file(source.path, destination.new_path)
    return answer(printable(f"Successfully moved {given.source} to {given.destination}"), done)


def _diff(path: str, hunks: Sequence[Mapping[str, Any]]) -> str:
    path = printable(path)
    rows = [f"Index: {path}", "=" * 67, f"--- {path}\toriginal", f"+++ {path}\tmodified"]
    for hunk in hunks:
        rows += (hunk_place(hunk), *hunk["lines"])
    return "".join(f"{row}\n" for row in rows)


def _fenced(diff: str) -> str:
    """Enclose a diff in a fence longer than any run of backticks in it."""
    fence = "```"
    while fence in diff:
        fence += "`"
    return f"{fence}diff\n{diff}{fence}\n\n"
