"""How results are shown: the text alone, once more for programs, and what else there is to tell in blocks of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from filetools.models.result import Result
from filetools.tools.clipping import TextLimits
from filetools.tools.media import Medium
from filetools.tools.seen import Shown
from filetools.tools.shown import news_lines, shown_failure

ACTIONS: Final = {
    "ABSOLUTE_PATH": "Use a path inside one of the folders that list_allowed_directories names.",
    "PATH_TRAVERSAL": "Write the path without '..' segments.",
    "FILE_NOT_FOUND": "Check the path with list_directory or search_files.",
    "DIR_NOT_FOUND": "Check the path with list_directory, or make the folder with create_directory.",
    "FILE_EXISTS": "Choose another path.",
    "IS_A_DIRECTORY": "Use list_directory to see what is in the folder.",
    "FILE_TOO_LARGE": "Read a part: pass head or tail.",
    "VERSION_MISMATCH": "Read the whole file with read_text_file, then repeat the call with what you find there in it.",
    "EDIT_AMBIGUOUS": "Put more of the lines around the place into oldText, so that it is found once.",
}
"""What to do, in the words of these tools."""


def answer(text: str, *results: Result, **more: Any) -> dict[str, Any]:
    """Return what a handler returns: the text of the result, with the warnings of what was done for it."""
    warnings = [warning for result in results for warning in getattr(result, "warnings", ())]
    if any(getattr(result, "merged", False) for result in results):
        told = "others have changed the file since you saw it; your text was merged with theirs, read it again"
        warnings.append({"code": "MERGED", "message": told})
    if any(getattr(result, "in_buffer", False) for result in results):
        told = "a person has unsaved text in this file; the change went into it, and to the disk when they save"
        warnings.append({"code": "IN_BUFFER", "message": told})
    return {"content": text, "warnings": warnings, **more}


def present(envelope: Mapping[str, Any], limits: TextLimits) -> Shown:
    """Show a text whole, as the original does, however long it is: programs write back what they have read."""
    if not envelope["success"]:
        return shown_failure(envelope, limits)
    text = envelope["data"]["content"]
    return Shown(text=text, structured={"content": text}, notes=_notes(envelope))


def present_bytes(envelope: Mapping[str, Any], limits: TextLimits) -> Shown:
    """Show bytes as a picture, a sound, or an embedded resource."""
    if not envelope["success"]:
        return present(envelope, limits)
    data = envelope["data"]
    medium = Medium(kind=data["kind"], data=data["content"], mime_type=data["mime_type"], uri=data["uri"])
    return Shown(text="", media=medium, structured={"content": [_block(medium)]}, notes=_notes(envelope))


def _block(medium: Medium) -> dict[str, Any]:
    if medium.kind == "bytes":
        resource = {"uri": medium.uri, "mimeType": medium.mime_type, "blob": medium.data}
        return {"type": "resource", "resource": resource}
    return {"type": medium.kind, "data": medium.data, "mimeType": medium.mime_type}


def _notes(envelope: Mapping[str, Any]) -> tuple[str, ...]:
    lines = "\n".join(news_lines(envelope))
    return (lines,) if lines else ()
