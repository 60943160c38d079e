"""Contents of the embedded journal: damage is detected, and repaired when the same bytes are kept again."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from filetools.errors import DiskFullError, StateDamagedError, StorageFailedError, VersionGoneError
from filetools.journal.journal import Journal
from filetools.journal.storage.contents import LARGEST_ROW_BYTES, digest_of
from tests.support.inside import database_of
from tests.support.journals import damage, put
from tests.support.journals import version as v

LARGE = os.urandom(LARGEST_ROW_BYTES + 1)
LARGE_NAME = v(LARGE).removeprefix("sha256:")


def spoil_row(state: Path, content: bytes) -> None:
    with sqlite3.connect(state / "journal.db", timeout=5) as database:
        spoilt = content[:-1] + bytes([content[-1] ^ 1])
        database.execute("UPDATE contents SET bytes = ? WHERE bytes = ?", (spoilt, content))
    database.close()


def test_a_flipped_bit_in_a_row_is_detected_and_repaired(state: Path, journal: Journal) -> None:
    put(journal, "a", b"precious")
    spoil_row(state, b"precious")
    with pytest.raises(VersionGoneError):
        journal.contents.get(v(b"precious"))
    put(journal, "b", b"precious")
    assert journal.contents.get(v(b"precious")) == b"precious"


@pytest.mark.parametrize("offset", [0, 77, -1])
def test_a_flipped_bit_in_a_file_is_detected_and_repaired(state: Path, journal: Journal, offset: int) -> None:
    put(journal, "a", LARGE)
    damage(state / "blobs" / LARGE_NAME, offset)
    with pytest.raises(VersionGoneError):
        journal.contents.get(v(LARGE))
    put(journal, "b", LARGE)
    assert journal.contents.get(v(LARGE)) == LARGE


def test_a_file_cut_short_or_missing_is_not_had(state: Path, journal: Journal) -> None:
    put(journal, "a", LARGE)
    place = state / "blobs" / LARGE_NAME
    os.truncate(place, 10)
    assert not journal.contents.has(v(LARGE))
    place.unlink()
    assert not journal.contents.has(v(LARGE))
    with pytest.raises(VersionGoneError):
        journal.contents.get(v(LARGE))


@pytest.mark.parametrize("kind", ["fifo", "link", "directory"])
def test_something_else_in_the_place_of_a_file_is_not_read(state: Path, journal: Journal, kind: str) -> None:
    put(journal, "a", LARGE)
    place = state / "blobs" / LARGE_NAME
    place.rename(state / "real")
    {"fifo": os.mkfifo, "link": lambda name: name.symlink_to(state / "real"), "directory": Path.mkdir}[kind](place)
    with pytest.raises(VersionGoneError):
        journal.contents.get(v(LARGE))


def test_a_file_that_retention_takes_before_the_commit_is_written_again(state: Path, journal: Journal) -> None:
    journal.contents.put_all({v(LARGE): LARGE})
    (state / "blobs" / LARGE_NAME).unlink()
    journal._database.write(
        lambda connection: journal.contents.record(connection, 1, before=None, after=v(LARGE), content=LARGE)
    )
    assert journal.contents.get(v(LARGE)) == LARGE


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_in_the_place_of_a_folder_is_damage(state: Path, tmp_path: Path, kind: str) -> None:
    if kind == "file":
        (state / "blobs").write_text("x")
    else:
        (tmp_path / "elsewhere").mkdir()
        (state / "blobs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateDamagedError):
        Journal(state)


def test_a_vanished_folder_fails_the_commit(state: Path, journal: Journal) -> None:
    (state / "blobs").rmdir()
    with pytest.raises(StateDamagedError):
        put(journal, "a", LARGE)
    assert journal.positions().newest == 0


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[str | OSError]:
    """The names of synced files; an error put there is raised by the next sync of a file."""
    told: list[str | OSError] = []

    def sync(descriptor: int) -> None:
        outcome = told[-1] if told else None
        if isinstance(outcome, OSError) and stat.S_ISREG(os.fstat(descriptor).st_mode):
            told.clear()
            raise outcome
        told.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))

    monkeypatch.setattr(os, "fsync", sync)
    return told


@pytest.mark.parametrize("is_macos", [False, True])
def test_a_large_content_and_its_name_are_synced_before_the_commit_that_names_it(
    state: Path, syncs: list[str | OSError], monkeypatch: pytest.MonkeyPatch, is_macos: bool
) -> None:
    if is_macos:  # where `fsync` leaves bytes in the drive's own cache
        monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
        monkeypatch.setattr(fcntl, "fcntl", lambda descriptor, _, sync=os.fsync: sync(descriptor))
        monkeypatch.setattr(os, "fsync", pytest.fail)
    with closing(Journal(state)) as journal:
        syncs.clear()
        database_of(journal).connection.set_trace_callback(syncs.append)
        put(journal, "a", LARGE, noted=False)
    first = [each for each in syncs if each in ("blobs", "COMMIT") or str(each).startswith(".filetools-")][:3]
    assert [str(each)[:5] for each in first] == [".file", "blobs", "COMMI"]


def test_a_large_text_that_was_only_read_is_synced_once_a_commit_needs_it(
    state: Path, syncs: list[str | OSError]
) -> None:
    with closing(Journal(state)) as journal:
        journal.contents.keep_read({v(LARGE): LARGE})
        assert not [each for each in syncs if str(each).startswith(".filetools-")]
        put(journal, "a", LARGE)
        assert LARGE_NAME in syncs


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_large_text_that_was_only_read_is_synced_once_it_is_kept(
    state: Path, syncs: list[str | OSError], is_inside: bool
) -> None:
    with closing(Journal(state)) as journal:
        journal.contents.keep_read({v(LARGE): LARGE})
        if is_inside:
            database_of(journal).write(lambda _: journal.contents.keep_inside(digest_of(v(LARGE)), LARGE))
        else:
            journal.contents.keep(LARGE, v(LARGE))
        assert LARGE_NAME in syncs


def test_bytes_whose_sync_failed_are_not_relied_on_but_written_again(state: Path, syncs: list[str | OSError]) -> None:
    with closing(Journal(state)) as journal:
        put(journal, "a", LARGE)
        before = (state / "blobs" / LARGE_NAME).stat().st_ino
        syncs.append(OSError(errno.EIO, "the kernel may have dropped them"))
        put(journal, "b", LARGE)
        assert (state / "blobs" / LARGE_NAME).stat().st_ino != before
        assert journal.contents.get(v(LARGE)) == LARGE


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EIO, StorageFailedError), (errno.ENOSPC, DiskFullError), (errno.EDQUOT, DiskFullError)]
)
def test_after_a_failed_sync_nothing_is_recorded_and_nothing_left(
    state: Path, syncs: list[str | OSError], number: int, kind: type[Exception]
) -> None:
    with closing(Journal(state)) as journal:
        syncs.append(OSError(number, os.strerror(number)))
        with pytest.raises(kind):
            put(journal, "a", LARGE)
        assert (journal.positions().newest, os.listdir(state / "blobs")) == (0, [])
        assert not journal.contents.has(v(LARGE))
        put(journal, "a", LARGE)
        assert journal.contents.get(v(LARGE)) == LARGE


def test_mirrors_get_no_bytes_of_a_row_that_is_damaged(state: Path, journal: Journal) -> None:
    number = put(journal, "a", b"precious").number
    assert journal.backlog.since(number - 1)[1]
    spoil_row(state, b"precious")
    assert not journal.backlog.since(number - 1)[1]
