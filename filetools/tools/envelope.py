"""The envelope of a call, which carries results and errors in every interface, and the JSON schemas of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from filetools.errors import FileToolsError
from filetools.models.records import ChangedFile
from filetools.models.result import Result

MOST_CHANGED_FILES: Final = 20
"""Maximum number of files changed by others named in one envelope; the rest is counted."""


def success_envelope(result: Result | Mapping[str, Any]) -> dict[str, Any]:
    """Return the envelope of a success. Warnings of the result, or of a batch's results, move from the data to the envelope."""
    data = result.to_dict() if isinstance(result, Result) else dict(result)
    rows = [data, *(row for row in data.get("results", ()) if isinstance(row, dict))]
    warnings = [warning for row in rows for warning in row.pop("warnings", ())]
    envelope: dict[str, Any] = {"success": True, "data": data}
    return envelope | {"warnings": warnings} if warnings else envelope


def news_of(changed: Sequence[ChangedFile]) -> dict[str, Any]:
    """Return the envelope fields about files changed by others, newest last; empty if there are none."""
    if not changed:
        return {}
    shown = [each.to_dict() for each in changed[-MOST_CHANGED_FILES:]]
    more = len(changed) - len(shown)
    return {"changed_since_read": shown, **({"changed_since_read_more": more} if more else {})}


def failure_envelope(error: FileToolsError, attempts: int = 1) -> dict[str, Any]:
    """Return the envelope of a failure.

    Args:
        error: The error.
        attempts: Number of attempts.
    """
    return {
        "success": False,
        "error": error.message,
        "error_code": error.code,
        "retryable": error.retryable,
        **({"suggested_action": error.suggested_action} if error.suggested_action else {}),
        "details": ({} if error.path is None else {"path": str(error.path)}) | error.details,
        "attempts": attempts,
    }


_UNPUBLISHED: Final = ("title", "default", "minimum", "maximum")
NEWS_PROPERTIES: Final[dict[str, Any]] = {
    "warnings": {"type": "array", "items": {"type": "object"}},
    "changed_since_read": {"type": "array", "items": {"type": "object"}},
    "changed_since_read_more": {"type": "integer"},
    "instructions": {"type": "array", "items": {"type": "string"}},
}
"""Schemas of the envelope fields that accompany the data."""


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's parameters.

    It omits titles, references, bounds of numbers (which the validator reports when violated), and the nulls and defaults
    of optional parameters. Canonical names only.
    """
    raw = model.model_json_schema()
    definitions = raw.pop("$defs", {})
    schema = _compact(raw, definitions)
    schema.pop("description", None)
    return {"type": "object", "properties": {}} | schema


def _compact(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    schema = _without_null(schema)
    if reference := schema.get("$ref"):
        schema = definitions[reference.rpartition("/")[2]] | {k: v for k, v in schema.items() if k != "$ref"}
        schema.pop("description", None)
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            kept[keyword] = {name: _compact(each, definitions) for name, each in value.items()}
        elif keyword == "items":
            kept[keyword] = _compact(value, definitions)
        elif keyword == "anyOf":
            kept[keyword] = [_compact(each, definitions) for each in value]
        elif keyword not in _UNPUBLISHED:
            kept[keyword] = value
    return kept


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove the null choice of an optional parameter; the list of required names already shows that it is optional."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) != 1:
        return schema
    only: dict[str, Any] = choices[0]
    return only | {keyword: value for keyword, value in schema.items() if keyword != "anyOf"}


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's structured result: its data and the news of the envelope."""
    raw = model.model_json_schema(mode="serialization")
    definitions = {name: _sparing(each) for name, each in raw.pop("$defs", {}).items()}
    schema = _compact(_sparing(raw), definitions)
    schema.pop("description", None)
    return schema | {"type": "object", "properties": schema["properties"] | NEWS_PROPERTIES}


def _sparing(schema: dict[str, Any]) -> dict[str, Any]:
    """Require only fields that are always present: results omit fields that are None."""
    properties = schema.get("properties", {})
    required = [
        name for name in schema.get("required", ()) if {"type": "null"} not in properties[name].get("anyOf", ())
    ]
    return schema | {"required": required}
