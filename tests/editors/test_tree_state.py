from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

import filetools
from filetools.editors.tree_state import TreeEntry, TreeState
from filetools.errors import DirectoryNotFoundError
from filetools.events.types import (
    DirectoryDeleted,
    DirectoryRenamed,
    Event,
    FileCreated,
    FileDeleted,
    FileRenamed,
    Resync,
)
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.models.searching import ListResult
from tests.support.crashing import QUIET, grow
from tests.support.dose import dose
from tests.support.opened import outcome_of, steps_until, until_watched

ALICE = Actor(kind="agent", id="alice", session="s1")
BOB = Actor(kind="editor", id="bob", session="w1")
BEFORE: dict[str, bytes | None] = {"a.txt": b"a", "d/b.txt": b"b", "d/e/c.txt": b"c", "node_modules/x/y.js": b"y"}


class Folder:
    """A workspace in a dict. A change can be injected before each page of its listing."""

    def __init__(self, *paths: str) -> None:
        self.paths = list(paths)
        self.position = self.listed = 0
        self.page_size = 100
        self.before_page: list[Event] = []
        self.tree: TreeState | None = None

    async def list_files(
        self, path: str = "", *, recursive: bool = False, cursor: str | None = None, details: bool = True
    ) -> ListResult:
        inside = [one for one in self.paths if not path or one.startswith(f"{path}/")]
        if path and path not in self.paths:
            raise DirectoryNotFoundError(path)
        start = int(cursor or 0)
        self.listed += cursor is None
        shown = inside[start : start + self.page_size]
        entries = [{"name": one, "path": one, "type": "file" if "." in one else "directory"} for one in shown]
        end = start + self.page_size
        more = str(end) if end < len(inside) else None
        while self.tree is not None and self.before_page:
            self.tree.apply(self.before_page.pop(0))
        return ListResult.model_validate({"path": path, "entries": entries, "next_cursor": more})

    async def status(self) -> dict[str, Any]:
        return {"position": self.position}


def created(path: str, number: int) -> FileCreated:
    return FileCreated(path=path, actor=ALICE, seq=number)


def paths(tree: TreeState) -> list[str]:
    return [entry.path for entry in tree.entries()]


async def listed(*known: str) -> tuple[TreeState, Folder]:
    tree, folder = TreeState(), Folder(*known)
    assert await tree.refresh(folder)
    return tree, folder


async def test_missing_events_make_the_whole_tree_stale() -> None:
    tree, folder = await listed("d", "d/a.txt")
    tree.expand("d")
    tree.apply(Resync(position=3, reason="overflow"))
    assert tree.is_stale
    folder.paths.append("d/b.txt")
    assert await tree.refresh(folder)
    assert (paths(tree), tree.entries()[0].is_expanded) == (["d", "d/a.txt", "d/b.txt"], True)


async def test_a_created_file_expands_the_folders_above_it() -> None:
    tree, _ = await listed("a.txt")
    tree.apply(created("x/y/z.txt", 1))
    assert tree.entries(visible_only=True) == [
        TreeEntry(path="x", type="directory", is_expanded=True),
        TreeEntry(path="x/y", type="directory", is_expanded=True),
        TreeEntry(path="x/y/z.txt", type="file"),
        TreeEntry(path="a.txt", type="file"),
    ]


async def test_a_closed_folder_hides_what_is_in_it() -> None:
    tree, _ = await listed("d", "d/e", "d/e/x.txt", "f", "g.txt")
    tree.expand("d")
    assert [one.path for one in tree.entries(visible_only=True)] == ["d", "d/e", "f", "g.txt"]
    tree.expand("d", is_expanded=False)
    assert [one.path for one in tree.entries(visible_only=True)] == ["d", "f", "g.txt"]


async def test_a_deleted_folder_is_removed_with_everything_below() -> None:
    tree, _ = await listed("d", "d/e", "d/e/x.txt", "d.txt")
    tree.apply(DirectoryDeleted(path="d", actor=ALICE, seq=1))
    assert paths(tree) == ["d.txt"]


async def test_a_moved_folder_keeps_what_is_expanded() -> None:
    tree, _ = await listed("d", "d/e", "d/e/x.txt")
    tree.expand("d/e")
    tree.apply(DirectoryRenamed(old_path="d", path="k/d", actor=ALICE, seq=1))
    assert (paths(tree), tree.is_stale) == (["k", "k/d", "k/d/e", "k/d/e/x.txt"], False)
    assert [one.path for one in tree.entries() if one.is_expanded] == ["k/d/e"]


async def test_names_that_listings_exclude_are_not_added() -> None:
    tree, _ = await listed("a.txt")
    tree.apply(created("node_modules/x/y.js", 1))
    tree.apply(FileRenamed(old_path="a.txt", path="node_modules/a.txt", actor=ALICE, seq=2))
    assert paths(tree) == []


async def test_a_folder_moved_from_an_unlisted_place_is_stale() -> None:
    tree, folder = await listed("a.txt")
    tree.apply(DirectoryRenamed(old_path="node_modules/x", path="x", actor=ALICE, seq=1))
    assert tree.is_stale
    folder.paths = ["x", "x/y.js", "a.txt"]
    assert await tree.refresh(folder)
    assert paths(tree) == ["x", "x/y.js", "a.txt"]


@pytest.mark.parametrize(
    "late",
    [
        FileDeleted(path="d/a.txt", actor=BOB, seq=5),
        DirectoryDeleted(path="d", actor=BOB, seq=5),
        created("d/new.txt", 7),
    ],
)
async def test_a_late_or_repeated_change_is_not_guessed(late: Event) -> None:
    tree, folder = await listed("d", "d/a.txt", "b.txt")
    tree.apply(created("d/new.txt", 7))
    before = paths(tree)
    assert not tree.is_stale
    tree.apply(late)
    assert (paths(tree), tree.is_stale) == (before, True)
    folder.paths = ["d", "d/new.txt"]
    assert await tree.refresh(folder)
    assert paths(tree) == ["d", "d/new.txt"]


async def test_changes_made_while_pages_are_read_are_in_the_tree() -> None:
    tree, folder = TreeState(), Folder("a.txt", "b.txt", "c.txt")
    folder.page_size, folder.tree = 1, tree
    folder.before_page = [created("new.txt", 3), FileDeleted(path="a.txt", actor=BOB, seq=4)]
    folder.position = 4
    assert await tree.refresh(folder)
    assert paths(tree) == ["b.txt", "c.txt", "new.txt"]


@pytest.mark.parametrize("is_told_in_time", [True, False])
async def test_a_folder_that_moved_while_pages_were_read_is_read_again(is_told_in_time: bool) -> None:
    tree, folder = TreeState(), Folder("k", "k/a.txt")
    folder.tree, folder.position = tree, 8 if is_told_in_time else 9
    moved = DirectoryRenamed(old_path="k", path="b", actor=BOB, seq=9)
    if is_told_in_time:
        folder.before_page = [moved]
    assert await tree.refresh(folder)
    assert folder.listed == 1 + is_told_in_time
    if not is_told_in_time:
        tree.apply(moved)
        assert tree.is_stale


async def test_a_folder_filled_while_pages_are_read_needs_no_other_listing() -> None:
    tree, folder = TreeState(), Folder("d", "d/a.txt")
    folder.tree, folder.before_page = tree, [created("d/b.txt", 3)]
    assert await tree.refresh(folder)
    assert (paths(tree), folder.listed) == (["d", "d/a.txt", "d/b.txt"], 1)


async def test_events_missing_while_pages_are_read_have_it_read_again() -> None:
    tree, folder = TreeState(), Folder("a.txt")
    folder.tree = tree
    folder.before_page = [Resync(position=None, reason="overflow")]
    assert await tree.refresh(folder)
    assert folder.listed == 2


class Plan:
    """A model of a tree's expanded folders, by path."""

    def __init__(self) -> None:
        self.expanded: set[str] = set()

    def note(self, event: Event) -> None:
        match event:
            case FileCreated(path=path):
                above = {str(folder) for folder in Path(path).parents} - {"."}
                self.expanded |= above if "node_modules" not in path.split("/") else set()
            case DirectoryDeleted(path=path):
                self.expanded = {one for one in self.expanded if one != path and not one.startswith(f"{path}/")}
            case DirectoryRenamed(path=path, old_path=old):
                inside = {one for one in self.expanded if one == old or one.startswith(f"{old}/")}
                self.expanded = (self.expanded - inside) | {path + one[len(old) :] for one in inside}
        # Excluded folders are forgotten, even if they come back.
        self.expanded = {one for one in self.expanded if "node_modules" not in one.split("/")}


NAMES = ["a.txt", "b.txt", "d", "e", "node_modules"]


def random_path(random: Random) -> str:
    return "/".join(random.choice(NAMES) for _ in range(random.randrange(1, 4)))


async def act(files: FileToolsFacade, random: Random) -> None:
    one, other = random_path(random), random_path(random)
    match random.randrange(8):
        case 0 | 1 | 2:
            await outcome_of(files.write_file(one, str(random.random())))
        case 3:
            await outcome_of(files.delete_file(one))
        case 4:
            await outcome_of(files.create_directory(one))
        case 5:
            await outcome_of(files.delete_directory(one, recursive=True))
        case _:
            await outcome_of(files.move_file(one, other, overwrite=random.random() < 0.5))


async def assert_as_listed(tree: TreeState, files: FileToolsFacade) -> None:
    entries = (await files.list_files("", recursive=True)).entries
    assert [(one.path, one.type) for one in tree.entries()] == [(one.path, one.type) for one in entries]


@pytest.mark.parametrize("seed", range(dose(6)))
async def test_after_any_operations_of_two_actors_the_tree_is_what_a_listing_shows(
    files: FileToolsFacade, seed: int
) -> None:
    random, tree, plan = Random(seed), TreeState(), Plan()
    tree.attach(files.bus)
    assert await tree.refresh(files)
    files.on("*", plan.note)
    actors = [files.for_actor(ALICE), files.for_actor(BOB)]
    for _ in range(40):
        await act(random.choice(actors), random)
        if not tree.is_stale:
            await assert_as_listed(tree, files)
    assert await tree.refresh(files)
    await assert_as_listed(tree, files)
    folders = {one.path for one in tree.entries() if one.type == "directory"}
    assert {one.path for one in tree.entries() if one.is_expanded} == plan.expanded & folders


@pytest.mark.parametrize("seed", range(dose(3)))
async def test_operations_at_the_same_time_as_listings_lose_nothing(files: FileToolsFacade, seed: int) -> None:
    tree = TreeState()
    tree.attach(files.bus)

    async def work(actor: Actor, random: Random) -> None:
        for _ in range(25):
            await act(files.for_actor(actor), random)

    async def look() -> None:
        for _ in range(12):
            tree.apply(Resync(position=None, reason="overflow"))
            await tree.refresh(files)

    await asyncio.gather(work(ALICE, Random(seed)), work(BOB, Random(-seed - 1)), look())
    assert await tree.refresh(files)
    await assert_as_listed(tree, files)


@pytest.mark.parametrize("seed", range(dose(2)))
async def test_a_tree_follows_changes_of_another_opening_of_the_root(
    files: FileToolsFacade, tmp_path: Path, seed: int
) -> None:
    tree = TreeState()
    tree.attach(files.bus)
    assert await tree.refresh(files)
    async with filetools.open(tmp_path, settings=QUIET) as second:

        async def work(where: FileToolsFacade, random: Random) -> None:
            for _ in range(25):
                await act(where, random)

        await asyncio.gather(work(files, Random(seed)), work(second, Random(-seed - 1)))
        await second.write_file("last.txt", "1")
        await steps_until(lambda: "last.txt" in paths(tree))
    assert await tree.refresh(files)
    await assert_as_listed(tree, files)


async def test_a_tree_follows_changes_by_other_programs(tmp_path: Path) -> None:
    grow(tmp_path, BEFORE)
    async with filetools.open(tmp_path) as watching:
        await until_watched(watching, tmp_path)
        tree = TreeState(exclude=watching.settings.exclude)
        tree.attach(watching.bus)
        assert await tree.refresh(watching)

        async def shows(*wanted: str) -> None:
            await steps_until(lambda: paths(tree) == list(wanted))

        (tmp_path / "new/inner").mkdir(parents=True)
        (tmp_path / "new/inner/x.txt").write_text("x")
        await shows("d", "d/e", "d/e/c.txt", "d/b.txt", "new", "new/inner", "new/inner/x.txt", "a.txt")
        (tmp_path / "d").rename(tmp_path / "new/d")
        moved = ("new/d", "new/d/e", "new/d/e/c.txt", "new/d/b.txt")
        await shows("new", *moved, "new/inner", "new/inner/x.txt", "a.txt")
        shutil.rmtree(tmp_path / "new")
        (tmp_path / "a.txt").rename(tmp_path / "z.txt")
        await shows("z.txt")


async def test_a_detached_tree_follows_nothing(files: FileToolsFacade) -> None:
    tree = TreeState()
    tree.attach(files.bus)
    await tree.refresh(files)
    before = paths(tree)
    tree.detach()
    tree.detach()
    await files.create_file("new.txt")
    assert paths(tree) == before


async def test_a_file_in_an_unknown_folder_causes_a_listing_of_the_folder() -> None:
    folder = Folder("d")
    tree = TreeState()
    await tree.refresh(folder)
    tree.apply(created("d/new/a.txt", 1))
    assert tree.is_stale
    tree.apply(FileDeleted(path="d/new/a.txt", actor=ALICE, seq=2))
    assert await tree.refresh(folder)
    assert [entry.path for entry in tree.entries()] == ["d"]
