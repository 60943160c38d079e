"""Links and files too large to keep: deleted and moved unread, and restored from the trash."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.paths.workspace_path import ROOT
from filetools.stores.local import LocalStore
from filetools.stores.local_displaced import LocalTrashed
from tests.support.changes import ALICE, undo
from tests.support.crashing import QUIET, deaths, recover
from tests.support.opened import names_of, recorded, refused, told

LIMIT = 4096
SETTINGS: dict[str, Any] = {**QUIET, "max_write_bytes": LIMIT, "max_foreign_bytes": 1024, "follow_symlinks": True}
LARGE = bytes(range(256)) * 17


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "large").write_bytes(LARGE)
    (tmp_path / "d" / "real").write_text("R")
    os.symlink("real", tmp_path / "d" / "link")
    os.symlink("sub", tmp_path / "d" / "way")
    return tmp_path


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths whose bytes were read."""
    asked: list[str] = []
    for kind, name in ((LocalStore, "read"), (LocalStore, "open"), (LocalTrashed, "read")):
        real = getattr(kind, name)

        def spy(self: Any, path: str, *more: Any, _real: Any = real, **options: Any) -> Any:
            asked.append(path)
            return _real(self, path, *more, **options)

        monkeypatch.setattr(kind, name, spy)
    return asked


KINDS = ["d/large", "d/link", "d/way"]


def look(path: Path) -> object:
    """Return what identifies an entry."""
    if path.is_symlink():
        return ("link", os.readlink(path))
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize("name", KINDS)
async def test_deleting_and_taking_it_back(
    files: FileToolsFacade, root: Path, name: str, bytes_read: list[str]
) -> None:
    before, heard = look(root / name), told(files)
    result = await files.delete_file(name)
    assert (result.path, result.deleted_version, look(root / name)) == (name, None, None)
    await files.undo()
    assert look(root / name) == before
    assert names_of(heard) == [("file:deleted", name), ("file:created", name)]
    await files.delete_file(name)
    assert look(root / name) is None
    assert bytes_read == []
    assert (root / "d" / "real").read_text() == "R"
    assert (root / "d" / "sub").is_dir()


@pytest.mark.parametrize("name", KINDS)
async def test_moving_and_taking_it_back(files: FileToolsFacade, root: Path, name: str, bytes_read: list[str]) -> None:
    before, heard = look(root / name), told(files, "file:*")
    result = await files.move_file(name, "new/place")
    assert (result.source, result.destination, result.version) == (name, "new/place", None)
    assert (look(root / name), look(root / "new/place")) == (None, before)
    await files.move_file("new/place", "new/other")
    await files.undo()
    assert look(root / "new/place") == before
    assert [event.name for event in heard] == ["file:renamed"] * 3
    assert bytes_read == []


async def test_a_link_to_a_folder_is_not_the_folder(files: FileToolsFacade, root: Path) -> None:
    (root / "d" / "sub" / "a").write_text("a")
    await files.delete_directory("d/way", recursive=True)
    assert not (root / "d" / "way").is_symlink()
    assert (root / "d" / "sub" / "a").read_text() == "a"


async def test_what_lies_behind_a_link_on_the_way_is_reached(files: FileToolsFacade, root: Path) -> None:
    (root / "d" / "sub" / "a").write_text("a")
    await files.move_file("d/way/a", "d/way/b")
    assert (root / "d" / "sub" / "b").read_text() == "a"
    await files.delete_multiple(["d/way/b", "d/link"])
    assert sorted(os.listdir(root / "d")) == ["large", "real", "sub", "way"]


async def test_a_link_is_never_covered_by_a_move(files: FileToolsFacade, root: Path) -> None:
    (root / "a").write_text("a")
    await refused("SYMLINK_NOT_ALLOWED", files.move_file("a", "d/link", overwrite=True))
    await refused("FILE_TOO_LARGE", files.move_file("a", "d/large", overwrite=True))
    assert (look(root / "d/link"), look(root / "d/large")) == (("link", "real"), LARGE)


async def test_links_are_refused_where_none_is_followed(root: Path) -> None:
    async with filetools.open(root, settings={**SETTINGS, "follow_symlinks": False}) as files:
        await refused("SYMLINK_NOT_ALLOWED", files.delete_file("d/link"))
        await refused("SYMLINK_NOT_ALLOWED", files.move_file("d/link", "x"))
        await refused("SYMLINK_NOT_ALLOWED", files.delete_directory("d/way", recursive=True))
        assert await recorded(files) == []


async def test_patches_and_transactions_take_the_link(files: FileToolsFacade, root: Path) -> None:
    await files.apply_patch("*** Begin Patch\n*** Delete File: d/link\n*** End Patch")
    assert (look(root / "d/link"), (root / "d" / "real").read_text()) == (None, "R")
    await files.undo()
    assert look(root / "d/link") == ("link", "real")
    async with files.transaction() as tx:
        await tx.delete_file("d/link")
        await tx.delete_file("d/large")
    assert (look(root / "d/link"), look(root / "d/large")) == (None, None)
    await files.undo()
    assert (look(root / "d/link"), look(root / "d/large")) == (("link", "real"), LARGE)


@pytest.mark.parametrize("name", ["d/large", "d/link"])
async def test_without_the_trash_an_undo_reports_that_the_bytes_are_unknown_and_takes_back_nothing_else(
    files: FileToolsFacade, root: Path, name: str
) -> None:
    await files.write_file("earlier.txt", "earlier\n")
    number = (await files.delete_file(name)).number
    files._parts.store.trashed(ROOT, str(number)).discard()
    result = await files.undo()
    assert [change.outcome for change in result.changes] == ["unknown"]
    assert look(root / name) is None


@pytest.mark.parametrize("name", KINDS)
async def test_the_older_file_of_a_name_is_not_mixed_up_with_it(files: FileToolsFacade, root: Path, name: str) -> None:
    await files.delete_file(name)
    await files.write_file(name, "small")
    await files.delete_file(name)
    await files.undo()
    assert look(root / name) == b"small"


ACTS: dict[str, Callable[[FileToolsFacade], Awaitable[object]]] = {
    "delete": lambda files: files.delete_file("d/entry"),
    "move": lambda files: files.move_file("d/entry", "n/entry"),
    "undo": undo,
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("kind", ["large", "link"])
def test_after_a_death_at_any_call_it_is_here_or_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str, kind: str
) -> None:
    for name in ("max_write_bytes", "max_foreign_bytes", "follow_symlinks"):
        monkeypatch.setenv(f"FILETOOLS_{name.upper()}", str(SETTINGS[name]))
    model = tmp_path / "model"
    (model / "d").mkdir(parents=True)
    if kind == "link":
        (model / "real").write_text("R")
        os.symlink("../real", model / "d" / "entry")
    else:
        (model / "d" / "entry").write_bytes(LARGE)
    wanted = look(model / "d" / "entry")
    if act == "undo":
        asyncio.run(deleted(model))
    for death in deaths(model, ACTS[act], most=3, about=f"{act} {kind}"):
        recover(death.root)
        here, there = look(death.root / "d" / "entry"), look(death.root / "n" / "entry")
        trash = os.listdir(death.root / ".filetools/state" / "trash")
        assert [here, there].count(wanted) + len(trash) == 1, death
        if death.acknowledged:
            assert (here == wanted) == (act == "undo")


async def deleted(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await files.for_actor(ALICE).delete_file("d/entry")
