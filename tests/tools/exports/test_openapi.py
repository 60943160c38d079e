from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from filetools.tools.exports import openapi_document
from filetools.tools.registry import FILE_TOOLS, ToolRegistry

DOCUMENT = openapi_document(FILE_TOOLS)


def test_every_tool_is_an_operation() -> None:
    assert [path.removeprefix("/v1/tools/") for path in DOCUMENT["paths"]] == [tool.name for tool in FILE_TOOLS]
    assert all(set(each) == {"post"} for each in DOCUMENT["paths"].values())


def test_the_document_is_openapi() -> None:
    models = pytest.importorskip("fastapi.openapi.models")
    taken = models.OpenAPI.model_validate(DOCUMENT)
    assert taken.openapi == "3.1.0"
    assert list(taken.paths) == list(DOCUMENT["paths"])


def judge_of(name: str, part: str) -> Draft202012Validator:
    operation = DOCUMENT["paths"][f"/v1/tools/{name}"]["post"]
    body = operation["requestBody"] if part == "request" else operation["responses"][part]
    schema = body["content"]["application/json"]["schema"] | {"components": DOCUMENT["components"]}
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize(
    ("name", "arguments", "is_good"),
    [
        ("read_file", {"path": "a.txt"}, True),
        ("read_file", {"path": "none.txt"}, True),
        ("read_file", {"path": 1}, False),
        ("write_file", {"path": "new/b.txt", "content": "b"}, True),
        ("edit_file", {"path": "a.txt", "old_string": "two", "new_string": "2"}, True),
        ("list_files", {}, True),
        ("search_files", {"pattern": "a"}, True),
        ("grep_files", {"pattern": "one"}, True),
        ("file_info", {"path": "a.txt"}, True),
        ("watch_changes", {}, True),
        ("move_file", {"source": "a.txt", "destination": "c.txt"}, True),
        ("delete_file", {"path": "a.txt"}, True),
        ("read_multiple", {"paths": ["a.txt", "none.txt"]}, True),
        ("delete_file", {}, False),
    ],
)
async def test_calls_and_envelopes_are_as_the_document_says(
    tools: ToolRegistry, name: str, arguments: dict[str, Any], is_good: bool
) -> None:
    assert judge_of(name, "request").is_valid(arguments) is is_good
    envelope = await tools.call(name, arguments)
    judge_of(name, "200").validate(envelope)
    if not is_good:
        judge_of(name, "422").validate(envelope)


def test_a_success_without_its_data_is_not_what_the_document_says(tmp_path: Path) -> None:
    assert not judge_of("read_file", "200").is_valid({"success": True})
    assert not judge_of("read_file", "200").is_valid({"success": True, "data": {"path": 1}})
