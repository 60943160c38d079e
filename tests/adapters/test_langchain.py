"""The adapter of LangChain: by the framework's own suites for tools, and with what goes wrong."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.app.fronts import LoopThread
from tests.adapters.conftest import PICTURE, World, on_another_loop

pytest.importorskip("langchain_core")

pytest.importorskip("langchain_tests")

from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from filetools.adapters.langchain import langchain_tools

EXAMPLES: dict[str, dict[str, Any]] = {
    "read_file": {"path": "notes.txt", "limit": 2},
    "write_file": {"path": "new.txt", "content": "new\n"},
    "edit_file": {"path": "notes.txt", "edits": [{"old_string": "one", "new_string": "ONE"}]},
    "list_files": {"path": "", "recursive": True},
    "grep_files": {"pattern": "one", "context": 1},
}


class OfTheSuite:
    """What the framework's suites ask for: a tool, and arguments that it takes.

    They have tests that wait, and a loop for each that awaits: the workspace has a loop of its own, and its tools are waited
    for.
    """

    name: str

    @pytest.fixture(params=EXAMPLES)
    def tool(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StructuredTool]:
        self.name = request.param
        (tmp_path / "notes.txt").write_text("one\ntwo\n")
        thread: Any = LoopThread()
        files = thread.enter(filetools.open(tmp_path))

        async def made() -> StructuredTool:
            [tool] = langchain_tools(files.for_actor(filetools.Actor(kind="agent", id="alice")), [self.name])
            return tool

        try:
            tool: StructuredTool = thread.call(made)
            yield tool.model_copy(update={"coroutine": None})
        finally:
            thread.leave()

    @property
    def tool_constructor(self) -> Any:
        return StructuredTool

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"name": "read_file", "args_schema": {"type": "object", "properties": {}}}

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return EXAMPLES[self.name]


class TestTheUnitSuiteOfTheFramework(OfTheSuite, ToolsUnitTests):
    pass


class TestTheIntegrationSuiteOfTheFramework(OfTheSuite, ToolsIntegrationTests):
    pass


@pytest.fixture
async def tools(world: World) -> dict[str, StructuredTool]:
    return {tool.name: tool for tool in langchain_tools(world.files)}


async def called(tools: dict[str, StructuredTool], name: str, **arguments: Any) -> ToolMessage:
    said = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
    assert isinstance(said, ToolMessage)
    return said


async def test_groups_and_names_are_chosen(world: World) -> None:
    names = [tool.name for tool in langchain_tools(world.files, ["read_file", "descriptors"])]
    assert {"read_file", "read_fd"} <= set(names)
    assert [tool.name for tool in langchain_tools(world.files, "read_file")] == ["read_file"]
    with pytest.raises(filetools.FileToolsError, match="There is no tool"):
        langchain_tools(world.files, ["nonsense"])


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_file", {"path": "../outside.txt"}, "PATH_TRAVERSAL"),
        ("read_file", {"path": "folder"}, "IS_A_DIRECTORY"),
        ("write_file", {"path": "picture.png", "content": "text"}, "VERSION_MISMATCH"),
    ],
)
async def test_a_call_that_fails_is_a_message_with_our_hint(
    tools: dict[str, StructuredTool], name: str, arguments: dict[str, Any], words: str
) -> None:
    said = await called(tools, name, **arguments)
    assert said.status == "error"
    assert str(said.content).startswith(words)
    assert "\nhint: " in str(said.content)
    assert "Traceback" not in str(said.content)


async def test_a_stale_write_and_a_binary_that_somebody_changed_are_refused(
    world: World, tools: dict[str, StructuredTool]
) -> None:
    for name, mine in (("notes.txt", "one\nalice\nthree\n"), ("picture.png", "text")):
        await called(tools, "read_file", path=name)
        version = (await world.files.file_info(name)).version
        theirs = b"one\nbob\nthree\n" if name == "notes.txt" else PICTURE + b"bob"
        await world.other.write_file(name, theirs)
        said = await called(tools, "write_file", path=name, content=mine, expected_version=version)
        assert said.status == "error"
        assert str(said.content).startswith("EDIT_CONFLICT")
        assert (world.root / name).read_bytes() == theirs


async def test_a_picture_is_a_block_of_its_own(tools: dict[str, StructuredTool]) -> None:
    said = await called(tools, "read_file", path="picture.png")
    blocks = [block for block in said.content_blocks if block["type"] == "image"]
    assert [base64.b64decode(block["base64"]) for block in blocks] == [PICTURE]


async def test_threads_wait_and_the_loop_itself_is_told_to_await(tools: dict[str, StructuredTool]) -> None:
    said = await asyncio.to_thread(tools["read_file"].invoke, {"path": "notes.txt"})
    assert said.startswith("one\ntwo\nthree\n")
    with pytest.raises(RuntimeError, match="await the async twin"):
        tools["read_file"].invoke({"path": "notes.txt"})


async def test_a_closed_workspace_is_told(world: World, tools: dict[str, StructuredTool]) -> None:
    await world.close()
    assert str((await called(tools, "read_file", path="notes.txt")).content).startswith("WORKSPACE_GONE")


async def test_a_call_on_another_loop_is_made_on_that_of_the_workspace(
    world: World, tools: dict[str, StructuredTool]
) -> None:
    edit = {"path": "notes.txt", "old_string": "two", "new_string": "TWO"}
    said = await on_another_loop(lambda: called(tools, "edit_file", **edit))
    assert said.status == "success"
    assert (world.root / "notes.txt").read_text() == "one\nTWO\nthree\n"
