"""Tools as the official file server publishes them: titles, schemas and hints to the letter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal

from filetools.tools.arguments import P
from filetools.tools.dialects.mcp_filesystem.showing import present
from filetools.tools.tool import Effect, Published, Tool, ToolContext

GROUP: Final = "mcp-filesystem"
TEXT: Final[dict[str, Any]] = {"type": "string"}
PATTERNS: Final[dict[str, Any]] = {"default": [], "type": "array", "items": TEXT}
_DIALECT: Final = "http://json-schema.org/draft-07/schema#"


def number(description: str) -> dict[str, Any]:
    """Return the schema of a number."""
    return {"description": description, "type": "number"}


def record(required: tuple[str, ...] = (), *, is_closed: bool = False, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object inside another schema."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | ({"additionalProperties": False} if is_closed else {})


CONTENT: Final = record(("content",), is_closed=True, content=TEXT)


def reading(
    name: str,
    parameters: type[P],
    handler: Callable[[ToolContext, P], Awaitable[Mapping[str, Any]]],
    *,
    description: str,
    schema: Mapping[str, Any],
    title: str | None = None,
    output: Mapping[str, Any] = CONTENT,
    looks_at: Literal["file", "folder"] = "file",
) -> Tool[P]:
    """Return a tool that only reads; without `title` it is that of the name."""
    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        handler=handler,
        group=GROUP,
        level="auto",
        effect="read",
        looks_at=looks_at,
        is_idempotent=True,
        has_body=True,
        present=present,
        published=_published(name, schema, {"readOnlyHint": True, "openWorldHint": False}, title=title, output=output),
    )


def changing(
    name: str,
    parameters: type[P],
    handler: Callable[[ToolContext, P], Awaitable[Mapping[str, Any]]],
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
    effect: Effect = "change"
    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        handler=handler,
        group=GROUP,
        effect=effect,
        is_idempotent=is_idempotent,
        is_additive=is_additive,
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
) -> Published:
    return Published(
        title=title or name.replace("_", " ").title().replace(" With ", " with "),
        input_schema={"$schema": _DIALECT, **schema},
        output_schema={"$schema": _DIALECT, **output},
        annotations=hints,
    )
