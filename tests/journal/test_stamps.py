"""Stamps that are too old, or too many, are tidied away, and with them the texts that nothing else needs."""

from __future__ import annotations

import threading
import time

from filetools.journal import SqliteJournal, Stamp
from filetools.journal.retention import LIVE_SECONDS
from filetools.journal.stamps import MOST_STAMPS, SLICE, _remove, tidy_stamps
from tests.support.journals import put
from tests.support.journals import version as v

MUCH = 10**9
NOW = 1_000_000.0


def noted(journal: SqliteJournal, owner: str, count: int, *, since: float, prefix: str = "") -> None:
    """Give an actor stamps, one a second."""
    journal.stamps.save(
        (owner, f"{prefix}{number}", Stamp(version=v(b"x"), is_whole=True, time=since + number))
        for number in range(count)
    )


def test_stamps_that_live_stay(relaxed: SqliteJournal) -> None:
    noted(relaxed, "alice", 3, since=NOW)
    assert tidy_stamps(relaxed._database, NOW - 1) == 0
    assert list(relaxed.stamps.of("alice")) == ["0", "1", "2"]


def test_old_stamps_go_in_slices_and_young_ones_stay(relaxed: SqliteJournal) -> None:
    for owner in ("alice", "bob"):
        noted(relaxed, owner, 2 * SLICE + 1, since=NOW - 10_000, prefix="old-")
        noted(relaxed, owner, 2, since=NOW, prefix="young-")
    assert tidy_stamps(relaxed._database, NOW - 1) == 2 * (2 * SLICE + 1)
    assert [list(relaxed.stamps.of(owner)) for owner in ("alice", "bob")] == [["young-0", "young-1"]] * 2


def test_of_too_many_stamps_the_oldest_go(relaxed: SqliteJournal) -> None:
    noted(relaxed, "alice", MOST_STAMPS + SLICE + 1, since=NOW)
    noted(relaxed, "bob", 2, since=NOW)
    assert tidy_stamps(relaxed._database, 0.0) == SLICE + 1
    (rows,) = relaxed._database.row("SELECT count(*) FROM stamps WHERE owner = 'alice'")
    assert (rows, next(iter(relaxed.stamps.of("alice")))) == (MOST_STAMPS, str(SLICE + 1))
    assert len(relaxed.stamps.of("bob")) == 2


def test_writers_get_in_between_two_slices(relaxed: SqliteJournal) -> None:
    noted(relaxed, "alice", 20 * SLICE, since=NOW)
    tidying = threading.Thread(target=tidy_stamps, args=(relaxed._database, NOW + 10**6))
    tidying.start()
    numbers = [put(relaxed, "a", b"%d" % number).number for number in range(5)]
    tidying.join(10)
    assert (len(numbers), relaxed.stamps.of("alice")) == (5, {})


def test_a_stamp_that_is_noted_anew_meanwhile_stays(relaxed: SqliteJournal) -> None:
    noted(relaxed, "alice", 2, since=NOW)
    doomed = [("alice", "0", NOW), ("alice", "1", NOW + 1)]
    noted(relaxed, "alice", 1, since=NOW + 100)
    assert _remove(relaxed._database, doomed) == 1
    assert list(relaxed.stamps.of("alice")) == ["0"]


def test_the_keeper_tidies_and_texts_kept_for_old_stamps_alone_go_at_once(relaxed: SqliteJournal) -> None:
    now = time.time()
    for content, when in ((b"known", now), (b"forgotten", now - 2 * LIVE_SECONDS)):
        relaxed.contents.keep(content, v(content))
        stamp = Stamp(version=v(content), is_whole=True, time=when)
        relaxed.stamps.save([("alice", content.decode(), stamp)])
    relaxed.maintain(retention_bytes=0, retention_records=MUCH)
    assert list(relaxed.stamps.of("alice")) == ["known"]
    assert [relaxed.contents.has(v(content)) for content in (b"known", b"forgotten")] == [True, False]


def test_of_too_many_stamps_the_texts_of_those_that_went_are_free(relaxed: SqliteJournal) -> None:
    now = time.time()
    noted(relaxed, "alice", MOST_STAMPS, since=now - MOST_STAMPS)
    relaxed.contents.keep(b"surplus", v(b"surplus"))
    surplus = Stamp(version=v(b"surplus"), is_whole=True, time=now - 2 * MOST_STAMPS)
    relaxed.stamps.save([("alice", "surplus", surplus)])
    relaxed.maintain(retention_bytes=0, retention_records=MUCH)
    assert not relaxed.contents.has(v(b"surplus"))
