"""Trees and disks that cannot be written: reading always works, and what makes room works on a full disk."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import filetools
from filetools.app.state import TOKEN_FILE, own_token, prepare_state, read_token
from filetools.app.trust import own_folder
from filetools.errors import AccessDeniedError, InvalidArgumentError
from filetools.journal.storage.database import RESERVE_BYTES
from tests.support import inside
from tests.support.crashing import QUIET
from tests.support.mounts import fill, mounted
from tests.support.opened import refused, steps_until, version
from tests.support.unprivileged import as_nobody

LARGE = os.urandom(300_000)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=3m", "tmpfs") as place:
        yield place


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.txt").write_text("A\n")
    with mounted(tmp_path / "read-only", "--bind", source, read_only=True) as place:
        yield place


async def read_everything(files: filetools.FileToolsFacade) -> None:
    assert (await files.read_file("a.txt")).content == "A\n"
    assert [entry.path for entry in (await files.list_files("", recursive=True)).entries if entry.path == "a.txt"]
    assert (await files.grep_files("A", path="a.txt")).total == 1
    assert (await files.search_files("a.txt")).total == 1


async def test_a_read_only_tree_is_worked_with_where_its_state_lies_elsewhere(read_only: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with filetools.open(read_only, state_dir=state, settings=QUIET) as files:
        await read_everything(files)
        await refused("PERMISSION_DENIED", files.write_file("b.txt", "b"))
        await refused("PERMISSION_DENIED", files.delete_file("a.txt"))
        assert (await files.status())["read_only"] is None
        epoch = (await files.status())["epoch"]
    async with filetools.open(read_only, state_dir=state, settings=QUIET) as files:
        assert (await files.status())["epoch"] == epoch
    assert os.listdir(read_only) == ["a.txt"]


async def test_a_tree_whose_state_can_be_written_nowhere_is_open_for_reading_only(
    read_only: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = {*tmp_path.iterdir()}
    async with filetools.open(read_only, mirror=tmp_path / "mirror", settings=QUIET) as files:
        await read_everything(files)
        opened = await files.buffers.open("a.txt")
        for call in (
            files.write_file("b.txt", "b"),
            files.delete_file("a.txt"),
            files.move_file("a.txt", "b.txt"),
            files.create_directory("d"),
            files.checkpoint("now"),
            files.sync_all(),
            files.buffers.change(opened.handle, buffer_version=opened.buffer_version, text="B"),
        ):
            error = await refused("PERMISSION_DENIED", call)
            assert "open for reading only" in (error.suggested_action or "")
        assert "the file system is read-only" in (await files.status())["read_only"]
    assert {*tmp_path.iterdir()} == before


async def test_rules_that_block_reading_hold_in_a_tree_that_cannot_be_written(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "secret.txt").write_text("S")
    rules = own_folder(prepare_state(source, None).directory) or source
    (rules / "permissions.json").write_text(
        '{"rules": [{"tool": "read_file", "path": "secret.txt", "level": "block"}]}'
    )
    with mounted(tmp_path / "read-only", "--bind", source, read_only=True) as place:
        async with filetools.open(place, settings=QUIET) as files:
            await refused("TOOL_BLOCKED", files.read_file("secret.txt"))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs the superuser to become nobody")
def test_a_state_of_another_user_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    state = root / ".filetools/state"
    state.mkdir(parents=True)
    state.chmod(0o700)
    state.parent.chmod(0o700)

    def act() -> None:
        async def opening() -> None:
            await refused("STATE_UNTRUSTED", filetools.open(root).__aenter__())
            async with filetools.open(root, create=False) as files:
                assert (await files.list_files("")).total == 0
                assert "another user owns its state" in (await files.status())["read_only"]

        asyncio.run(opening())

    as_nobody(root, act)


async def test_a_full_disk_without_a_state_is_open_for_reading_only(disk: Path) -> None:
    (disk / "a.txt").write_text("A\n")
    fill(disk)
    async with filetools.open(disk, settings=QUIET) as files:
        await read_everything(files)
        error = await refused("DISK_FULL", files.write_file("b.txt", "b"))
        assert "Free some space, then open it again" in (error.suggested_action or "")
    (disk / "filler").unlink()
    async with filetools.open(disk, settings=QUIET) as files:
        await files.write_file("b.txt", "b")


async def test_on_a_full_disk_files_are_deleted_and_moved_and_nothing_is_lost(disk: Path) -> None:
    (disk / "a.txt").write_text("A\n")
    async with filetools.open(disk, settings=QUIET) as files:
        for name in ("known", "moved"):
            await files.write_file(name, name)
        await files.write_file("large", LARGE)
        (disk / "foreign").write_bytes(LARGE[::-1])
        fill(disk)
        await read_everything(files)
        assert (await files.delete_file("foreign")).warnings[0]["code"] == "DISK_FULL"
        await files.delete_file("known")
        await files.move_file("moved", "there")
        assert not [name for name in ("foreign", "known", "moved") if (disk / name).exists()]
    async with filetools.open(disk, settings={**QUIET, "sync_after_seconds": 0.05}) as files:  # still full
        await read_everything(files)
        await files.delete_file("large")
        with suppress(filetools.FileToolsError):
            await files.write_file("b.txt", LARGE)
        (disk / "filler").unlink()
        kept = inside.parts(files).journal.contents
        await steps_until(lambda: kept.has(version(LARGE[::-1])))
        for content in (b"known", LARGE, LARGE[::-1]):
            assert kept.get(version(content)) == content
    shutil.rmtree(disk / ".filetools/state/blobs")
    (disk / ".filetools/state/blobs").mkdir()
    async with filetools.open(disk, settings=QUIET):
        assert (disk / ".filetools/state/reserve").stat().st_size == RESERVE_BYTES


def listing(folder: Path) -> list[tuple[str, int]]:
    return sorted((place.as_posix(), place.lstat().st_mtime_ns) for place in (folder, *folder.rglob("*")))


@pytest.fixture
def own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    (place / "a.txt").write_text("A\n")
    return place


async def test_a_root_that_shall_get_no_state_is_read_and_left_as_it_was(root: Path, own_temporary: Path) -> None:
    before = listing(root)
    async with filetools.open(root, settings=QUIET, create=False) as files:
        await read_everything(files)
        for call in (files.write_file("b.txt", "b"), files.delete_file("a.txt"), files.checkpoint("now")):
            error = await refused("PERMISSION_DENIED", call)
            assert "filetools init" in (error.suggested_action or "")
        assert "no state yet" in (await files.status())["read_only"]
    assert (listing(root), [*own_temporary.iterdir()]) == (before, [])


async def test_a_state_elsewhere_is_not_made_either(root: Path, own_temporary: Path, tmp_path: Path) -> None:
    before = listing(root)
    async with filetools.open(root, state_dir=tmp_path / "state", settings=QUIET, create=False) as files:
        await read_everything(files)
    assert (listing(root), (tmp_path / "state").exists()) == (before, False)
    async with filetools.open(root, state_dir=tmp_path / "state", settings=QUIET) as files:
        await files.write_file("b.txt", "b")
    async with filetools.open(root, state_dir=tmp_path / "state", settings=QUIET, create=False) as files:
        assert [record.path for record in await files.latest_changes(5)] == ["b.txt"]
    await refused("STATE_ELSEWHERE", filetools.open(root, create=False).__aenter__())


async def test_settings_that_were_written_before_any_state_count_for_who_makes_none(
    root: Path, own_temporary: Path
) -> None:
    (root / ".filetools").mkdir()
    (root / ".filetools" / "settings.toml").write_text("max_read_bytes = 1\n")
    before = listing(root)
    async with filetools.open(root, create=False) as files:
        await refused("FILE_TOO_LARGE", files.read_file("a.txt"))
    assert listing(root) == before


async def test_what_stands_in_the_place_of_the_state_is_not_gone_round(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / ".filetools").symlink_to(tmp_path / "elsewhere")
    await refused("STATE_DAMAGED", filetools.open(root, create=False).__aenter__())


async def test_only_a_state_that_never_began_gives_way_to_one_elsewhere(root: Path, tmp_path: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await files.write_file("b.txt", "b")
    elsewhere = filetools.open(root, state_dir=tmp_path / "state", settings=QUIET)
    await refused("STATE_ELSEWHERE", elsewhere.__aenter__())
    # As an opening leaves it where the file system lacks what the journal needs.
    os.truncate(root / ".filetools/state/position", 0)
    async with filetools.open(root, state_dir=tmp_path / "state", settings=QUIET) as files:
        await files.write_file("c.txt", "c")


@pytest.mark.parametrize(
    "content", [b"", b"short", b"two words of some length", b"\xff" * 20, b"with\x07control-characters"]
)
def test_what_is_no_token_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(InvalidArgumentError, match="'secret'"):
        read_token(file)


def test_a_missing_file_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError):
        read_token(tmp_path / "secret")
    assert list(tmp_path.iterdir()) == []


def test_a_token_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(AccessDeniedError):
        own_token(tmp_path / "missing")


def test_a_token_is_made_once_for_all_and_for_its_owner(tmp_path: Path) -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(own_token(tmp_path))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found[0]) >= 40
    assert [each.name for each in tmp_path.iterdir()] == [TOKEN_FILE]
    assert stat.S_IMODE((tmp_path / TOKEN_FILE).stat().st_mode) == 0o600
