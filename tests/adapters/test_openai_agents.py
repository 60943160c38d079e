"""The adapter of OpenAI Agents: runs with a scripted model, the SDK's own `apply_diff` as oracle, and what goes wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.adapters.conftest import PICTURE, World, on_another_loop

pytest.importorskip("agents")

from agents import (
    Agent,
    ApplyPatchOperation,
    ApplyPatchTool,
    Runner,
    apply_diff,
    set_tracing_disabled,
)
from agents.items import ToolCallOutputItem
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseApplyPatchToolCall

from filetools.adapters.openai_agents import FileToolsEditor, function_tools

set_tracing_disabled(True)


@pytest.fixture
def editor(world: World) -> FileToolsEditor:
    return FileToolsEditor(world.files)


def update(path: str, diff: str, *, move_to: str | None = None) -> ApplyPatchOperation:
    return ApplyPatchOperation(type="update_file", path=path, diff=diff, move_to=move_to)


async def run(tools: list[Any], *calls: Any) -> list[dict[str, Any]]:
    """Return the outputs of the tools that a scripted model calls, one after the other."""
    model = ScriptedModel([*([call] for call in calls), [assistant_message("done")]])
    result = await Runner.run(Agent(name="agent", model=model, tools=tools), "Go.")
    model.assert_complete()
    return [dict(item.raw_item) for item in result.new_items if isinstance(item, ToolCallOutputItem)]


def patch(number: int, **operation: Any) -> Any:
    call = {
        "type": "apply_patch_call",
        "id": str(number),
        "call_id": f"call-{number}",
        "status": "completed",
        "operation": operation,
    }
    return ResponseApplyPatchToolCall.model_validate(call)


async def test_an_agent_creates_changes_and_deletes_files_in_a_run(world: World, editor: FileToolsEditor) -> None:
    said = await run(
        [ApplyPatchTool(editor=editor)],
        patch(1, type="create_file", path="new.txt", diff="+one\n+two\n"),
        patch(2, type="update_file", path="new.txt", diff="@@\n one\n-two\n+TWO\n"),
        patch(3, type="update_file", path="notes.txt", diff="@@\n-nonsense\n+x\n"),
        patch(4, type="delete_file", path="twice.txt"),
    )
    assert [each["status"] for each in said] == ["completed", "completed", "failed", "completed"]
    assert "hint: " in said[2]["output"]
    assert (world.root / "new.txt").read_text() == "one\nTWO\n"
    assert not (world.root / "twice.txt").exists()


BEFORE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n"
DIFFS = {
    "one line": "@@\n def two():\n-    return 2\n+    return 22\n",
    "an anchor": "@@ def three():\n-    return 3\n+    return 33\n",
    "two hunks": "@@ def one():\n-    return 1\n+    return 11\n@@ def three():\n-    return 3\n+    return 33\n",
    "stacked anchors": "@@ def two():\n@@     return 2\n \n \n-def three():\n+def four():\n",
    "an addition": "@@\n def two():\n     return 2\n+    # added\n",
    "at the end": "@@\n-    return 3\n+    return 4\n*** End of File\n",
    "a deletion": "@@\n-def two():\n-    return 2\n-\n-\n def three():\n",
    "trailing blanks in the context": "@@\n def two():  \n-    return 2\n+    return 22\n",
    "no final line end": "@@\n def two():\n-    return 2\n+    return 22",
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", DIFFS)
async def test_a_diff_gives_what_the_official_one_does(
    world: World, editor: FileToolsEditor, name: str, line_end: str
) -> None:
    before = BEFORE.replace("\n", line_end)
    (world.root / "code.py").write_bytes(before.encode())
    result = await editor.update_file(update("code.py", DIFFS[name]))
    assert result.status == "completed", result.output
    assert (world.root / "code.py").read_bytes().decode() == apply_diff(before, DIFFS[name])


@pytest.mark.parametrize("diff", ["+one\n+two\n", "+one", "+\n+\n", "+ indented\n++plus\n"])
async def test_a_new_file_has_the_official_lines_and_ends_in_a_line_end(
    world: World, editor: FileToolsEditor, diff: str
) -> None:
    result = await editor.create_file(ApplyPatchOperation(type="create_file", path="made/new.txt", diff=diff))
    assert result.status == "completed", result.output
    assert (world.root / "made" / "new.txt").read_text() == apply_diff("", diff, mode="create") + "\n"


async def test_a_patch_changes_what_stands_there_now(world: World, editor: FileToolsEditor) -> None:
    await world.files.read_file("notes.txt")
    await world.other.edit_file("notes.txt", old="three", new="THREE")
    assert (await editor.update_file(update("notes.txt", "@@\n-one\n+ONE\n"))).status == "completed"
    assert (world.root / "notes.txt").read_text() == "ONE\ntwo\nTHREE\n"


@pytest.mark.parametrize("diff", ["@@\n one\n-two\n+TWO\n", "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"])
async def test_a_file_is_changed_and_moved_at_once(world: World, editor: FileToolsEditor, diff: str) -> None:
    result = await editor.update_file(update("notes.txt", diff, move_to="moved/notes.txt"))
    assert result.status == "completed", result.output
    assert not (world.root / "notes.txt").exists()
    assert (world.root / "moved" / "notes.txt").read_text() == "one\nTWO\nthree\n"


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (update("C:/outside.txt", "@@\n-a\n+b\n"), "ABSOLUTE_PATH"),
        (update("missing.txt", "@@\n-a\n+b\n"), "FILE_NOT_FOUND"),
        (update("notes.txt", "@@\n-stale\n+b\n"), "EDIT_NOT_FOUND"),
        (update("picture.png", "@@\n-a\n+b\n"), "binary"),
        (ApplyPatchOperation(type="create_file", path="notes.txt", diff="+new\n"), "FILE_EXISTS"),
    ],
)
async def test_what_cannot_be_done_is_a_failed_result_with_our_hint(
    editor: FileToolsEditor, operation: ApplyPatchOperation, words: str
) -> None:
    method = getattr(editor, operation.type)
    result = await method(operation)
    assert result.status == "failed"
    assert words in str(result.output)
    assert "hint: " in str(result.output)
    assert "Traceback" not in str(result.output)


async def test_a_picture_that_somebody_changed_is_not_deleted(world: World, editor: FileToolsEditor) -> None:
    await world.files.read_file("picture.png")
    await world.other.write_file("picture.png", PICTURE + b"bob")
    result = await editor.delete_file(ApplyPatchOperation(type="delete_file", path="picture.png"))
    assert result.status == "failed"
    assert (world.root / "picture.png").read_bytes() == PICTURE + b"bob"


async def test_a_closed_workspace_is_told(world: World, editor: FileToolsEditor) -> None:
    await world.close()
    result = await editor.update_file(update("notes.txt", "@@\n-two\n+TWO\n"))
    assert result.status == "failed"
    assert "Open the workspace again" in str(result.output)


class TestFunctionTools:
    async def test_an_agent_calls_them_in_a_run(self, world: World) -> None:
        said = await run(
            list(function_tools(world.files)),
            function_call("read_file", {"path": "notes.txt"}, call_id="call-1"),
            function_call(
                "edit_file", {"path": "notes.txt", "old_string": "two", "new_string": "TWO"}, call_id="call-2"
            ),
            function_call(
                "edit_file", {"path": "twice.txt", "old_string": "same", "new_string": "x"}, call_id="call-3"
            ),
            function_call("read_file", {"path": "missing.txt"}, call_id="call-4"),
            function_call("read_file", {"path": "large.txt"}, call_id="call-5"),
        )
        assert said[0]["output"].startswith("one\ntwo\nthree\n")
        assert said[2]["output"].startswith("EDIT_AMBIGUOUS")
        assert said[3]["output"].startswith("FILE_NOT_FOUND")
        assert said[4]["output"].startswith("FILE_TOO_LARGE")
        assert (world.root / "notes.txt").read_text() == "one\nTWO\nthree\n"

    async def test_a_picture_is_a_picture_for_the_model(self, world: World) -> None:
        [said] = await run(
            list(function_tools(world.files, ["read_file"])),
            function_call("read_file", {"path": "picture.png"}, call_id="call-1"),
        )
        assert [block["type"] for block in said["output"]][-1] == "input_image"

    async def test_arguments_that_are_no_json_are_refused(self, world: World) -> None:
        [said] = await run(
            list(function_tools(world.files, ["read_file"])), function_call("read_file", "{nonsense", call_id="call-1")
        )
        assert said["output"].startswith("INVALID_ARGUMENT")


async def test_calls_on_another_loop_are_made_on_that_of_the_workspace(world: World, editor: FileToolsEditor) -> None:
    made = await on_another_loop(lambda: editor.update_file(update("notes.txt", "@@\n-two\n+TWO\n")))
    arguments = json.dumps({"path": "notes.txt", "old_string": "one", "new_string": "ONE"})
    tools = function_tools(world.files)
    await on_another_loop(lambda: run(tools, function_call("edit_file", arguments, call_id="1")))
    assert made.status == "completed"
    assert (world.root / "notes.txt").read_text() == "ONE\nTWO\nthree\n"


@pytest.mark.parametrize("diff", ["@@\r\n-two\r\n+TWO\r\n", "@@\n-two\n+TWO\n*** End Patch\n"])
async def test_a_diff_with_crlf_or_an_end_is_taken_as_the_official_one_takes_it(
    world: World, editor: FileToolsEditor, diff: str
) -> None:
    before = (world.root / "notes.txt").read_text()
    assert (await editor.update_file(update("notes.txt", diff))).status == "completed"
    assert (world.root / "notes.txt").read_text() == apply_diff(before, diff)


async def test_a_file_is_moved_by_an_empty_diff(world: World, editor: FileToolsEditor) -> None:
    result = await editor.update_file(update("notes.txt", "", move_to="moved.txt"))
    assert result.status == "completed", result.output
    assert not (world.root / "notes.txt").exists()
    assert (world.root / "moved.txt").read_text() == "one\ntwo\nthree\n"
