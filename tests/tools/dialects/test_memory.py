"""The memory of Anthropic's models: nothing outside of /memories, the documented sentences, the SDK's own tool beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import BetaAsyncAbstractMemoryTool, ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaAsyncLocalFilesystemMemoryTool
from anthropic.types.beta import BetaMemoryTool20250818Command, BetaMemoryTool20250818Param
from pydantic import TypeAdapter

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import MEMORY
from tests.support.crashing import QUIET
from tests.support.dialects import Session

DIALECT = MEMORY
NOTES = "tea\ncoffee\ntea\n"


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    root = tmp_path / "root"
    (root / "memories").mkdir(parents=True)
    (root / "memories" / "notes.md").write_text(NOTES)
    (root / "secret.txt").write_text("secret")
    async with filetools.open(root, settings=QUIET) as opened:
        yield opened


OUTSIDE = [
    ("", "INVALID_PATH"), ("secret.txt", "INVALID_PATH"), ("/secret.txt", "INVALID_PATH"),
    ("memories/notes.md", "INVALID_PATH"),
    ("/memories2/a", "INVALID_PATH"), ("/memoriesx", "INVALID_PATH"), ("/Memories/a", "INVALID_PATH"),
    ("/memories/../secret.txt", "PATH_TRAVERSAL"), ("/memories/a/../../secret.txt", "PATH_TRAVERSAL"),
    ("/memories/%2e%2e/secret.txt", "PATH_TRAVERSAL"), ("/memories/..%2fsecret.txt", "PATH_TRAVERSAL"),
    ("/memories/..\\secret.txt", "PATH_TRAVERSAL"), ("\\memories\\notes.md", "INVALID_PATH"),
    ("//etc/passwd", "INVALID_PATH"), ("/memories/a\0b", "INVALID_PATH"), ("/memories/link/x", "SYMLINK_NOT_ALLOWED"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "code"), OUTSIDE, ids=[repr(path) for path, _ in OUTSIDE])
async def test_no_path_leads_out(session: Session, files: FileToolsFacade, path: str, code: str) -> None:
    root = Path(files.root_paths[0])
    (root / "memories" / "link").symlink_to(root)
    await session.refuses(code, "memory", command="view", path=path)
    await session.refuses(code, "memory", command="create", path=path, file_text="x")
    if code != "SYMLINK_NOT_ALLOWED":
        await session.refuses(code, "memory", command="rename", old_path="/memories/notes.md", new_path=path)
        await session.refuses(code, "memory", command="delete", path=path)
    assert (root / "secret.txt").read_text() == "secret"
    assert (root / "memories" / "notes.md").read_text() == NOTES


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"command": "create", "path": "/memories/notes.md", "file_text": ""}, "FILE_EXISTS", "already exists"),
    ({"command": "str_replace", "path": "/memories/notes.md", "old_str": "milk"}, "EDIT_NOT_FOUND", "`milk` did not appear"),
    ({"command": "insert", "path": "/memories/notes.md", "insert_line": 4, "insert_text": "x"}, "INVALID_ARGUMENT", "[0, 3]"),
    ({"command": "delete", "path": "/memories"}, "INVALID_ARGUMENT", "Cannot delete the /memories directory itself"),
    ({"command": "rename", "old_path": "/memories", "new_path": "/memories/a"}, "INVALID_ARGUMENT", "Cannot rename"),
    ({"command": "rename", "path": "/memories/notes.md", "new_path": "/memories/a"}, "INVALID_ARGUMENT", "`old_path` is"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "said"), REFUSED, ids=lambda value: str(value)[:60])
async def test_a_mistake_is_refused_in_the_documented_words(
    session: Session, arguments: dict[str, Any], code: str, said: str
) -> None:
    assert said in await session.refuses(code, "memory", **arguments)


async def test_a_file_that_another_session_changed_is_not_deleted(files: FileToolsFacade, session: Session) -> None:
    await session.says("memory", command="view", path="/memories/notes.md")
    other = Session(files, MEMORY, "s2")
    await other.says("memory", command="insert", path="/memories/notes.md", insert_line=3, insert_text="milk")
    await session.refuses("VERSION_MISMATCH", "memory", command="delete", path="/memories/notes.md")
    await session.says("memory", command="view", path="/memories/notes.md")
    assert (
        await session.says("memory", command="delete", path="/memories/notes.md")
        == "Successfully deleted /memories/notes.md"
    )


async def test_an_empty_memory_can_be_looked_at(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        said = await Session(files, MEMORY).says("memory", command="view", path="/memories")
    assert said.splitlines()[1:] == ["0B\t/memories"]
    assert not (tmp_path / "memories").exists()


async def test_a_folder_shows_sizes_and_two_levels(session: Session) -> None:
    await session.says("memory", command="create", path="/memories/people/ann/tea.md", file_text="x" * 1536)
    await session.says("memory", command="create", path="/memories/100%.md", file_text="")
    said = await session.says("memory", command="view", path="/memories")
    assert said.splitlines()[1:] == [
        "15B\t/memories", "0B\t/memories/people/", "0B\t/memories/people/ann/", "0B\t/memories/100%.md",
        "15B\t/memories/notes.md",
    ]  # fmt: skip
    assert "1.5K\t/memories/people/ann/tea.md" in await session.says("memory", command="view", path="/memories/people")


class OnFiletools(BetaAsyncAbstractMemoryTool):
    """The SDK's own frame around our tool: it hands on what the model asked for."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    async def _run(self, command: Any) -> str:
        arguments = command.to_dict()
        envelope = await self._session.envelope("memory", arguments)
        if not envelope["success"]:
            raise ToolError(envelope["error"])
        return await self._again(envelope)

    async def _again(self, envelope: dict[str, Any]) -> str:
        return self._session.tools.show("memory", envelope).text

    view = create = str_replace = insert = delete = rename = _run


CONVERSATION: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories/notes.md", "view_range": [1, 2]},
    {"command": "create", "path": "/memories/notes.md", "file_text": "x"},
    {"command": "create", "path": "/memories/ann/plan.md", "file_text": "one\ntwo\nthree"},
    {"command": "view", "path": "/memories/ann/plan.md"},
    {"command": "str_replace", "path": "/memories/ann/plan.md", "old_str": "two", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/ann/plan.md", "old_str": "nothing", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "tea", "new_str": "2"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 0, "insert_text": "milk\n"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 99, "insert_text": "milk\n"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/ann/notes.md"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/other.md"},
    {"command": "rename", "old_path": "/memories/ann/plan.md", "new_path": "/memories/ann/notes.md"},
    {"command": "delete", "path": "/memories/ann"},
    {"command": "delete", "path": "/memories/ann"},
    {"command": "delete", "path": "/memories"},
    {"command": "view", "path": "/memories/gone.md"},
]


async def told(tool: Any, command: dict[str, Any]) -> str:
    try:
        return str(await tool.call(command))
    except ToolError as error:
        return f"Error: {error}"


async def test_the_sdk_drives_our_memory_and_hears_what_its_own_says(session: Session, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "memories").mkdir(parents=True)
    (own / "memories" / "notes.md").write_text(NOTES)
    theirs, ours = BetaAsyncLocalFilesystemMemoryTool(str(own)), OnFiletools(session)
    for command in CONVERSATION:
        taken: Any = TypeAdapter(BetaMemoryTool20250818Command).validate_python(command)
        assert taken.command == command["command"]
        assert await told(ours, command) == (await told(theirs, command)).replace(_WORDS, _OUR_WORDS), command
    assert _tree(own / "memories") == _tree(tmp_path / "root" / "memories") == {}


_WORDS, _OUR_WORDS = "within the range [0, 4].", "within the range of lines of the file: [0, 4]"
"""The one sentence in which the SDK differs from the documentation, which we follow."""


def _tree(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_the_definition_is_what_the_sdk_sends(session: Session) -> None:
    assert MEMORY.hosted == OnFiletools(session).to_dict()
    assert TypeAdapter(BetaMemoryTool20250818Param).validate_python(MEMORY.hosted, strict=True) == MEMORY.hosted
