"""Hidden files: agents see their names but not their content, in any call and by any detour."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.content.editing.edits import Edit
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, grow
from tests.support.opened import outcome_of, refused
from tests.support.people import ALICE, EDITOR

Call = Callable[[FileToolsFacade], Awaitable[object]]
BEFORE: dict[str, bytes | None] = {
    ".env": b"TOKEN=s3cret\n", "a.txt": b"a\n", "k/server.PEM": b"s3cret\n", ".aws/credentials": b"s3cret\n",
    ".env.example": b"TOKEN=s3cret here\n",
}  # fmt: skip
CALLS: dict[str, Call] = {
    "read": lambda files: files.read_file(".env"),
    "read in another case": lambda files: files.read_file("k/server.PEM"),
    "stream": lambda files: anext(aiter(files.stream_file(".env"))),
    "hold open": lambda files: files.open_file(".env").__aenter__(),
    "search it": lambda files: files.grep_files("s3cret", path=".env"),
    "history": lambda files: files.versions(".env"),
    "diff": lambda files: files.diff(".env"),
    "who": lambda files: files.provenance(".env"),
    "write": lambda files: files.write_file(".env", "TOKEN=mine\n"),
    "edit": lambda files: files.edit_file(".env", [Edit(old="TOKEN=x", new="TOKEN=y")], dry_run=True),
    "patch": lambda files: files.apply_patch(
        "*** Begin Patch\n*** Update File: .env\n-x\n+y\n*** End Patch", dry_run=True
    ),
    "move away": lambda files: files.move_file(".env", "env.txt"),
    "copy": lambda files: files.copy_file(".env", "env.txt"),
    "move the folder that makes it hidden": lambda files: files.move_file(".aws", "aws"),
    "open as a document": lambda files: files.buffers.open(".env"),
}


@asynccontextmanager
async def opened(root: Path, **settings: Any) -> AsyncIterator[FileToolsFacade]:
    grow(root, BEFORE)
    async with filetools.open(root, settings={**QUIET, **settings}) as files:
        yield files


async def test_the_time_that_a_pattern_takes_reveals_nothing_about_hidden_content(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    """A pattern that runs forever only on a correct guess would reveal the content by a TIMEOUT."""
    (tmp_path / ".env").write_text(f"TOKEN=s3cret{'a' * 40}!\n")
    agent = files.for_actor(ALICE)
    assert (await agent.grep_files(r"TOKEN=s3cret(a|aa|a?a)+$", path="", all=True)).matches == []


@pytest.mark.parametrize("name", CALLS)
async def test_an_agent_is_refused_the_content(files: FileToolsFacade, tmp_path: Path, name: str) -> None:
    error = await refused("PATH_HIDDEN", CALLS[name](files.for_actor(ALICE)))
    assert "hidden by a rule" in error.message
    assert "s3cret" not in str(error.details)
    assert {path: (tmp_path / path).read_bytes() for path in BEFORE} == BEFORE


async def test_a_transaction_does_not_reveal_the_content(files: FileToolsFacade) -> None:
    async with files.for_actor(ALICE).transaction() as tx:
        await refused("PATH_HIDDEN", tx.move_file(".env", "env.txt"))
        await refused("PATH_HIDDEN", tx.move_file(".aws", "aws"))
        await refused("PATH_HIDDEN", tx.edit_file(".env", old="TOKEN", new="x"))
        assert await outcome_of(tx.read_file("env.txt")) == "FILE_NOT_FOUND"


async def test_an_agent_meets_the_name_alone(files: FileToolsFacade) -> None:
    agent = files.for_actor(ALICE)
    assert {".env", "a.txt"} <= {entry.path for entry in (await agent.list_files()).entries}
    assert (await agent.file_info(".env")).size == 13
    assert [each.path for each in (await agent.grep_files("s3cret", all=True)).matches] == [".env.example"]
    assert (await agent.read_file(".env.example")).content == "TOKEN=s3cret here\n"


async def test_history_shows_an_agent_no_text_of_it(files: FileToolsFacade) -> None:
    person, agent = files.for_actor(EDITOR), files.for_actor(ALICE)
    await person.checkpoint("before")
    await person.write_file(".env", "TOKEN=n3wer\n")
    number = (await files.latest_changes(1))[0].number
    undone = await agent.undo(numbers=[number], actor="*", dry_run=True)
    [change] = (await agent.diff_tree("before", patch=True)).changes
    assert [file.path for file in undone.files] == [".env"]
    assert (change.diff, change.diff_omitted) == (None, "withheld")
    for version in (change.version, undone.files[0].version):
        assert version is not None
        await refused("VERSION_GONE", agent.read_file("a.txt", version=version))
        await refused("VERSION_GONE", agent.diff("a.txt", version))


async def test_people_see_everything(files: FileToolsFacade) -> None:
    person = files.for_actor(EDITOR)
    assert (await person.read_file(".env")).content == "TOKEN=s3cret\n"
    assert len((await person.grep_files("s3cret", all=True)).matches) == 4
    assert await outcome_of(person.write_file(".env", "x")) == "done"


async def test_a_link_does_not_reveal_the_content(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to(".env")
    async with opened(tmp_path, follow_symlinks=True) as files:
        await refused("PATH_HIDDEN", files.for_actor(ALICE).read_file("link.txt"))


async def test_the_settings_of_a_tree_can_only_hide_more(tmp_path: Path) -> None:
    async with opened(tmp_path):
        (tmp_path / ".filetools" / "settings.toml").write_text('hidden_paths = ["!.env", "a.txt"]\n')
    async with opened(tmp_path) as files:
        agent = files.for_actor(ALICE)
        await refused("PATH_HIDDEN", agent.read_file(".env"))
        await refused("PATH_HIDDEN", agent.read_file("a.txt"))


async def test_an_own_list_takes_paths_out_again(tmp_path: Path) -> None:
    async with opened(tmp_path, hidden_paths=("*.txt", "!a.*")) as files:
        agent = files.for_actor(ALICE)
        assert (await agent.read_file("a.txt")).content == "a\n"
        assert (await agent.read_file(".env")).content == "TOKEN=s3cret\n"
        await refused("PATH_HIDDEN", agent.write_file("b.txt", "x"))
