"""Contents of the embedded journal: damage is noticed, and healed where the bytes come by again."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from filetools.errors import StateDamagedError, VersionGoneError
from filetools.journal.blobs import YOUNG_SECONDS, BlobFolder
from filetools.journal.contents import LARGEST_ROW_BYTES, inflated
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


def stored(journal: SqliteJournal) -> dict[str, tuple[int, int | None]]:
    """Return of each version kept the size of its content, and how many bytes its row has; None in a file."""
    rows = journal._database.rows("SELECT hash, size, length(bytes) FROM contents")
    return {f"sha256:{digest.hex()}": (size, length) for digest, size, length in rows}


@pytest.mark.parametrize("content", [b"", b"x", b"line\n" * 2000, os.urandom(5000), LARGE, b"x" * LARGEST_ROW_BYTES])
def test_what_is_kept_for_a_snapshot_is_deflated_where_that_pays(relaxed: SqliteJournal, content: bytes) -> None:
    relaxed.contents.keep_all({v(content): content})
    ((size, length),) = stored(relaxed).values()
    is_text = len(set(content)) < 10 and len(content) > 10
    assert (size, length is None) == (len(content), content is LARGE)
    assert length is None or (length < size // 20 if is_text else length == size)
    assert relaxed.contents.get(v(content)) == content
    assert (relaxed.contents.has(v(content)), relaxed.contents.missing([v(content)])) == (True, set())


def test_what_a_commit_keeps_is_not_deflated(relaxed: SqliteJournal) -> None:
    content = b"line\n" * 2000
    put(relaxed, "a", content)
    assert stored(relaxed) == {v(content): (len(content), len(content))}


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


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel counts what a process reads")
@pytest.mark.parametrize("what", ["has", "missing", "missing of many", "what retention removes"])
def test_whether_contents_are_kept_is_asked_without_reading_them(
    state: Path, relaxed: SqliteJournal, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr("filetools.journal.contents.MOST_LOOKED_UP", 10 if what == "missing of many" else 1000)
    contents = {v(content): content for content in (os.urandom(100_000) for _ in range(30))}
    for number, content in enumerate(contents.values()):
        put(relaxed, "a", content)
        relaxed.marks.synced([number + 1])
    journal = SqliteJournal(state, durability="relaxed")  # with nothing in memory
    asks: dict[str, Callable[[], bool]] = {
        "has": lambda: all(map(journal.contents.has, contents)),
        "what retention removes": lambda: len(journal._retention._removable_contents(10**9, 0.0)) == len(contents) - 1,
    }
    ask = asks.get(what, lambda: journal.contents.missing(contents) == set())
    before = bytes_read()
    assert ask()
    assert bytes_read() - before < 1_000_000 < sum(map(len, contents.values()))
    journal.close()


def bytes_read() -> int:
    """Return how many bytes this process has read from files, those in the kernel's memory included."""
    return int(Path("/proc/self/io").read_text("ascii").split()[1])


def test_contents_are_written_in_portions(relaxed: SqliteJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("filetools.journal.contents.SLICE_BYTES", 10_000)
    contents = {v(content): content for content in (os.urandom(3000) for _ in range(20))}
    written: list[int] = []
    write = relaxed._database.write

    def counted(work: Any, **options: Any) -> Any:
        def changes(connection: sqlite3.Connection) -> Any:
            before = connection.total_changes
            work(connection)
            written.append(connection.total_changes - before)

        return write(changes, **options)

    monkeypatch.setattr(relaxed._database, "write", counted)
    relaxed.contents.keep_all(contents)
    assert written == [4] * 5
    assert {version: relaxed.contents.get(version) for version in contents} == contents
