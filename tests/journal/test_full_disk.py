"""A full disk or one that cannot be written: said so, nothing acknowledged, and usable again when there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from filetools.errors import AccessDeniedError, DiskFullError, FileToolsError
from filetools.journal import SqliteJournal
from tests.support.journals import ALICE, draft, put
from tests.support.journals import version as v
from tests.support.unprivileged import as_nobody

LARGE = os.urandom(200_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, leave: int = 0) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    if leave:
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - leave)


def make_room(disk: Path) -> None:
    (disk / "filler").unlink()


def put_until_full(journal: SqliteJournal, content: bytes) -> int:
    """Use up what room the write-ahead file may have left; returns the number of the last record."""
    for index in range(100):
        try:
            put(journal, f"f{index}", content + b"%d" % index, noted=False)
        except DiskFullError:
            return journal.position()
    raise AssertionError


@pytest.mark.parametrize("size", [100, 50_000, 200_000])
def test_a_full_disk_acknowledges_nothing_and_leaves_nothing(small_disk: Path, size: int) -> None:
    journal = SqliteJournal(small_disk)
    put(journal, "a", b"1")
    fill(small_disk)
    content = os.urandom(size)
    newest = put_until_full(journal, content)
    with pytest.raises(DiskFullError):
        put(journal, "more", os.urandom(size + 5000), noted=False)
    assert journal.position() == newest
    assert journal.view("more").head is None
    assert not list((small_disk / "blobs").glob("new-*"))
    make_room(small_disk)
    assert put(journal, "more", content).number == newest + 1
    assert journal.contents.get(v(content)) == content
    journal.close()


def test_everybody_in_a_group_is_told(small_disk: Path) -> None:
    journal = SqliteJournal(small_disk)
    put(journal, "a", b"1")
    fill(small_disk)
    drafts = [draft(journal, f"f{index}", os.urandom(60_000)) for index in range(6)]
    with ThreadPoolExecutor(6) as pool:
        errors = [future.exception() for future in [pool.submit(journal.commit, [one], ALICE) for one in drafts]]
    assert {type(error) for error in errors} == {DiskFullError}
    assert journal.position() == 1
    journal.close()


def test_a_journal_cannot_be_made_on_a_full_disk_but_later(small_disk: Path) -> None:
    fill(small_disk)
    with pytest.raises(DiskFullError):
        SqliteJournal(small_disk)
    make_room(small_disk)
    journal = SqliteJournal(small_disk)
    assert put(journal, "a", b"1").number == 1
    journal.close()


@pytest.mark.parametrize("leave", [4096, 8192, 20_480, 36_864, 65_536, 110_592])
def test_a_disk_that_fills_while_a_journal_is_made_leaves_it_to_be_made_later(small_disk: Path, leave: int) -> None:
    fill(small_disk, leave)
    try:
        journal = SqliteJournal(small_disk)
    except DiskFullError:
        pass
    else:
        journal.close()
    make_room(small_disk)
    journal = SqliteJournal(small_disk)
    assert put(journal, "a", b"1").number == 1
    journal.close()


def test_an_existing_journal_opens_with_an_error_of_its_kind(small_disk: Path) -> None:
    journal = SqliteJournal(small_disk)
    put(journal, "a", b"1")
    journal.close()
    fill(small_disk)
    with pytest.raises(DiskFullError):
        SqliteJournal(small_disk)
    make_room(small_disk)
    journal = SqliteJournal(small_disk)
    assert journal.position() == 1
    journal.close()


def test_a_checkpoint_without_room_loses_nothing(small_disk: Path) -> None:
    journal = SqliteJournal(small_disk)
    for index in range(8):
        put(journal, f"f{index}", os.urandom(20_000))
    fill(small_disk)
    with pytest.raises(DiskFullError):
        journal._database.checkpoint(at_least_bytes=0)
    assert journal.position() == 8
    make_room(small_disk)
    assert journal._database.checkpoint(at_least_bytes=0)
    assert put(journal, "a", b"1").number == 9
    journal.close()


def test_a_read_only_disk_is_said_to_be_one(small_disk: Path) -> None:
    SqliteJournal(small_disk).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(AccessDeniedError):
        SqliteJournal(small_disk)


def test_a_folder_without_rights_is_said_to_be_one(state: Path) -> None:
    SqliteJournal(state).close()
    state.chmod(0o500)

    def act() -> None:
        try:
            SqliteJournal(state)
        except FileToolsError as exc:
            assert isinstance(exc, AccessDeniedError)  # noqa: PT017  # pytest's own context is not at home in the child
        else:
            raise AssertionError

    as_nobody(state, act)
