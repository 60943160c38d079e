"""Foreign programs beside own writers: at rest, rows, log and disk agree, and no write is lost or taken for another."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec import structs

from filetools.journal.contents import Contents
from filetools.journal.core.tree_rows import TreeRow
from filetools.models.records import Operation
from filetools.tree.hints import DirtyFolders, FolderId
from filetools.writer.operations import MakeFolder, Put, TreeOperation
from filetools.writer.steps import OperationStep
from tests.support import inside
from tests.support.core import Core, at, opened_core
from tests.support.core_storms import (
    Noticing,
    Storm,
    heard_all,
    in_turn,
    judge,
    look_at_everything,
    noticing_core,
    rest,
    storm,
    tree_in_rows,
    until,
)
from tests.support.dose import SEED, dose
from tests.support.hinted import folder_id

TRIES = 10
Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize("noticing", ["inotify", "polling", "nothing"])
async def test_a_storm_ends_with_rows_log_and_disk_equal(tmp_path: Path, noticing: Noticing, others: int) -> None:
    for seed in range(SEED, SEED + dose(1)):
        told = Storm(seed=seed, steps=60, noticing=noticing, others=others, fine_times=bool(seed % 2))
        result = await storm(tmp_path / str(seed), told)
        assert (seed, result.faults) == (seed, [])
        if noticing == "inotify":
            assert (seed, result.late) == (seed, [])


# -- planted faults --------------------------------------------------------------------------------------------------


def lose_some_hints(patch: pytest.MonkeyPatch) -> None:
    note, count = DirtyFolders.note, iter(range(1_000_000))

    def forgetful(self: DirtyFolders, folder: FolderId, name: str | None) -> None:
        if next(count) % 3:
            note(self, folder, name)

    patch.setattr(DirtyFolders, "note", forgetful)


def leave_own_writes_unmarked(patch: pytest.MonkeyPatch) -> None:
    marked = OperationStep.marked_rows

    def unmarked(self: OperationStep) -> list[TreeRow]:
        rows = marked(self)
        is_put = isinstance(self.operation, Put)
        return [structs.replace(row, identity=None, version=None) if is_put else row for row in rows]

    patch.setattr(OperationStep, "marked_rows", unmarked)


def keep_own_bytes_only(patch: pytest.MonkeyPatch) -> None:
    keep = Contents.keep_inside

    def stingy(self: Contents, digest: bytes, content: bytes) -> None:
        if content.startswith(b"own"):
            keep(self, digest, content)

    patch.setattr(Contents, "keep_inside", stingy)


@pytest.mark.parametrize(
    ("plant", "only", "symptom"),
    [
        (lose_some_hints, (), "late"),
        (inside.forget_second_looks, (), "rows"),
        (inside.take_links_for_moves, ("create", "hard link"), "rows"),
        (inside.remove_before_moving, ("create", "make folder", "flatten"), "feed"),
        (leave_own_writes_unmarked, (), "own told as foreign"),
        (keep_own_bytes_only, ("create",), "unknown bytes"),
    ],
)
async def test_a_storm_finds_a_planted_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant, only: Sequence[str], symptom: str
) -> None:
    plant(monkeypatch)
    for seed in range(SEED, SEED + TRIES):
        noticing: Noticing = "inotify" if symptom == "late" else "nothing"
        told = Storm(seed=seed, steps=40, own_steps=20, only=tuple(only), noticing=noticing)
        result = await storm(tmp_path / str(seed), told)
        if (result.late and symptom == "late") or any(fault.startswith(symptom) for fault in result.faults):
            return
    pytest.fail("no storm has found it")


# -- what real programs do -------------------------------------------------------------------------------------------


def _unlink(root: Path, number: int) -> None:
    (root / f"d{number}/new/a").unlink()


def _move_away(root: Path, number: int) -> None:
    (root / f"d{number}/new/a").rename(root / f"moved{number}")


def _make_folder_again(root: Path, number: int) -> None:
    shutil.rmtree(root / f"d{number}/new")
    (root / f"d{number}/new").mkdir()


def _build_twice(root: Path, number: int) -> None:
    for step in range(2):
        shutil.rmtree(root / f"d{number}")
        (root / f"d{number}/js/chunks").mkdir(parents=True)
        (root / f"d{number}/js/chunks/new").write_text(f"{step}")


def _build_in_a_shell(root: Path, number: int) -> None:
    command = "rm -rf new && mkdir -p new/chunks && echo 1 > new/chunks/new"
    subprocess.run(command, shell=True, check=True, cwd=root / f"d{number}")


async def _write(core: Core, path: str, text: str = "own") -> None:
    folders = [folder for folder in reversed(at(path).folders) if not (core.root / folder).exists()]
    made: list[TreeOperation] = [MakeFolder(path=folder) for folder in sorted(folders)]
    await core.do(*made, Put(path=at(path), content=text.encode()))


@pytest.mark.parametrize("act", [_unlink, _move_away, _make_folder_again, _build_twice, _build_in_a_shell])
async def test_what_happens_in_a_folder_that_was_just_made_is_noticed(
    tmp_path: Path, act: Callable[[Path, int], None]
) -> None:
    async with noticing_core(tmp_path / "root") as core:
        for number in range(dose(10)):
            await _write(core, f"d{number}/new/a")
            await asyncio.to_thread(act, core.root, number)
        await heard_all(core)
        assert judge(core) == []


async def test_what_is_gone_before_the_next_look_without_notices_is_recorded(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with opened_core(root) as core:
        await look_at_everything(core)
        for name in "abd":
            await _write(core, name)
        (root / "a").unlink()
        (root / "b").rename(root / "c")
        (root / "d").write_text("by a program")
        await look_at_everything(core)
        told = [(record.kind, record.old_path, record.path) for record in core.heard if record.origin == "foreign"]
        assert told == [
            (Operation.MOVE, "b", "c"), (Operation.MODIFY, None, "d"), (Operation.DELETE, None, "a")
        ]  # fmt: skip
        assert judge(core) == []


@pytest.mark.parametrize("pause", ["", "sleep 0.02;"])
@pytest.mark.parametrize("removal", ["", "rmdir lib;", "rm -r lib;"])
async def test_a_folder_that_is_flattened_never_loses_its_files(tmp_path: Path, removal: str, pause: str) -> None:
    async with noticing_core(tmp_path / "root") as core:
        await _write(core, "lib/x/f")
        await _write(core, "lib/x/y/g")
        command = f"mv lib/x tmp; {pause} {removal} {pause} mv -T tmp lib"
        await asyncio.to_thread(subprocess.run, command, shell=True, check=True, cwd=core.root)
        await heard_all(core)
        assert judge(core) == []
        assert [record.kind for record in core.heard if record.path.endswith(("f", "g"))] == ["create", "create"]


@pytest.mark.parametrize("path", ["new", "folder/new", "d"])
async def test_a_file_that_is_written_as_soon_as_a_program_has_made_it_was_created(tmp_path: Path, path: str) -> None:
    async with noticing_core(tmp_path / "root") as core:
        await _write(core, "d/sub/s")
        if path == "d":
            shutil.rmtree(core.root / "d")
        (core.root / path).parent.mkdir(exist_ok=True)
        (core.root / path).write_text("file")
        await _write(core, path)
        await heard_all(core)
        told = [(record.origin, record.kind) for record in core.heard if record.path == path][-2:]
        assert told == [("foreign", Operation.CREATE), ("call", Operation.MODIFY)]
        assert judge(core) == []


async def test_a_file_that_was_open_for_writing_is_read_without_another_hint(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with opened_core(root) as core:
        await look_at_everything(core)
        with open(root / "a", "w") as file:
            core.writer.agenda.hints.note(folder_id(root), "a")
            await until(lambda: in_turn(core, lambda: core.writer.agenda.hints.is_empty))
            assert tree_in_rows(core) == {}
            file.write("x")
        await rest(core)
        assert judge(core) == []
