"""Schemas as OpenAI's strict mode wants them: every property required, those that may be left out nullable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a schema whose objects are closed and require every property, or None if it has an object of free form.

    A property that may be left out may be null instead, at any depth; the registry takes a null for a parameter left out.
    """
    try:
        return _strict(schema)
    except _FreeFormError:
        return None


class _FreeFormError(Exception):
    """Raised when an object's properties are not all known."""


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        raise _FreeFormError
    # What stands for a parameter left out is for the registry to know; strict mode has no word for it.
    kept = {keyword: value for keyword, value in schema.items() if keyword not in ("default", "$schema")}
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            raise _FreeFormError
        needed = set(schema.get("required", ()))
        properties = {
            name: _strict(each) if name in needed else _nullable(_strict(each))
            for name, each in schema["properties"].items()
        }
        kept |= {"properties": properties, "required": list(properties)}
    if "items" in schema:
        kept["items"] = _strict(schema["items"])
    if "anyOf" in schema:
        kept["anyOf"] = [_strict(each) for each in schema["anyOf"]]
    return kept


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    kinds = schema.get("type")
    if kinds is None:
        raise _FreeFormError
    listed = kinds if isinstance(kinds, list) else [kinds]
    values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | values | {"type": [*listed, "null"]}
