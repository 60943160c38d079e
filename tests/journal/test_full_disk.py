"""A full or unwritable disk: reported as such, nothing acknowledged, and usable again when there is space."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from filetools.errors import AccessDeniedError, DiskFullError, FileToolsError, RateLimitedError, StorageFailedError
from filetools.journal.journal import Journal
from filetools.journal.storage.database import RESERVE_BYTES, RESERVE_SLICE_BYTES
from tests.support.inside import database_of
from tests.support.journals import ALICE, delete_folder, draft, is_applied, put, rebooted
from tests.support.journals import version as v
from tests.support.mounts import fill, mounted
from tests.support.unprivileged import as_nobody

LARGE = os.urandom(200_000)


@pytest.fixture(params=["1m"])
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs") as place:
        yield place


def make_room(disk: Path) -> None:
    (disk / "filler").unlink()


def put_until_full(journal: Journal, content: bytes) -> int:
    """Use up the space left in the write-ahead file; returns the number of the last record."""
    for index in range(100):
        try:
            put(journal, f"f{index}", content + b"%d" % index, noted=False)
        except DiskFullError:
            return journal.positions().newest
    raise AssertionError


@pytest.mark.parametrize("size", [100, 50_000, 200_000])
def test_a_full_disk_acknowledges_nothing_and_leaves_nothing(small_disk: Path, size: int) -> None:
    journal = Journal(small_disk)
    put(journal, "a", b"1")
    fill(small_disk)
    content = os.urandom(size)
    newest = put_until_full(journal, content)
    with pytest.raises(DiskFullError):
        put(journal, "more", os.urandom(size + 5000), noted=False)
    assert journal.positions().newest == newest
    assert journal.view("more").head is None
    assert not list((small_disk / "blobs").glob(".filetools-*"))
    make_room(small_disk)
    assert put(journal, "more", content).number == newest + 1
    assert journal.contents.get(v(content)) == content
    journal.close()


@pytest.mark.parametrize("small_disk", ["3m"], indirect=True)
def test_a_full_disk_has_room_for_deletions_and_their_marks_and_for_nothing_else(small_disk: Path) -> None:
    journal = Journal(small_disk)
    names = [f"f{index}" for index in range(8)]
    for name in names:
        put(journal, name, name.encode())
    assert (small_disk / "reserve").stat().st_size == RESERVE_BYTES
    database_of(journal).restart_wal()
    fill(small_disk)
    for name in names:
        with pytest.raises(DiskFullError):
            put(journal, "more", os.urandom(100_000), noted=False)
        put(journal, name, None)
    assert journal.marks.unfinished("pending") == []
    assert 0 < (small_disk / "reserve").stat().st_size < RESERVE_BYTES
    journal.close()
    journal = Journal(small_disk)  # although the disk is full
    assert journal.view("f0").head is not None
    journal.close()
    make_room(small_disk)
    journal = Journal(small_disk)
    assert (small_disk / "reserve").stat().st_size == RESERVE_BYTES
    journal.close()


@pytest.mark.parametrize("small_disk", ["3m"], indirect=True)
def test_the_reserve_is_not_used_for_content_files(small_disk: Path) -> None:
    with closing(Journal(small_disk)) as journal:
        put(journal, "a", b"1")
        fill(small_disk)
        found = draft(journal, "a", LARGE, external=True, applied=True)
        with pytest.raises(DiskFullError):
            journal.commit([found, draft(journal, "a", None, before=found.after)], ALICE)
        assert (small_disk / "reserve").stat().st_size == RESERVE_BYTES
        assert os.listdir(small_disk / "blobs") == []
        put(journal, "a", None)


@pytest.mark.parametrize("small_disk", ["3m"], indirect=True)
def test_a_content_file_without_space_for_its_row_is_removed_again(small_disk: Path) -> None:
    with closing(Journal(small_disk)) as journal:
        put(journal, "a", LARGE)
        before = os.listdir(small_disk / "blobs")
        database_of(journal).restart_wal()
        fill(small_disk, 204_800)
        with pytest.raises(DiskFullError):
            put(journal, "b", LARGE[::-1], noted=False)
        assert (os.listdir(small_disk / "blobs"), journal.positions().newest) == (before, 1)
        make_room(small_disk)
        put(journal, "b", LARGE[::-1])
        assert journal.contents.get(v(LARGE[::-1])) == LARGE[::-1]


@pytest.mark.parametrize("leave", [4096, 8192, 20_480, 36_864, 65_536, 110_592])
def test_a_disk_that_fills_while_a_journal_is_made_leaves_it_to_be_made_later(small_disk: Path, leave: int) -> None:
    fill(small_disk, leave)
    try:
        journal = Journal(small_disk)
    except DiskFullError:
        pass
    else:
        journal.close()
    make_room(small_disk)
    journal = Journal(small_disk)
    assert put(journal, "a", b"1").number == 1
    journal.close()


def test_without_room_for_the_memory_that_processes_share_nothing_is_opened(small_disk: Path) -> None:
    Journal(small_disk).close()
    (small_disk / "reserve").unlink(missing_ok=True)
    fill(small_disk, 8192)
    with pytest.raises(DiskFullError):
        Journal(small_disk)
    make_room(small_disk)
    Journal(small_disk).close()


@pytest.mark.parametrize("small_disk", ["2m"], indirect=True)
def test_a_checkpoint_without_room_loses_nothing(small_disk: Path) -> None:
    journal = Journal(small_disk)
    for index in range(8):
        put(journal, f"f{index}", os.urandom(20_000))
    fill(small_disk)
    with pytest.raises(DiskFullError):
        journal._database.checkpoint(at_least_bytes=0)
    assert journal.positions().newest == 8
    make_room(small_disk)
    journal._database.checkpoint(at_least_bytes=0)
    assert put(journal, "a", b"1").number == 9
    journal.close()


@pytest.mark.parametrize("small_disk", ["8m"], indirect=True)
def test_after_a_power_cut_a_full_disk_has_room_to_restore_any_number_of_changes(small_disk: Path) -> None:
    with closing(Journal(small_disk)) as journal:
        changes = [draft(journal, f"d{index * 7 % 100}/f{index}", b"%d" % index, applied=True) for index in range(4000)]
        newest = journal.commit(changes, ALICE)[-1]
    rebooted(small_disk)
    fill(small_disk)
    with closing(Journal(small_disk)) as journal:
        unrestored = [record.number for record in journal.marks.unfinished("unrestored", 5000)]
        assert (len(unrestored), is_applied(journal, newest.path)) == (4000, False)
        for number in unrestored:
            journal.marks.restored(number)
        assert (journal.marks.unfinished("unrestored"), is_applied(journal, newest.path)) == ([], True)
        assert len(journal.marks.unfinished("unsynced", 5000)) == 4000


@pytest.mark.parametrize("small_disk", ["8m"], indirect=True)
def test_a_folder_that_is_too_large_to_delete_leaves_a_slice_of_the_reserve_for_the_next_opening(
    small_disk: Path,
) -> None:
    with closing(Journal(small_disk)) as journal:
        journal.commit([draft(journal, f"d/f{index}", b"%d" % index, applied=True) for index in range(4000)], ALICE)
        database_of(journal).restart_wal()
        fill(small_disk)
        with pytest.raises(DiskFullError):
            journal.commit([delete_folder("d")], ALICE)
        assert (small_disk / "reserve").stat().st_size == RESERVE_SLICE_BYTES
        put(journal, "d/f1", None)


def test_a_read_only_disk_is_reported_as_such(small_disk: Path) -> None:
    Journal(small_disk).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(AccessDeniedError):
        Journal(small_disk)


def test_a_folder_without_rights_is_reported_as_such(state: Path) -> None:
    Journal(state).close()
    state.chmod(0o500)

    def act() -> None:
        try:
            Journal(state)
        except FileToolsError as exc:
            assert isinstance(exc, AccessDeniedError)  # noqa: PT017  # pytest's own context is not at home in the child
        else:
            raise AssertionError

    as_nobody(state, act)


def test_a_state_directory_whose_names_cannot_be_synced_acknowledges_nothing(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Journal(state).close()
    fsync = os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(StorageFailedError):
        Journal(state)
    monkeypatch.undo()
    Journal(state).close()


@pytest.mark.parametrize("call", ["open", "lstat"])
@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EIO, StorageFailedError), (errno.EMFILE, RateLimitedError)], ids=["EIO", "EMFILE"]
)
def test_errors_of_the_system_are_distinguished_from_damage(
    state: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, kind: type[FileToolsError]
) -> None:
    journal = Journal(state)
    put(journal, "a", b"1")
    real = getattr(os, call)

    def failing(place: Any, *arguments: Any, **more: Any) -> Any:
        if str(place).startswith(str(state)):
            raise OSError(number, os.strerror(number))
        return real(place, *arguments, **more)

    monkeypatch.setattr(os, call, failing)
    with pytest.raises(kind):
        Journal(state)
    if call == "lstat":
        with pytest.raises(kind):
            put(journal, "b", b"2", noted=False)
    monkeypatch.undo()
    put(journal, "c", b"3")
    journal.close()
