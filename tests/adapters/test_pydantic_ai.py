"""The adapter of pydantic-ai: by the framework's own suite, over its own file tools, and with what goes wrong."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import (
    CallTimeoutError,
    DiskFullError,
    LockTimeoutError,
)
from tests.adapters.conftest import PICTURE, UNDECODABLE, World, on_another_loop

pytest.importorskip("pydantic_ai")

from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.workspaces import (
    WorkspaceError,
    WorkspaceRef,
    WorkspaceUnavailableError,
)
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from filetools.adapters.pydantic_ai import FileToolsWorkspace


class TestTheSuiteOfTheFramework(WorkspaceBackendSuite):
    """Rules about commands are skipped by the suite: this workspace runs none. Nor does it make or destroy its folder."""

    @pytest.fixture
    def can_detect_exit_with_inherited_output_pipes(self) -> bool:
        return False  # this rule would wait 30 s before it finds that there are no commands

    @pytest.fixture
    async def make(self, tmp_path: Path) -> AsyncIterator[Callable[[], FileToolsWorkspace]]:
        async with filetools.open(tmp_path) as files:
            yield lambda: FileToolsWorkspace(files.for_actor(filetools.Actor(kind="agent", id="alice")))

    @pytest.fixture
    def backend(self, make: Callable[[], FileToolsWorkspace]) -> FileToolsWorkspace:
        return make()

    @pytest.fixture
    def attach_backend(self, make: Callable[[], FileToolsWorkspace]) -> Callable[[WorkspaceRef], FileToolsWorkspace]:
        return lambda ref: make()


@pytest.fixture
def workspace(world: World) -> FileToolsWorkspace:
    return FileToolsWorkspace(world.files)


@pytest.fixture
def at(world: World) -> Callable[[str], str]:
    return lambda name: name if name.startswith("/") else f"{world.root}/{name}"


At = Callable[[str], str]


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("../outside.txt", ValueError, "PATH_TRAVERSAL"),
        ("/outside.txt", ValueError, "ABSOLUTE_PATH"),
        ("missing.txt", FileNotFoundError, "Check the path with list_directory or find_files."),
        ("folder", IsADirectoryError, "list_directory shows what is there"),
        ("notes.txt/below", NotADirectoryError, "NOT_A_DIRECTORY"),
        ("large.txt", ValueError, "FILE_TOO_LARGE"),
    ],
)
async def test_what_cannot_be_read_is_the_frameworks_own_error_with_our_hint(
    workspace: FileToolsWorkspace, at: At, name: str, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as caught:
        await workspace.read_bytes(at(name))
    assert not isinstance(caught.value, filetools.FileToolsError)
    assert words in str(caught.value)
    assert caught.value.__suppress_context__


async def test_a_write_is_based_on_what_its_own_task_has_read(
    world: World, workspace: FileToolsWorkspace, at: At
) -> None:
    """Another call of the same agent reads in between; that does not make its text known to this one."""
    text = await workspace.read_bytes(at("notes.txt"))
    await world.other.edit_file("notes.txt", old="three", new="THREE")
    await asyncio.create_task(workspace.read_bytes(at("notes.txt")))
    await workspace.write_bytes(at("notes.txt"), text.replace(b"one", b"ONE"))
    assert (world.root / "notes.txt").read_bytes() == b"ONE\ntwo\nTHREE\n"


async def test_what_another_task_has_read_is_the_base_where_this_one_has_read_nothing(
    world: World, workspace: FileToolsWorkspace, at: At
) -> None:
    text = await asyncio.create_task(workspace.read_bytes(at("notes.txt")))
    await world.other.edit_file("notes.txt", old="three", new="THREE")
    await workspace.write_bytes(at("notes.txt"), text.replace(b"one", b"ONE"))
    assert (world.root / "notes.txt").read_bytes() == b"ONE\ntwo\nTHREE\n"


async def test_a_stale_write_of_the_same_line_is_refused(world: World, workspace: FileToolsWorkspace, at: At) -> None:
    await workspace.read_bytes(at("notes.txt"))
    await world.other.edit_file("notes.txt", old="two", new="bob's")
    with pytest.raises(WorkspaceError, match="EDIT_CONFLICT") as caught:
        await workspace.write_bytes(at("notes.txt"), b"one\nalice's\nthree\n")
    assert "hint: " in str(caught.value)
    assert "bob's" in str(caught.value)
    assert (world.root / "notes.txt").read_bytes() == b"one\nbob's\nthree\n"


async def test_a_file_that_was_never_read_is_not_replaced(world: World, workspace: FileToolsWorkspace, at: At) -> None:
    with pytest.raises(WorkspaceError, match="VERSION_MISMATCH"):
        await workspace.write_bytes(at("notes.txt"), b"mine\n")
    assert (world.root / "notes.txt").read_bytes() == b"one\ntwo\nthree\n"


@pytest.mark.parametrize("name", ["picture.png", "undecodable.bin"])
@pytest.mark.parametrize("is_read_in_the_same_task", [True, False])
async def test_bytes_that_are_no_text_are_not_written_over_somebody_elses_change(
    world: World, workspace: FileToolsWorkspace, at: At, name: str, is_read_in_the_same_task: bool
) -> None:
    read = workspace.read_bytes(at(name))
    before = await read if is_read_in_the_same_task else await asyncio.create_task(read)
    assert before == {"picture.png": PICTURE, "undecodable.bin": UNDECODABLE}[name]
    await world.other.write_file(name, before + b"bob\0")
    with pytest.raises(WorkspaceError):
        await workspace.write_bytes(at(name), before + b"alice\0")
    assert (world.root / name).read_bytes() == before + b"bob\0"


@pytest.mark.parametrize("name", ["crlf.txt", "latin.txt", "wide.txt"])
async def test_line_ends_marks_and_encodings_survive(
    world: World, workspace: FileToolsWorkspace, at: At, name: str
) -> None:
    (world.root / "wide.txt").write_bytes(codecs.BOM_UTF16_BE + "one\r\nthé\n".encode("utf-16-be"))
    before = (world.root / name).read_bytes()
    assert await workspace.read_bytes(at(name)) == before
    text = "th".encode("utf-16-be") if name == "wide.txt" else b"th"
    await workspace.write_bytes(at(name), before.replace(text, text + text))
    assert (world.root / name).read_bytes() == before.replace(text, text + text)


async def test_unsaved_text_is_read_and_merged_with(world: World, workspace: FileToolsWorkspace, at: At) -> None:
    editor = world.files.for_actor(filetools.Actor(kind="editor", id="eve"))
    opened = await editor.buffers.open("notes.txt")
    await editor.buffers.change(opened.handle, buffer_version=opened.buffer_version, text="one\ntwo\nunsaved\n")
    text = await workspace.read_bytes(at("notes.txt"))
    assert text == b"one\ntwo\nunsaved\n"
    await workspace.write_bytes(at("notes.txt"), text.replace(b"one", b"ONE"))
    assert (await editor.buffers.read(opened.handle)).text == "ONE\ntwo\nunsaved\n"


async def test_a_closed_workspace_is_unavailable(world: World, workspace: FileToolsWorkspace, at: At) -> None:
    await world.close()
    for call in (workspace.read_bytes(at("notes.txt")), workspace.write_bytes(at("new.txt"), b"x")):
        with pytest.raises(WorkspaceUnavailableError, match="Open the workspace again"):
            await call


async def test_what_lies_outside_is_not_there_and_nothing_is_removed(
    world: World, workspace: FileToolsWorkspace
) -> None:
    outside = str(world.root.parent)
    assert not await workspace.exists(outside)
    assert await workspace.realpath(f"{outside}/x/../y") == f"{outside}/y"
    with pytest.raises(ValueError, match="ABSOLUTE_PATH"):
        await workspace.remove(outside)
    assert world.root.is_dir()


async def test_links_are_listed_as_what_they_lead_to_where_they_are_followed(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "file.txt").write_text("f\n")
    for name, target in (("link", "target"), ("flink", "file.txt"), ("broken", "nothing"), ("out", "/etc")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to("../target")
    for follows, is_dir, size in ((True, True, 2), (False, False, None)):
        async with filetools.open(tmp_path, settings={"follow_symlinks": follows}) as files:
            workspace = FileToolsWorkspace(files)
            found = {each.name: (each.is_dir, each.size) for each in await workspace.list_dir(str(tmp_path))}
            assert (found["link"][0], found["flink"], found["broken"]) == (is_dir, (False, size), (False, None))
            assert not found["out"][0]
            # What follows a link goes on from its target.
            assert await workspace.realpath(f"{tmp_path}/a/up/..") == str(tmp_path if follows else tmp_path / "a")
            assert await workspace.realpath(f"{tmp_path}/a/../../x") == str(tmp_path.parent / "x")


@pytest.mark.parametrize("name", ["wide.txt", "crlf.txt"])
@pytest.mark.parametrize("sent", [b"ascii\n", b"odd number\n", "th\u00e9\n".encode()])
async def test_bytes_without_the_mark_of_the_file_are_stored_as_they_are(
    world: World, workspace: FileToolsWorkspace, at: At, name: str, sent: bytes
) -> None:
    (world.root / "wide.txt").write_bytes("one\n".encode("utf-16"))
    await workspace.read_bytes(at(name))
    await workspace.write_bytes(at(name), sent)
    assert await workspace.read_bytes(at(name)) == (world.root / name).read_bytes() == sent


async def test_bytes_without_the_mark_of_the_file_are_not_written_over_somebody_elses_change(
    world: World, workspace: FileToolsWorkspace, at: At
) -> None:
    await workspace.read_bytes(at("crlf.txt"))
    await world.other.edit_file("crlf.txt", old="two", new="bob's")
    with pytest.raises(WorkspaceError, match="VERSION_MISMATCH"):
        await workspace.write_bytes(at("crlf.txt"), b"mine\n")
    assert (world.root / "crlf.txt").read_bytes() == b"\xef\xbb\xbfone\r\nbob's\r\nthree"


async def test_a_call_on_another_loop_is_made_on_that_of_the_workspace(
    world: World, workspace: FileToolsWorkspace, at: At
) -> None:
    async def edit() -> None:
        text = await workspace.read_bytes(at("notes.txt"))
        done = asyncio.create_task(workspace.read_bytes(at("notes.txt")))
        await workspace.write_bytes(at("notes.txt"), text.replace(b"two", b"TWO"))
        await done

    await on_another_loop(edit)
    assert (world.root / "notes.txt").read_text() == "one\nTWO\nthree\n"


class TestTheFileToolsOfTheHarness:
    @pytest.fixture
    def tools(self) -> Any:
        pytest.importorskip("pydantic_ai_harness")
        from pydantic_ai_harness.filesystem import FileSystem

        return FileSystem().get_toolset()

    async def test_an_ambiguous_edit_is_refused(self, tools: Any, workspace: FileToolsWorkspace) -> None:
        with pytest.raises(ModelRetry):
            await tools.edit_file("twice.txt", "same", "other", workspace=workspace)

    @pytest.mark.parametrize(
        ("error", "words"),
        [
            (LockTimeoutError("notes.txt", 1.0, "bob"), "LOCK_TIMEOUT"),
            (DiskFullError("notes.txt"), "DISK_FULL"),
            (CallTimeoutError("edit_file", 1.0), "TIMEOUT"),
        ],
    )
    async def test_what_cannot_be_done_now_is_a_failed_call_and_no_end_of_the_run(
        self, world: World, workspace: FileToolsWorkspace, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
    ) -> None:
        async def failing(*arguments: Any, **options: Any) -> Any:
            raise error

        monkeypatch.setattr(world.files, "write_file", failing)
        result = await self.run(workspace)
        [returned] = [
            part for message in result.all_messages() for part in message.parts if part.part_kind == "tool-return"
        ]
        assert (returned.outcome, returned.content.partition(":")[0]) == ("failed", words)

    async def test_an_agent_runs_in_another_thread(self, world: World, workspace: FileToolsWorkspace) -> None:
        await on_another_loop(lambda: self.run(workspace))
        assert (world.root / "notes.txt").read_text() == "one\nTWO\nthree\n"

    async def test_an_agent_edits_a_file_in_a_run(self, world: World, workspace: FileToolsWorkspace) -> None:
        await self.run(workspace)
        assert (world.root / "notes.txt").read_text() == "one\nTWO\nthree\n"
        newest = (await world.files.latest_changes(1, path="notes.txt"))[0]
        assert (newest.operation, newest.actor.id) == ("modify", "alice")

    async def run(self, workspace: FileToolsWorkspace) -> Any:
        """Have an agent edit a file."""
        pytest.importorskip("pydantic_ai_harness")
        from pydantic_ai import Agent
        from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import AgentInfo, FunctionModel
        from pydantic_ai_harness import FileSystem

        def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            call = ToolCallPart("edit_file", {"path": "notes.txt", "old_text": "two", "new_text": "TWO"})
            return ModelResponse(parts=[call if len(messages) == 1 else TextPart("done")])

        return await Agent(FunctionModel(model), capabilities=[FileSystem()]).run("Go.", workspace=workspace)
