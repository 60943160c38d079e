"""OpenAI's apply_patch: operations of the hosted tool and the text form; the SDK's own types make and judge the items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import (
    ApplyPatchToolParam,
    ResponseApplyPatchToolCall,
    ResponseApplyPatchToolCallOutput,
    ResponseCustomToolCall,
    ResponseCustomToolCallOutput,
)
from pydantic import TypeAdapter

from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import APPLY_PATCH
from filetools.tools.exports import answer
from tests.support.dialects import Session

DIALECT = APPLY_PATCH
OLD = "def f():\n    return 1\n\n\ndef g():\n    return 1\n"
BEFORE = {"app.py": OLD.encode()}


async def hosted(session: Session, **operation: Any) -> tuple[str, str]:
    """Answer a call of the hosted tool; return status and output."""
    call = ResponseApplyPatchToolCall.model_validate(
        {"id": "apc_1", "call_id": "call_1", "type": "apply_patch_call", "status": "completed", "operation": operation}
    )
    item = await answer(session.tools, call)
    taken = ResponseApplyPatchToolCallOutput.model_validate({"id": "apco_1", **item})
    assert taken.call_id == "call_1"
    return taken.status, taken.output or ""


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"type": "create_file", "path": "app.py", "diff": "+x\n"}, "FILE_EXISTS"),
    ({"type": "create_file", "path": "../new.py", "diff": "+x\n"}, "PATH_TRAVERSAL"),
    ({"type": "create_file", "path": "a\n*** Delete File: app.py", "diff": "+x\n"}, "control characters"),
    ({"type": "create_file", "path": "new.py", "diff": "+x\n*** Delete File: app.py\n"}, "no '*** …' lines"),
    (
        {"type": "update_file", "path": "app.py", "diff": "*** Begin Patch\n*** Delete File: app.py\n*** End Patch\n"},
        "no '*** …' lines",
    ),
    ({"type": "delete_file", "path": "app.py", "move_to": "b.py"}, "Only update_file takes move_to"),
    ({"type": "update_file", "path": "app.py", "diff": "@@\n-def f():\n+def h():\n", "move_to": "../b.py"}, "PATH_TRAVERSAL"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "said"), REFUSED, ids=lambda value: str(value)[:70])
async def test_an_operation_that_does_not_fit_fails_and_changes_nothing(
    session: Session, tmp_path: Path, operation: dict[str, Any], said: str
) -> None:
    status, output = await hosted(session, **operation)
    assert status == "failed"
    assert said in output
    assert {path.name for path in tmp_path.iterdir()} == {"app.py", ".filetools"}
    assert (tmp_path / "app.py").read_text() == OLD


async def test_neither_or_both_forms_are_refused(session: Session) -> None:
    operation = {"type": "delete_file", "path": "app.py"}
    assert "either patch or operation" in await session.refuses("INVALID_ARGUMENT", "apply_patch")
    await session.refuses("INVALID_ARGUMENT", "apply_patch", patch="x", operation=operation)
    assert "'operation.type'" in await session.refuses("INVALID_ARGUMENT", "apply_patch", operation={"path": "a"})
    said = await session.refuses("INVALID_ARGUMENT", "apply_patch", operation=operation | {"dif": "x"})
    assert "did you mean 'diff'" in said
    assert "needs a diff" in await session.refuses(
        "INVALID_ARGUMENT", "apply_patch", operation={"type": "update_file", "path": "app.py"}
    )


MOVED = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"


@pytest.mark.parametrize(
    "diff",
    [
        "@@ def g():\n-    return 1\n+    return 2\n",
        "@@\n def g():\n-    return 1\n+    return 2",
        "--- a/app.py\n+++ b/app.py\n@@ -5,2 +5,2 @@ def f():\n def g():\n-    return 1\n+    return 2\n",
        "@@ -1,99 +1,2 @@\n def g():\n-    return 1\n+    return 2\n",
        "*** Begin Patch\n*** Update File: app.py\n@@\n def g():\n-    return 1\n+    return 2\n*** End Patch\n",
    ],
)
async def test_an_update_is_understood_in_every_form_that_models_write(
    session: Session, tmp_path: Path, diff: str
) -> None:
    status, said = await hosted(session, type="update_file", path="app.py", diff=diff)
    done, *warnings = said.split("\nwarning: ")
    assert (status, done) == ("completed", "Success. Updated the following files:\nM app.py")
    told = ["REPAIRED: A hunk, line 3, does not have the number of lines that it states"]
    assert warnings == (told if "99" in diff else [])
    assert (tmp_path / "app.py").read_text() == MOVED


@pytest.mark.parametrize(
    ("diff", "content"),
    [
        ("+one\n+two\n", "one\ntwo\n"), ("+one", "one\n"), ("", ""), ("+\n++x\n", "\n+x\n"),
        ("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,1 @@\n+one\n", "one\n"),
    ],
)  # fmt: skip
async def test_files_are_created_with_their_folders_and_deleted(
    session: Session, tmp_path: Path, diff: str, content: str
) -> None:
    assert (await hosted(session, type="create_file", path="lib/new.py", diff=diff))[0] == "completed"
    assert (tmp_path / "lib" / "new.py").read_text() == content
    assert (await hosted(session, type="delete_file", path="lib/new.py"))[1].endswith("D lib/new.py")
    assert not (tmp_path / "lib" / "new.py").exists()


PATCH = """\
*** Begin Patch
*** Update File: app.py
*** Move to: lib.py
@@ def g():
-    return 1
+    return 2
*** End Patch
"""


@pytest.mark.parametrize("name", ["patch", "patchText", "patch_text", "input"])
async def test_the_text_form_is_one_string_under_every_name(session: Session, tmp_path: Path, name: str) -> None:
    assert "M app.py -> lib.py" in (await session.says("apply_patch", **{name: PATCH})).splitlines()
    assert (tmp_path / "lib.py").read_text() == MOVED


async def test_a_custom_tool_takes_the_text_as_it_is(session: Session, tmp_path: Path) -> None:
    call = ResponseCustomToolCall(type="custom_tool_call", call_id="call_1", name="apply_patch", input=PATCH)
    item = await answer(session.tools, call)
    assert ResponseCustomToolCallOutput.model_validate(item).call_id == "call_1"
    assert (tmp_path / "lib.py").read_text() == MOVED


async def test_patches_of_two_sessions_are_both_there_and_a_stale_one_fails(
    files: FileToolsFacade, session: Session, tmp_path: Path
) -> None:
    other = Session(files, APPLY_PATCH, "s2")
    diff = "@@ def f():\n-    return 1\n+    return 7\n"
    assert (await hosted(other, type="update_file", path="app.py", diff=diff))[0] == "completed"
    diff = "@@ def g():\n-    return 1\n+    return 8\n"
    assert (await hosted(session, type="update_file", path="app.py", diff=diff))[0] == "completed"
    assert (tmp_path / "app.py").read_text() == OLD.replace("1", "7", 1).replace("1", "8")
    status, output = await hosted(session, type="update_file", path="app.py", diff=diff)
    assert (status, "EDIT_NOT_FOUND" in output) == ("failed", True)


def test_the_definition_is_what_the_sdk_sends() -> None:
    assert TypeAdapter(ApplyPatchToolParam).validate_python(APPLY_PATCH.hosted, strict=True) == APPLY_PATCH.hosted


@pytest.mark.parametrize("head", ["@@", "@@ -1,2 +1,2 @@"])
async def test_an_operation_changes_and_moves_a_file_at_once(session: Session, tmp_path: Path, head: str) -> None:
    operation = {"type": "update_file", "path": "app.py", "diff": f"{head}\n-def f():\n+def h():\n     return 1\n"}
    envelope = await session.tools.call("apply_patch", {"operation": operation | {"move_to": "lib/app.py"}})
    assert envelope["success"], envelope
    assert not (tmp_path / "app.py").exists()
    assert (tmp_path / "lib" / "app.py").read_text() == OLD.replace("def f", "def h")
