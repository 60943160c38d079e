"""JSON schemas of parameters, in the smallest form that says the same: every byte is read by every model."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's parameters.

    Without titles, references, and the nulls and defaults of what may simply be left out. Canonical names only.
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
    schema = _without_null(schema)
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in ("title", "default"):
            continue
        if keyword == "properties":
            kept[keyword] = {name: _compact(each, definitions) for name, each in value.items()}
        elif keyword == "items":
            kept[keyword] = _compact(value, definitions)
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
