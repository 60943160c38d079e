"""What the journal forgets, oldest first, and what it never does."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from pathlib import Path

import pytest

from filetools.errors import VersionGoneError
from filetools.journal import retention
from filetools.journal.birth import PAGE_BYTES
from filetools.journal.blobs import YOUNG_SECONDS
from filetools.journal.checkpoints import SnapshotRow
from filetools.journal.contents import digest_of
from filetools.journal.database import IDLE_BYTES
from filetools.journal.gate import Gate
from filetools.journal.retention import (
    LIVE_SECONDS,
    MOST_FREE_PAGES,
    SLICE,
    Retained,
    Retention,
    RetentionLimits,
    count_records,
    sum_contents,
)
from filetools.journal.schema import MIGRATIONS, SCHEMA_VERSION
from filetools.journal.seen_versions import SeenVersion
from filetools.journal.segments import LARGEST_ENTRY_BYTES
from filetools.journal.sqlite import SqliteJournal
from tests.support.journals import ALICE, draft, move_folder, put
from tests.support.journals import version as v

MUCH = 10**9


def written(journal: SqliteJournal, *contents: bytes, key: str = "a") -> list[int]:
    numbers = [put(journal, key, content).number for content in contents]
    journal.marks.synced(numbers)
    return numbers


def keep(journal: SqliteJournal, *, contents: int = MUCH, records: int = MUCH, seconds: float | None = None) -> int:
    return journal.maintain(retention_bytes=contents, retention_records=records, retention_seconds=seconds)


def left(journal: SqliteJournal) -> list[int]:
    return sorted(record.number for record in journal.records(newest_first=True, limit=10_000))


def kept(journal: SqliteJournal, contents: list[bytes]) -> list[bool]:
    return [journal.contents.has(v(content)) for content in contents]


def test_within_the_limits_nothing_goes(relaxed: SqliteJournal) -> None:
    contents = [os.urandom(100) for _ in range(20)]
    written(relaxed, *contents)
    assert keep(relaxed, contents=2000, records=20) == 0
    assert (left(relaxed), kept(relaxed, contents)) == (list(range(1, 21)), [True] * 20)
    assert relaxed.forgotten() == 0


def test_the_oldest_records_go_first(relaxed: SqliteJournal) -> None:
    written(relaxed, *(b"%d" % index for index in range(10)))
    assert keep(relaxed, records=4) == 6
    assert left(relaxed) == [7, 8, 9, 10]
    assert relaxed.forgotten() == 6
    assert keep(relaxed, records=4) == 0
    assert relaxed.marks.kept(range(1, 11)) == {7, 8, 9, 10}


def test_records_of_heads_stay(relaxed: SqliteJournal) -> None:
    for index in range(3):
        written(relaxed, b"1", b"2", key=f"f{index}")
    written(relaxed, b"1", key="gone")
    relaxed.marks.synced([put(relaxed, "gone", None).number])
    assert keep(relaxed, records=0) == 4
    assert left(relaxed) == [2, 4, 6, 8]
    assert sorted(relaxed.heads_below("")) == [(f"f{index}", v(b"2")) for index in range(3)]


def test_records_of_heads_that_moved_with_their_folder_stay(relaxed: SqliteJournal) -> None:
    written(relaxed, b"1", b"2", key="d/a")
    (moved,) = relaxed.commit([move_folder(relaxed, "d", "t")], ALICE)
    relaxed.marks.applied([moved.number])
    relaxed.marks.flush()
    relaxed.marks.synced([moved.number])
    keep(relaxed, contents=0, records=0)
    assert left(relaxed) == [2]
    assert relaxed.contents.get(v(b"2")) == b"2"


def test_unapplied_and_unsynced_records_stay_with_what_they_replaced(relaxed: SqliteJournal) -> None:
    written(relaxed, b"0")
    put(relaxed, "a", b"unsynced")
    put(relaxed, "a", b"pending", noted=False)
    written(relaxed, b"1", b"2", key="b")
    assert keep(relaxed, contents=0, records=0) == 2
    assert left(relaxed) == [2, 3, 5]
    assert kept(relaxed, [b"0", b"unsynced", b"pending", b"1", b"2"]) == [True] * 5
    relaxed.marks.applied([3])
    relaxed.marks.flush()
    relaxed.marks.synced([2, 3])
    relaxed._retention._fell_short.clear()
    keep(relaxed, contents=0, records=0)
    assert kept(relaxed, [b"0", b"unsynced", b"pending", b"1", b"2"]) == [False, False, True, False, True]


def test_contents_that_a_backlog_needs_stay(relaxed: SqliteJournal) -> None:
    relaxed.marks.synced([put(relaxed, "a", b"owed", mirrors=["m"]).number])
    written(relaxed, b"1", b"2", key="b")
    keep(relaxed, contents=0, records=0)
    entry = relaxed.backlog.of("m")[0]
    head = relaxed.view(entry.key).head
    assert head is not None
    assert relaxed.contents.get(str(head.version)) == b"owed"


def test_texts_that_actors_know_stay_while_what_they_saw_lives(relaxed: SqliteJournal) -> None:
    written(relaxed, b"known", b"forgotten", b"unknown", b"head")
    now = relaxed.records()[0].time
    seen = {b"known": now, b"forgotten": now - 2 * LIVE_SECONDS}
    relaxed.seen_versions.save(
        ("alice", content.decode(), SeenVersion(version=v(content), base=v(content), is_whole=True, time=when))
        for content, when in seen.items()
    )
    keep(relaxed, contents=0)
    assert kept(relaxed, [b"known", b"forgotten", b"unknown", b"head"]) == [True, False, False, True]


def test_the_oldest_contents_go_first_until_the_rest_fits(relaxed: SqliteJournal) -> None:
    contents = [os.urandom(1000) for _ in range(10)]
    written(relaxed, *contents)
    keep(relaxed, contents=4000)
    # A hundredth below the limit, so that not every round has something to remove.
    assert kept(relaxed, contents) == [False] * 7 + [True] * 3


def test_contents_used_again_are_young(relaxed: SqliteJournal) -> None:
    contents = [os.urandom(1000) for _ in range(4)]
    written(relaxed, *contents, contents[0], b"head")
    keep(relaxed, contents=2100)
    assert kept(relaxed, contents) == [True, False, False, True]


def test_bytes_without_a_record_are_the_oldest(relaxed: SqliteJournal) -> None:
    written(relaxed, b"x" * 1000, b"y" * 1000)
    relaxed.contents.keep(b"z" * 1000, v(b"z" * 1000))
    keep(relaxed, contents=2100)
    assert kept(relaxed, [b"x" * 1000, b"y" * 1000, b"z" * 1000]) == [True, True, False]


def test_large_contents_go_with_their_files(state: Path, relaxed: SqliteJournal) -> None:
    contents = [os.urandom(LARGEST_ENTRY_BYTES + 1) for _ in range(4)]
    written(relaxed, *contents)
    keep(relaxed, contents=2 * LARGEST_ENTRY_BYTES + 100_000)
    assert kept(relaxed, contents) == [False, False, True, True]
    assert {place.name for place in (state / "blobs").iterdir()} == {
        v(content).removeprefix("sha256:") for content in contents[2:]
    }
    written(relaxed, contents[0])
    assert relaxed.contents.get(v(contents[0])) == contents[0]


def test_many_go_in_slices(relaxed: SqliteJournal) -> None:
    count = 2 * SLICE + 50
    records = relaxed.commit([draft(relaxed, f"f{index}", b"%d" % index) for index in range(count)], ALICE)
    records += relaxed.commit([draft(relaxed, f"f{index}", None) for index in range(count)], ALICE)
    numbers = [record.number for record in records]
    relaxed.marks.applied(numbers)
    relaxed.marks.flush()
    relaxed.marks.synced(numbers)
    assert keep(relaxed, contents=0, records=0) == count
    assert left(relaxed) == numbers[count:]
    assert relaxed._database.row("SELECT count(*) FROM contents") == (0,)


def test_age_counts_only_if_asked(relaxed: SqliteJournal) -> None:
    numbers = written(relaxed, b"1", b"2", b"3")
    (third,) = relaxed.records(since=numbers[1])
    now = [third.time + 50]
    retention = Retention(relaxed._database, relaxed._retention._blobs, clock=lambda: now[0])
    assert retention.collect(RetentionLimits(bytes=MUCH, records=MUCH)) == 0
    assert retention.collect(RetentionLimits(bytes=MUCH, records=MUCH, seconds=100)) == 0
    now[0] += 100
    assert retention.collect(RetentionLimits(bytes=MUCH, records=MUCH, seconds=100)) == 2
    assert left(relaxed) == [3]


def test_what_was_forgotten_only_grows(relaxed: SqliteJournal) -> None:
    written(relaxed, b"1", key="old")
    written(relaxed, b"1", b"2", b"3", key="b")
    keep(relaxed, records=2)
    assert (left(relaxed), relaxed.forgotten()) == ([1, 4], 3)
    written(relaxed, b"2", key="old")
    keep(relaxed, records=2)
    assert (left(relaxed), relaxed.forgotten()) == ([4, 5], 3)


def test_what_must_stay_is_not_looked_through_on_every_round(relaxed: SqliteJournal) -> None:
    for index in range(50):
        written(relaxed, b"%d" % index, key=f"f{index}")
    looks: list[str] = []
    with relaxed._database.reading() as connection:
        connection.set_trace_callback(
            lambda query: looks.append(query) if "EXISTS (SELECT 1 FROM heads" in query else None
        )
    for _ in range(3):
        keep(relaxed, contents=0, records=0)
    assert len(looks) == 2  # once for records, once for contents


def totals(journal: SqliteJournal) -> tuple[int, int]:
    with journal._database.reading() as connection:
        return count_records(connection), sum_contents(connection)[0]


def test_totals_are_right_without_counting(relaxed: SqliteJournal) -> None:
    def counted() -> tuple[int, int]:
        (records,) = relaxed._database.row("SELECT count(*) FROM records")
        (contents,) = relaxed._database.row("SELECT coalesce(sum(size), 0) FROM contents")
        return records, contents

    for turn in range(4):
        written(relaxed, *(os.urandom(100 + index) for index in range(10)), key=f"f{turn % 2}")
        relaxed.contents.keep(b"kept %d" % turn, v(b"kept %d" % turn))
        assert totals(relaxed) == counted()
        keep(relaxed, contents=700, records=7)
        assert totals(relaxed) == counted()


def test_orphaned_files_go_once_they_are_old(state: Path, relaxed: SqliteJournal) -> None:
    content, orphan, young = (os.urandom(LARGEST_ENTRY_BYTES + 1) for _ in range(3))
    written(relaxed, content)
    for each in (orphan, young):
        relaxed.contents.put(each, v(each))
    (state / "blobs/new-1-dead").write_bytes(b"half")
    for place in (state / "blobs").iterdir():
        if place.name != v(young).removeprefix("sha256:"):
            os.utime(place, (0, 0))
    keep(relaxed)
    names = {place.name for place in (state / "blobs").iterdir()}
    assert names == {v(each).removeprefix("sha256:") for each in (content, young)}
    assert YOUNG_SECONDS >= 600


def test_of_texts_that_were_only_read_the_oldest_go_even_where_actors_know_them(
    relaxed: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST_READ_BYTES", 2500)
    texts = [os.urandom(1000) for _ in range(4)]
    now = time.time()
    for text in texts:
        relaxed.contents.keep_read({v(text): text})
        row = SeenVersion(version=v(text), base=v(text), is_whole=True, time=now)
        relaxed.seen_versions.save([("alice", v(text), row)])
    relaxed.maintain(retention_bytes=MUCH, retention_records=MUCH)
    rows = relaxed._database.rows("SELECT hash FROM contents ORDER BY rowid")
    assert [digest for (digest,) in rows] == [digest_of(v(text)) for text in texts[2:]]
    with pytest.raises(VersionGoneError):
        relaxed.contents.get(v(texts[0]))


def large(count: int) -> list[bytes]:
    return [os.urandom(40_000) for _ in range(count)]


def pages(journal: SqliteJournal) -> tuple[int, int]:
    """Return how many pages the database has, and how many of them nothing needs."""
    ((total, free),) = journal._database.rows("SELECT * FROM pragma_page_count, pragma_freelist_count")
    return total, free


def test_what_retention_removes_is_given_back_to_the_disk(relaxed: SqliteJournal, state: Path) -> None:
    contents = large(60)
    written(relaxed, *contents)
    relaxed._database.checkpoint(at_least_bytes=0)
    before = (state / "journal.db").stat().st_size
    keep(relaxed, contents=200_000)
    total, free = pages(relaxed)
    assert (free <= MOST_FREE_PAGES, (state / "journal.db").stat().st_size) == (True, total * PAGE_BYTES)
    assert (state / "journal.db").stat().st_size < before - 1_000_000
    assert relaxed.contents.get(v(contents[-1])) == contents[-1]
    assert relaxed._database.row("PRAGMA integrity_check") == ("ok",)


def test_a_journal_that_could_not_shrink_is_written_anew_once(state: Path) -> None:
    database = sqlite3.connect(state / "journal.db", isolation_level=None)
    for statements in MIGRATIONS:
        for statement in statements:
            database.execute(statement)
    database.execute("INSERT INTO meta VALUES ('epoch', 'abcdef')")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.close()
    journal = SqliteJournal(state, durability="relaxed")
    other = SqliteJournal(state, durability="relaxed")
    contents = large(60)
    written(journal, *contents)
    assert journal._database.row("PRAGMA auto_vacuum") == (0,)
    keep(journal, contents=200_000)
    (total, free), size = pages(journal), (state / "journal.db").stat().st_size
    assert (free, size) == (0, total * PAGE_BYTES)
    assert journal._database.row("PRAGMA auto_vacuum") == (2,)
    assert [journal.contents.has(v(content)) for content in contents[-2:]] == [True, True]
    assert other.contents.get(v(contents[-1])) == contents[-1]
    written(other, *large(3), key="b")
    with journal._database.reading() as connection:
        kept_bytes = connection.execute("SELECT sum(size) FROM contents").fetchone()
        assert (sum_contents(connection)[0],) == kept_bytes
    assert journal.epoch == other.epoch == "abcdef"
    journal.close()
    other.close()


def test_a_write_ahead_file_that_nobody_writes_is_cut_off(relaxed: SqliteJournal, state: Path) -> None:
    written(relaxed, *large(40))
    wal = state / "journal.db-wal"
    assert not relaxed._database.checkpoint()  # written since the last look
    assert wal.stat().st_size > IDLE_BYTES
    with relaxed._database.reading() as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM records").fetchone()
        relaxed._database.checkpoint()  # a reader stands in the way: no wait, no harm
        connection.execute("COMMIT")
    relaxed._database.checkpoint()
    relaxed._database.checkpoint()
    assert wal.stat().st_size == 0
    written(relaxed, b"more")
    assert relaxed._database.row("PRAGMA integrity_check") == ("ok",)


def test_a_checkpoint_syncs_what_was_written_before_anybody_has_to_wait(
    relaxed: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(relaxed, *large(40))
    steps: list[str] = []
    fsync, enter = os.fsync, Gate.enter

    def synced(descriptor: int) -> None:
        steps.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def entered(gate: Gate, deadline: float | None = None) -> None:
        steps.append("gate")
        enter(gate, deadline)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Gate, "enter", entered)
    assert relaxed._database.checkpoint(at_least_bytes=0)
    assert steps == ["journal.db-wal", "gate"]


def test_after_a_failed_sync_ahead_of_a_checkpoint_the_write_ahead_file_is_written_anew(
    relaxed: SqliteJournal, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(relaxed, *large(40))

    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, "lost")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        assert relaxed._database.checkpoint(at_least_bytes=0)
    assert (state / "journal.db-wal").stat().st_size > IDLE_BYTES
    written(relaxed, b"more")
    assert (state / "journal.db-wal").stat().st_size < IDLE_BYTES
    assert relaxed._database.row("PRAGMA integrity_check") == ("ok",)


def checkpoint(journal: SqliteJournal, name: str, content: bytes, *, automatic: bool = True) -> None:
    """Make a checkpoint of a file that nobody has recorded."""
    journal.contents.keep_all({v(content): content})
    tree = {name: SnapshotRow(name, "file", len(content), 0o644, v(content))}
    assert journal.checkpoints.save(name, tree, journal.position(), automatic=automatic)


def test_automatic_checkpoints_go_before_the_limits_are_exceeded_and_named_ones_stay(relaxed: SqliteJournal) -> None:
    contents = [os.urandom(1000) for _ in range(5)]
    for number, content in enumerate(contents):
        checkpoint(relaxed, str(number), content, automatic=number != 1)
    keep(relaxed, contents=4500)
    assert kept(relaxed, contents) == [False, True, True, True, True]
    keep(relaxed, contents=0)
    assert [one.name for one in relaxed.checkpoints.all()] == ["1", "4"]
    assert kept(relaxed, contents) == [False, True, False, False, True]


def test_records_that_only_automatic_checkpoints_keep_go_with_them(relaxed: SqliteJournal) -> None:
    for number in range(4):
        checkpoint(relaxed, str(number), b"%d" % number)
        written(relaxed, *(b"%d %d" % (number, index) for index in range(10)))
    assert keep(relaxed, records=25) == 15
    assert [one.name for one in relaxed.checkpoints.all()] == ["2", "3"]


def test_automatic_checkpoints_are_as_old_as_records_may_be_at_most(relaxed: SqliteJournal) -> None:
    for name in "abc":
        checkpoint(relaxed, name, name.encode(), automatic=name != "a")
    keep(relaxed, seconds=60.0)
    assert len(relaxed.checkpoints.all()) == 3
    keep(relaxed, seconds=-60.0)
    assert [one.name for one in relaxed.checkpoints.all()] == ["a", "c"]


def test_what_a_checkpoint_holds_is_told(relaxed: SqliteJournal) -> None:
    written(relaxed, *(b"%d" % index for index in range(5)))
    assert relaxed.retained() == Retained(bytes=5, records=5, checkpoint=None, held_records=0)
    relaxed.checkpoints.save("here", {}, relaxed.position())
    written(relaxed, *(b"1%d" % index for index in range(5)))
    relaxed.checkpoints.save("there", {}, relaxed.position())
    keep(relaxed, records=2)
    assert relaxed.retained() == Retained(bytes=15, records=5, checkpoint="here", held_records=5)
