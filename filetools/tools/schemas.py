"""JSON schemas of parameters, in the smallest form that says the same: every byte is read by every model."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

_UNPUBLISHED: Final = ("title", "default", "minimum", "maximum")
NEWS_PROPERTIES: Final[dict[str, Any]] = {
    "warnings": {"type": "array", "items": {"type": "object"}},
    "changed_since_read": {"type": "array", "items": {"type": "object"}},
    "changed_since_read_more": {"type": "integer"},
    "instructions": {"type": "array", "items": {"type": "string"}},
}
"""What an envelope tells beside its data."""


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's parameters.

    Without titles, references, bounds of numbers, which the validator tells whoever leaves them, and the nulls and
    defaults of what may simply be left out. Canonical names only.
    """
    raw = model.model_json_schema()
    definitions = raw.pop("$defs", {})
    schema = _compact(raw, definitions)
    schema.pop("description", None)
    return {"type": "object", "properties": {}} | schema


def _compact(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if reference := schema.get("$ref"):
        schema = definitions[reference.rpartition("/")[2]] | {k: v for k, v in schema.items() if k != "$ref"}
        schema.pop("description", None)
    without = _without_null(schema)
    if without is not schema and "$ref" in without:
        return _compact(without, definitions)
    schema = without
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _UNPUBLISHED:
            continue
        if keyword == "properties":
            kept[keyword] = {name: _compact(each, definitions) for name, each in value.items()}
        elif keyword == "items":
            kept[keyword] = _compact(value, definitions)
        elif keyword == "anyOf":
            kept[keyword] = [_compact(each, definitions) for each in value]
        else:
            kept[keyword] = value
    return kept


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Say "may be left out" by not requiring it, as the list of required names does already."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) != 1:
        return schema
    only: dict[str, Any] = choices[0]
    return only | {keyword: value for keyword, value in schema.items() if keyword != "anyOf"}


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of what a tool tells programs: its data, and the news that an envelope carries beside it."""
    schema = data_schema(model)
    return schema | {"properties": schema["properties"] | NEWS_PROPERTIES}


def data_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's data."""
    raw = model.model_json_schema(mode="serialization")
    definitions = {name: _sparing(each) for name, each in raw.pop("$defs", {}).items()}
    schema = _compact(_sparing(raw), definitions)
    schema.pop("description", None)
    return schema | {"type": "object"}


def _sparing(schema: dict[str, Any]) -> dict[str, Any]:
    """Require only what is always there: fields that are None are left out of results."""
    properties = schema.get("properties", {})
    required = [
        name for name in schema.get("required", ()) if {"type": "null"} not in properties[name].get("anyOf", ())
    ]
    return schema | {"required": required}
