from __future__ import annotations

import json
from typing import Any

import pytest

from filetools.tools.envelope import input_schema
from filetools.tools.handlers.reading import ListFiles
from filetools.tools.registry import FILE_TOOLS
from filetools.tools.tool import AnyTool

CORE_BYTES = 5_000
"""What names, descriptions and schemas of the default set may take together: every model reads all of them."""


def objects(schema: Any) -> list[dict[str, Any]]:
    """Return every JSON object of a schema, at any depth."""
    if isinstance(schema, list):
        return [each for item in schema for each in objects(item)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(each for value in schema.values() for each in objects(value))]


@pytest.mark.parametrize("tool", FILE_TOOLS, ids=lambda tool: tool.name)
def test_a_schema_is_closed_and_holds_nothing_superfluous(tool: AnyTool) -> None:
    schema = input_schema(tool.parameters)
    found = objects(schema)
    assert all(each["additionalProperties"] is False for each in found if each.get("type") == "object")
    assert not any({"title", "$ref", "$defs", "anyOf"} & set(each) for each in found)
    assert set(schema["properties"]) == set(tool.parameters.model_fields)


def test_optional_parameters_are_those_not_required() -> None:
    assert input_schema(ListFiles) == {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "recursive": {"type": "boolean"},
            "max_depth": {"type": "integer"},
            "limit": {"type": "integer"},
            "cursor": {"type": "string"},
        },
        "additionalProperties": False,
    }


def test_the_default_set_is_short() -> None:
    core = [tool.definition() for tool in FILE_TOOLS if tool.group == "core"]
    assert len(json.dumps(core, separators=(",", ":"), ensure_ascii=False).encode()) <= CORE_BYTES
