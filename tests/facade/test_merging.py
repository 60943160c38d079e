"""Two changes of one line are merged by words in prose and conflict elsewhere, in every call that merges."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

import filetools
from filetools import Actor, Edit, FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.settings import Settings
from filetools.tools.dialects import CLAUDE_CODE
from tests.support.crashing import QUIET
from tests.support.dialects import Session
from tests.support.opened import steps_until

BASE: Final = "one\nthe quick brown fox\nthree\n"
MINE, OTHERS = BASE.replace("quick", "slow"), BASE.replace("fox", "wolf")
MERGED: Final = MINE.replace("fox", "wolf")
BOTH_LINES: Final = "one\nthe slow brown fox\nthe quick brown wolf\nthree\n"
CONFLICT: Final = "EDIT_CONFLICT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One file that two agents know, and a person with an editor."""

    root: Path
    path: str
    alice: FileToolsFacade
    bob: FileToolsFacade
    ann: FileToolsFacade

    async def typed(self) -> str:
        """Type `MINE` without saving; returns the handle."""
        opened = await self.ann.buffers.open(self.path)
        await self.ann.buffers.change(opened.handle, buffer_version=1, text=MINE)
        return opened.handle

    async def unsaved(self, handle: str) -> str:
        return (await self.ann.buffers.read(handle)).text

    async def outcome(self, call: Awaitable[object]) -> str:
        """Return the file's content after a call, or the code of its error."""
        try:
            await call
        except FileToolsError as exc:
            return exc.code
        return (self.root / self.path).read_text()


async def stale_write(scene: Scene) -> str:
    await scene.alice.write_file(scene.path, MINE)
    return await scene.outcome(scene.bob.write_file(scene.path, OTHERS))


async def stale_write_of_a_dialect(scene: Scene) -> str:
    session = Session(scene.bob, CLAUDE_CODE, "s")
    await session.says("Read", file_path=scene.path)
    await scene.alice.write_file(scene.path, MINE)
    answer = await session.envelope("Write", {"file_path": scene.path, "content": OTHERS})
    return (scene.root / scene.path).read_text() if answer["success"] else str(answer["error_code"])


async def transaction(scene: Scene) -> str:
    async def call() -> None:
        async with scene.bob.transaction() as tx:
            await tx.write_file(scene.path, OTHERS)
            await scene.alice.write_file(scene.path, MINE)

    return await scene.outcome(call())


async def undo(scene: Scene) -> str:
    await scene.alice.edit_file(scene.path, [Edit(old="fox", new="cat")])
    await scene.bob.edit_file(scene.path, [Edit(old="quick", new="slow")])
    outcome = await scene.outcome(scene.alice.undo())
    return outcome if outcome == CONFLICT else outcome.replace("fox", "wolf")


async def saving(scene: Scene) -> str:
    handle = await scene.typed()
    (scene.root / scene.path).write_text(OTHERS)
    return await scene.outcome(scene.ann.buffers.save(handle))


async def write_under_unsaved_text(scene: Scene) -> str:
    handle = await scene.typed()
    outcome = await scene.outcome(scene.bob.write_file(scene.path, OTHERS))
    return outcome if outcome == CONFLICT else await scene.unsaved(handle)


async def edit_of_unsaved_text(scene: Scene) -> str:
    handle = await scene.typed()
    outcome = await scene.outcome(scene.bob.edit_file(scene.path, [Edit(old="fox", new="wolf")]))
    assert await scene.unsaved(handle) == MERGED
    # A change that cannot be separated from the unsaved text changes only the document.
    return MERGED if outcome == OTHERS else CONFLICT if outcome == BASE else outcome


WAYS: Final[tuple[Callable[[Scene], Awaitable[str]], ...]] = (
    stale_write,
    stale_write_of_a_dialect,
    transaction,
    undo,
    saving,
    write_under_unsaved_text,
    edit_of_unsaved_text,
)
PROSE: Final = {"prose_files": ("*.py",)}
KINDS: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("notes/a.md", {}, MERGED),
    ("app.py", {}, CONFLICT),
    ("app.py", PROSE, MERGED),
]


async def came_of(root: Path, way: Callable[[Scene], Awaitable[str]], path: str, settings: dict[str, Any]) -> str:
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text(BASE)
    async with filetools.open(root, settings={**QUIET, **settings}) as files:
        agents = [files.for_actor(Actor(kind="agent", id=name, session=name)) for name in ("alice", "bob")]
        for agent in agents:
            await agent.read_file(path)
        ann = files.for_actor(Actor(kind="editor", id="ann", session="window"))
        return await way(Scene(root=root, path=path, alice=agents[0], bob=agents[1], ann=ann))


@pytest.mark.parametrize(("path", "settings", "expected"), KINDS, ids=["prose", "code", "by a setting"])
@pytest.mark.parametrize("way", WAYS)
async def test_two_changes_of_one_line_are_merged_in_prose_alone(
    tmp_path: Path, way: Callable[[Scene], Awaitable[str]], path: str, settings: dict[str, Any], expected: str
) -> None:
    assert await came_of(tmp_path, way, path, settings) == expected


@pytest.mark.parametrize(("path", "is_merged"), [("a.txt", True), ("a.py", False)])
async def test_unsaved_text_follows_its_file_as_it_would_be_merged(tmp_path: Path, path: str, is_merged: bool) -> None:
    async def way(scene: Scene) -> str:
        news: list[str] = []
        handle = await scene.typed()
        scene.ann.on("buffer:*", lambda event: news.append(event.name))
        (scene.root / path).write_text(OTHERS)
        await steps_until(lambda: {"buffer:behind", "buffer:changed"} & {*news})
        assert ("buffer:behind" in news) is not is_merged
        return await scene.unsaved(handle)

    assert await came_of(tmp_path, way, path, {"watch": True}) == (MERGED if is_merged else MINE)


@pytest.mark.parametrize(("path", "expected"), [("a.txt", MERGED), ("a.py", BOTH_LINES)])
async def test_keeping_both_gives_one_line_only_in_prose(tmp_path: Path, path: str, expected: str) -> None:
    async def way(scene: Scene) -> str:
        async def decide(request: Any) -> Any:
            return "merge"

        handle = await scene.typed()
        scene.ann.answer_approvals(decide)
        await scene.bob.write_file(path, OTHERS, on_conflict="ask")
        return await scene.unsaved(handle)

    assert await came_of(tmp_path, way, path, {}) == expected


async def test_a_text_too_large_to_merge_is_refused_for_that(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\n" * 400_001)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        before = await files.read_file("a.csv")
        first = await files.write_file("a.csv", f"x{before.content}", expected_version=before.version)
        with pytest.raises(FileToolsError, match="is too large to be merged, and was changed since"):
            await files.write_file("a.csv", f"{before.content}y", expected_version=before.version, on_stale="merge")
        await files.append_file("a.csv", "y")
        undone = await files.undo(numbers=[first.number or 0], dry_run=True)
        assert [each.reason for each in undone.conflicts] == [
            "others have changed it since, and it is too large to be merged"
        ]


def test_prose_is_recognised_by_its_name() -> None:
    prose = ["README.md", "docs/Notes.TXT", "a/index.rst"]
    others = [
        "requirements.txt",
        "ci/requirements-dev.txt",
        "Constraints.txt",
        "src/CMakeLists.txt",
        "md",
        "n.md/app.py",
    ]
    assert [path for path in prose + others if Settings().is_prose(path)] == prose


@pytest.mark.parametrize("path", ["a.txt", "a.py"])
async def test_a_final_newline_that_one_side_adds_or_takes_away_is_kept(tmp_path: Path, path: str) -> None:
    async def way(scene: Scene) -> str:
        await scene.alice.write_file(path, BASE.replace("one", "1"))
        assert await scene.outcome(scene.bob.write_file(path, BASE[:-1])) == BASE.replace("one", "1")[:-1]
        known = (await scene.alice.read_file(path)).content
        await scene.bob.edit_file(path, [Edit(old="1\n", new="uno\n")])
        return await scene.outcome(scene.alice.write_file(path, f"{known}\n"))

    assert await came_of(tmp_path, way, path, {}) == BASE.replace("one", "uno")
