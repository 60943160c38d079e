"""Contents of the embedded journal: damage is noticed, and healed where the bytes come by again."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from filetools.errors import StateDamagedError, VersionGoneError
from filetools.journal import SqliteJournal
from filetools.journal.blobs import YOUNG_SECONDS, BlobFolder
from filetools.journal.contents import LARGEST_ROW_BYTES
from tests.support.journals import damage, put
from tests.support.journals import version as v

LARGE = os.urandom(LARGEST_ROW_BYTES + 1)
LARGE_NAME = v(LARGE).removeprefix("sha256:")


def spoil_row(state: Path, content: bytes) -> None:
    with sqlite3.connect(state / "journal.db", timeout=5) as database:
        spoilt = content[:-1] + bytes([content[-1] ^ 1])
        database.execute("UPDATE contents SET bytes = ? WHERE bytes = ?", (spoilt, content))
    database.close()


def test_a_flipped_bit_in_a_row_is_noticed_and_healed(state: Path, relaxed: SqliteJournal) -> None:
    put(relaxed, "a", b"precious")
    spoil_row(state, b"precious")
    with pytest.raises(VersionGoneError):
        relaxed.contents.get(v(b"precious"))
    put(relaxed, "b", b"precious")
    assert relaxed.contents.get(v(b"precious")) == b"precious"


@pytest.mark.parametrize("offset", [0, 77, -1])
def test_a_flipped_bit_in_a_file_is_noticed_and_healed(state: Path, relaxed: SqliteJournal, offset: int) -> None:
    put(relaxed, "a", LARGE)
    damage(state / "blobs" / LARGE_NAME, offset)
    with pytest.raises(VersionGoneError):
        relaxed.contents.get(v(LARGE))
    put(relaxed, "b", LARGE)
    assert relaxed.contents.get(v(LARGE)) == LARGE


def test_a_file_cut_short_or_missing_is_not_had(state: Path, relaxed: SqliteJournal) -> None:
    put(relaxed, "a", LARGE)
    place = state / "blobs" / LARGE_NAME
    os.truncate(place, 10)
    assert not relaxed.contents.has(v(LARGE))
    place.unlink()
    assert not relaxed.contents.has(v(LARGE))
    with pytest.raises(VersionGoneError):
        relaxed.contents.get(v(LARGE))


@pytest.mark.parametrize("kind", ["fifo", "link", "directory"])
def test_something_else_in_the_place_of_a_file_is_not_read(state: Path, relaxed: SqliteJournal, kind: str) -> None:
    put(relaxed, "a", LARGE)
    place = state / "blobs" / LARGE_NAME
    place.rename(state / "real")
    {"fifo": os.mkfifo, "link": lambda name: name.symlink_to(state / "real"), "directory": Path.mkdir}[kind](place)
    with pytest.raises(VersionGoneError):
        relaxed.contents.get(v(LARGE))


def test_a_file_that_retention_takes_before_the_commit_is_written_again(state: Path, relaxed: SqliteJournal) -> None:
    relaxed.contents.put(LARGE, v(LARGE))
    (state / "blobs" / LARGE_NAME).unlink()
    relaxed._database.write(lambda connection: relaxed.contents.record(connection, LARGE, v(LARGE), 1))
    assert relaxed.contents.get(v(LARGE)) == LARGE


def test_keeping_bytes_does_not_make_recorded_ones_older(relaxed: SqliteJournal) -> None:
    record = put(relaxed, "a", b"1")
    relaxed.contents.keep(b"1", v(b"1"))
    assert relaxed._database.row("SELECT used FROM contents") == (record.number,)


def test_large_files_are_private_and_small_contents_make_none(state: Path, relaxed: SqliteJournal) -> None:
    put(relaxed, "a", LARGE)
    put(relaxed, "b", b"small")
    (blob,) = (state / "blobs").iterdir()
    assert (blob.name, blob.stat().st_mode & 0o777) == (LARGE_NAME, 0o600)
    assert (state / "blobs").stat().st_mode & 0o777 == 0o700
    assert (state / "journal.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_in_the_place_of_the_folder_is_damage(state: Path, tmp_path: Path, kind: str) -> None:
    if kind == "file":
        (state / "blobs").write_text("x")
    else:
        (tmp_path / "elsewhere").mkdir()
        (state / "blobs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateDamagedError):
        SqliteJournal(state)


def test_a_vanished_folder_fails_the_commit(state: Path, relaxed: SqliteJournal) -> None:
    (state / "blobs").rmdir()
    with pytest.raises(StateDamagedError):
        put(relaxed, "a", LARGE)
    assert relaxed.position() == 0


def test_unfinished_files_go_when_they_are_old(tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path / "blobs", durable=False)
    young, old = tmp_path / "blobs/new-1-aa", tmp_path / "blobs/new-2-bb"
    for place in (young, old):
        place.write_bytes(b"half")
    os.utime(old, (0, 0))
    blobs.put(LARGE_NAME, LARGE)
    os.utime(tmp_path / "blobs" / LARGE_NAME, (0, 0))
    assert blobs.sweep() == 1
    assert {place.name for place in (tmp_path / "blobs").iterdir()} == {young.name, LARGE_NAME}
    assert blobs.old_names() == [LARGE_NAME]
    assert YOUNG_SECONDS > 60
