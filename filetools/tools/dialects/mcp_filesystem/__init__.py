"""The dialect `mcp-filesystem`: the tools of the official MCP file server, by the same names and with the same results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from filetools.tools.answers.offered import Names
from filetools.tools.arguments import P
from filetools.tools.dialects.dialect import Dialect, Present
from filetools.tools.dialects.mcp_filesystem.files import (
    ACTIONS,
    EditTexts,
    Handler,
    ReadMultiple,
    ReadText,
    SourceAndDestination,
    create_directory,
    edit_file,
    get_file_info,
    move_file,
    naming_its_path,
    present,
    present_bytes,
    read_media_file,
    read_multiple_files,
    read_text_file,
    write_file,
)
from filetools.tools.dialects.mcp_filesystem.looking import (
    AnyParameters,
    ListWithSizes,
    Search,
    Tree,
    directory_tree,
    list_allowed_directories,
    list_directory,
    list_directory_with_sizes,
    search_files,
)
from filetools.tools.handlers.changing import PathAndContent
from filetools.tools.handlers.reading import OnePath
from filetools.tools.tool import AnyTool, Tool

GROUP: Final = "mcp-filesystem"
TEXT: Final[dict[str, Any]] = {"type": "string"}
PATTERNS: Final[dict[str, Any]] = {"default": [], "type": "array", "items": TEXT}
_DIALECT: Final = "http://json-schema.org/draft-07/schema#"


def record(required: tuple[str, ...] = (), *, is_closed: bool = False, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object inside another schema."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | ({"additionalProperties": False} if is_closed else {})


CONTENT: Final = record(("content",), is_closed=True, content=TEXT)


def _reading_tool(
    name: str,
    parameters: type[P],
    handler: Handler[P],
    *,
    description: str,
    schema: Mapping[str, Any],
    title: str | None = None,
    output: Mapping[str, Any] = CONTENT,
    looks_at: Literal["file", "folder"] = "file",
    show: Present = present,
) -> Tool[P]:
    """Return a tool that only reads; the default title is derived from the name."""
    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        handler=naming_its_path(handler),
        group=GROUP,
        effect="read",
        looks_at=looks_at,
        has_body=True,
        present=show,
        published=_published(name, schema, {"readOnlyHint": True, "openWorldHint": False}, title=title, output=output),
    )


def _changing_tool(
    name: str,
    parameters: type[P],
    handler: Handler[P],
    *,
    description: str,
    schema: Mapping[str, Any],
    is_idempotent: bool = False,
    is_additive: bool = False,
) -> Tool[P]:
    """Return a tool that changes something."""
    hints = {
        "readOnlyHint": False,
        "idempotentHint": is_idempotent,
        "destructiveHint": not is_additive,
        "openWorldHint": False,
    }
    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        handler=naming_its_path(handler),
        group=GROUP,
        is_idempotent=is_idempotent,
        present=present,
        published=_published(name, schema, hints),
    )


def _published(
    name: str,
    schema: Mapping[str, Any],
    hints: Mapping[str, bool],
    *,
    title: str | None = None,
    output: Mapping[str, Any] = CONTENT,
) -> dict[str, Any]:
    return {
        "title": title or name.replace("_", " ").title().replace(" With ", " with "),
        "inputSchema": {"$schema": _DIALECT, **schema},
        "outputSchema": {"$schema": _DIALECT, **output},
        "annotations": hints,
    }


_PATH: Final = record(("path",), path=TEXT)
_TEXT_PART: Final = record(
    ("path",),
    path=TEXT,
    tail={
        "description": "Only the last N lines; a final line end does not start another line",
        "type": "number",
    },
    head={"description": "Only the first N lines", "type": "number"},
)
_MEDIUM: Final = record(
    ("type", "data", "mimeType"), is_closed=True, type={**TEXT, "enum": ["image", "audio"]}, data=TEXT, mimeType=TEXT
)
_RESOURCE: Final = record(
    ("type", "resource"),
    is_closed=True,
    type={**TEXT, "const": "resource"},
    resource=record(("uri", "blob"), is_closed=True, uri=TEXT, mimeType=TEXT, blob=TEXT),
)
_BLOCKS: Final = {"type": "array", "items": {"anyOf": [_MEDIUM, _RESOURCE]}}

TOOLS: Final[tuple[AnyTool, ...]] = (
    _reading_tool(
        "read_file", ReadText, read_text_file, schema=_TEXT_PART, title="Read File (Deprecated)",
        description="The former name of read_text_file.",
    ),
    _reading_tool(
        "read_text_file", ReadText, read_text_file, schema=_TEXT_PART,
        description=(
            "Read a text file in any encoding, including text that a person has not saved yet, or only its first (head) or"
            " last (tail) lines. Read the whole file before you replace it with write_file."
        ),
    ),
    _reading_tool(
        "read_media_file", OnePath, read_media_file, schema=_PATH, show=present_bytes,
        output=record(("content",), is_closed=True, content=_BLOCKS),
        description="Read an image or audio file; any other file is embedded as base64.",
    ),
    _reading_tool(
        "read_multiple_files", ReadMultiple, read_multiple_files,
        schema=record(("paths",), paths={"minItems": 1, "type": "array", "items": TEXT, "description": "Paths of text files"}),
        description="Read several text files at once, each below its path. One that fails does not stop the others.",
    ),
    _changing_tool(
        "write_file", PathAndContent, write_file, is_idempotent=True,
        schema=record(("path", "content"), path=TEXT, content=TEXT),
        description=(
            "Create a text file, with missing folders, or replace all of one that you have read whole. What others changed"
            " since then is merged in. VERSION_MISMATCH, EDIT_CONFLICT: read it again, redo your change."
        ),
    ),
    _changing_tool(
        "edit_file", EditTexts, edit_file,
        schema=record(
            ("path", "edits"),
            path=TEXT,
            edits={
                "type": "array",
                "items": record(
                    ("oldText", "newText"),
                    oldText={**TEXT, "description": "Text to replace, exactly as in the file; it must occur once"},
                    newText={**TEXT, "description": "The replacement"},
                ),
            },
            dryRun={"default": False, "description": "Only show the diff", "type": "boolean"},
        ),
        description=(
            "Replace exact texts in a text file, all edits or none, and nothing else in it. Returns the diff. EDIT_NOT_FOUND"
            " shows the closest text, EDIT_AMBIGUOUS the lines of all matches."
        ),
    ),
    _changing_tool(
        "create_directory", OnePath, create_directory, schema=_PATH, is_idempotent=True, is_additive=True,
        description="Create a folder with its missing parents. An existing folder is not an error.",
    ),
    _reading_tool(
        "list_directory", OnePath, list_directory, schema=_PATH, looks_at="folder",
        description="List a folder, one entry a line: [DIR] or [FILE], then the name.",
    ),
    _reading_tool(
        "list_directory_with_sizes", ListWithSizes, list_directory_with_sizes, looks_at="folder",
        schema=record(
            ("path",),
            path=TEXT,
            sortBy={"default": "name", "description": "The order of entries", "type": "string", "enum": ["name", "size"]},
        ),
        description="List a folder with the sizes of its files, and their number and sum at the end.",
    ),
    _reading_tool(
        "directory_tree", Tree, directory_tree, looks_at="folder",
        schema=record(("path",), path=TEXT, excludePatterns=PATTERNS),
        description="Show the tree below a folder as JSON: name, type, and children of folders.",
    ),
    _changing_tool(
        "move_file", SourceAndDestination, move_file, schema=record(("source", "destination"), source=TEXT, destination=TEXT),
        description="Move or rename a file or folder inside one root. FILE_EXISTS: choose another destination.",
    ),
    _reading_tool(
        "search_files", Search, search_files, looks_at="folder",
        schema=record(("path", "pattern"), path=TEXT, pattern=TEXT, excludePatterns=PATTERNS),
        description=(
            "Find files and folders below a folder whose path below it fits a glob: *.py for that folder alone, **/*.py for"
            " all. Returns full paths."
        ),
    ),
    _reading_tool(
        "get_file_info", OnePath, get_file_info, schema=_PATH,
        description="Return size, times, type and permissions of a file or folder.",
    ),
    _reading_tool(
        "list_allowed_directories", AnyParameters, list_allowed_directories, schema=record(),
        description="List the folders that all paths must be in.",
    ),
)  # fmt: skip

MCP_FILESYSTEM: Final = Dialect(
    name=GROUP,
    tools=TOOLS,
    takes_absolute_paths=True,
    takes_several_roots=True,
    names=Names(
        called={"list_files": "list_directory", "read_file": "read_text_file", "file_info": "get_file_info"},
        actions=ACTIONS,
    ),
    settings={"follow_symlinks": True},
)
