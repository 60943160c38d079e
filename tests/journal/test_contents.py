"""Contents of the embedded journal: damage is noticed, and healed where the bytes come by again."""

from __future__ import annotations

import os
import sqlite3
import zlib
from functools import partial
from pathlib import Path

import pytest

from filetools.errors import StateDamagedError, VersionGoneError
from filetools.journal.contents import inflated
from filetools.journal.segments import LARGEST_ENTRY_BYTES
from filetools.journal.sqlite import SqliteJournal
from tests.support.journals import damage, put
from tests.support.journals import version as v

LARGE = os.urandom(LARGEST_ENTRY_BYTES + 1)
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


@pytest.mark.parametrize("name", ["blobs", "segments"])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_in_the_place_of_a_folder_is_damage(state: Path, tmp_path: Path, name: str, kind: str) -> None:
    if kind == "file":
        (state / name).write_text("x")
    else:
        (tmp_path / "elsewhere").mkdir()
        (state / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateDamagedError):
        SqliteJournal(state)


def test_a_vanished_folder_fails_the_commit(state: Path, relaxed: SqliteJournal) -> None:
    (state / "blobs").rmdir()
    with pytest.raises(StateDamagedError):
        put(relaxed, "a", LARGE)
    assert relaxed.position() == 0


def set_bytes(row: bytes, connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE contents SET bytes = ?", (row,))


@pytest.mark.parametrize("offset", [0, 1, 20, -1])
def test_damage_of_what_is_deflated_is_noticed_and_healed(state: Path, relaxed: SqliteJournal, offset: int) -> None:
    content = b"".join(b"%d\n" % number for number in range(1000))
    relaxed.contents.keep_all({v(content): content})
    (row,) = relaxed._database.row("SELECT bytes FROM contents")
    at = offset % len(row)
    damaged = row[:at] + bytes([row[at] ^ 1]) + row[at + 1 :]
    for broken in (damaged, row[: at + 1], row[:at] + bytes(len(row) - at)):
        relaxed._database.write(partial(set_bytes, broken))
        if broken != row:
            with pytest.raises(VersionGoneError):
                relaxed.contents.get(v(content))
    relaxed.contents.keep_all({v(content): content})
    assert relaxed.contents.get(v(content)) == content


def test_a_row_that_says_it_is_huge_is_not_inflated(relaxed: SqliteJournal) -> None:
    bomb = zlib.compress(bytes(50_000_000))
    insert = "INSERT INTO contents (hash, size, used, bytes) VALUES (?, ?, 0, ?)"
    relaxed._database.write(
        lambda connection: connection.executemany(insert, [(bytes(32), 2**62, bomb), (b"1" * 32, 60_000, bomb)])
    )
    assert (inflated(bomb, 2**62), len(inflated(bomb, 60_000))) == (bomb, 60_000)
    for digest in (bytes(32), b"1" * 32):
        with pytest.raises(VersionGoneError):
            relaxed.contents.get(f"sha256:{digest.hex()}")
