"""Resolves paths as clients of the official filesystem server write them, and formats results as that server does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from filetools.errors import AbsolutePathError, FileToolsError, SymlinkEscapeError
from filetools.models.result import Result
from filetools.tools.answers.seen import Medium, ShownCall, TextLimits
from filetools.tools.answers.shown import news_lines, shown_failure
from filetools.tools.arguments import P
from filetools.tools.roots import Root, ServedPath
from filetools.tools.tool import ToolContext

Handler: TypeAlias = Callable[[ToolContext, P], Awaitable[Mapping[str, Any]]]


async def place_of(context: ToolContext, raw_path: str) -> ServedPath:
    """Resolve a path.

    Raises:
        AbsolutePathError: It lies in none of the roots.
        SymlinkEscapeError: A link leads out of the served part of a workspace.
    """
    place = context.roots.locate(_without_tilde(raw_path))
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


def naming_its_path(handler: Handler[P]) -> Handler[P]:
    """Return a handler whose errors name the path as the client gave it, which identifies the root."""

    async def handle(context: ToolContext, given: P) -> Mapping[str, Any]:
        try:
            return await handler(context, given)
        except AbsolutePathError:
            raise
        except FileToolsError as error:
            error.path = given.about()
            raise

    return handle


def _without_tilde(raw_path: str) -> str:
    is_home = raw_path == "~" or raw_path.startswith("~/")
    return Path.home().as_posix() + raw_path[1:] if is_home else raw_path


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
