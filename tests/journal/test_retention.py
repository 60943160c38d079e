"""What retention removes, oldest first, and what it never removes."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from filetools.errors import DiskFullError
from filetools.journal import retention
from filetools.journal.checkpoints import SnapshotRow
from filetools.journal.journal import Journal
from filetools.journal.records import Relation
from filetools.journal.retention import LIVE_SECONDS, SWEEP_SECONDS
from filetools.journal.seen_versions import SeenVersion
from filetools.journal.storage.birth import PAGE_BYTES
from filetools.journal.storage.contents import LARGEST_ROW_BYTES, YOUNG_SECONDS
from tests.support.inside import database_of, heads_below
from tests.support.journals import ALICE, delete_folder, move_folder, put, save
from tests.support.journals import version as v

MUCH = 10**9


def written(journal: Journal, *contents: bytes, key: str = "a") -> list[int]:
    numbers = [put(journal, key, content).number for content in contents]
    journal.marks.synced(numbers)
    return numbers


def keep(journal: Journal, *, contents: int = MUCH, records: int = MUCH) -> int:
    return journal.retention.collect(retention_bytes=contents, retention_records=records)


def left(journal: Journal) -> list[int]:
    return sorted(record.number for record in journal.records(newest_first=True, limit=10_000))


def kept(journal: Journal, contents: list[bytes]) -> list[bool]:
    return [journal.contents.has(v(content)) for content in contents]


def test_within_the_limits_nothing_is_removed(journal: Journal) -> None:
    contents = [os.urandom(100) for _ in range(20)]
    written(journal, *contents)
    assert keep(journal, contents=2000, records=20) == 0
    assert (left(journal), kept(journal, contents)) == (list(range(1, 21)), [True] * 20)
    assert journal.positions().forgotten == 0


def test_the_oldest_records_go_first(journal: Journal) -> None:
    written(journal, *(b"%d" % index for index in range(10)))
    assert keep(journal, records=4) == 6
    assert left(journal) == [7, 8, 9, 10]
    assert journal.positions().forgotten == 6
    assert keep(journal, records=4) == 0


def test_what_a_record_undoes_is_forgotten_with_it(journal: Journal) -> None:
    first = put(journal, "a", b"1")
    put(journal, "a", b"0", relations=(Relation(kind="undoes", number=first.number),))
    database, count = database_of(journal), "SELECT count(*) FROM relations"
    assert (database.rows(count), journal.history.undone([1, 2])) == ([(1,)], {1})
    written(journal, b"2", b"3", key="a")
    journal.marks.synced([1, 2])
    assert keep(journal, records=0) == 3
    assert database.rows(count) == [(0,)]


def test_records_of_heads_stay(journal: Journal) -> None:
    for index in range(3):
        written(journal, b"1", b"2", key=f"f{index}")
    written(journal, b"1", key="gone")
    journal.marks.synced([put(journal, "gone", None).number])
    assert keep(journal, records=0) == 4
    assert left(journal) == [2, 4, 6, 8]
    assert sorted(heads_below(journal, "")) == [(f"f{index}", v(b"2")) for index in range(3)]


def test_a_file_removed_with_its_folder_keeps_its_id_if_it_has_a_record(journal: Journal) -> None:
    written(journal, b"1", key="d/a")
    journal.tree_index.note_opened("d/found", "d/found", v(b"2"))
    journal.commit([delete_folder("d", applied=True)], ALICE)
    keep(journal)
    assert database_of(journal).rows("SELECT key, kind FROM tree") == [("d/a", "absent")]


def test_records_of_heads_that_moved_with_their_folder_stay(journal: Journal) -> None:
    written(journal, b"1", b"2", key="d/a")
    (moved,) = journal.commit([move_folder("d", "t")], ALICE)
    journal.marks.applied([moved.number])
    journal.marks.synced([moved.number])
    keep(journal, contents=0, records=0)
    assert left(journal) == [2, 3]  # the newest one is always kept
    assert journal.contents.get(v(b"2")) == b"2"


def test_unapplied_and_unsynced_records_stay_with_what_they_replaced(journal: Journal) -> None:
    written(journal, b"0")
    put(journal, "a", b"unsynced")
    put(journal, "a", b"pending", noted=False)
    written(journal, b"1", b"2", key="b")
    assert keep(journal, contents=0, records=0) == 2
    assert left(journal) == [2, 3, 5]
    assert kept(journal, [b"0", b"unsynced", b"pending", b"1", b"2"]) == [True] * 5
    journal.marks.applied([3])
    journal.marks.synced([2, 3])
    keep(journal, contents=0, records=0)
    assert kept(journal, [b"0", b"unsynced", b"pending", b"1", b"2"]) == [False, False, True, False, True]


def test_texts_that_actors_know_stay_while_what_they_saw_lives(journal: Journal) -> None:
    written(journal, b"known", b"forgotten", b"unknown", b"head")
    now = journal.records()[0].time
    seen = {b"known": now, b"forgotten": now - 2 * LIVE_SECONDS}
    journal.seen_versions.save(
        ("alice", content.decode(), SeenVersion(version=v(content), base=v(content), is_whole=True, time=when))
        for content, when in seen.items()
    )
    keep(journal, contents=0)
    assert kept(journal, [b"known", b"forgotten", b"unknown", b"head"]) == [True, False, False, True]


def test_of_too_many_texts_that_were_only_read_the_least_recently_used_go(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, now = [os.urandom(1000) for _ in range(4)], time.time()
    journal.contents.keep_read({v(text): text for text in texts})
    journal.seen_versions.save(
        ("alice", f"f{index}", SeenVersion(version=v(text), base=v(text), time=now - index))
        for index, text in enumerate(texts)
    )
    monkeypatch.setattr(retention, "MOST_READ_BYTES", 2500)
    keep(journal)
    kept_hashes = database_of(journal).rows("SELECT hash FROM contents")
    assert {digest for (digest,) in kept_hashes} == {hashlib.sha256(text).digest() for text in texts[:2]}


def test_the_oldest_contents_go_first_until_the_rest_fits(journal: Journal) -> None:
    contents = [os.urandom(1000) for _ in range(10)]
    written(journal, *contents)
    keep(journal, contents=4000)
    # One percent below the limit, so that not every round has something to remove.
    assert kept(journal, contents) == [False] * 7 + [True] * 3


def test_orphaned_files_go_once_they_are_old(state: Path, journal: Journal) -> None:
    content, orphan, young = (os.urandom(LARGEST_ROW_BYTES + 1) for _ in range(3))
    written(journal, content)
    for each in (orphan, young):
        journal.contents.put_all({v(each): each})
    (state / "blobs/new-1-dead").write_bytes(b"half")
    for place in (state / "blobs").iterdir():
        if place.name != v(young).removeprefix("sha256:"):
            os.utime(place, (0, 0))
    keep(journal)
    names = {place.name for place in (state / "blobs").iterdir()}
    assert names == {v(each).removeprefix("sha256:") for each in (content, young)}
    assert YOUNG_SECONDS >= 600


def test_content_files_that_retention_drops_are_removed(state: Path, journal: Journal) -> None:
    contents = [os.urandom(LARGEST_ROW_BYTES + 1) for _ in range(6)]
    written(journal, *contents)
    journal.marks.synced([put(journal, "kept", contents[1]).number])
    keep(journal, contents=0)
    names = {place.name for place in (state / "blobs").iterdir()}
    assert names == {v(each).removeprefix("sha256:") for each in (contents[1], contents[-1])}
    assert [journal.contents.has(v(each)) for each in contents] == [False, True, False, False, False, True]


def large(count: int) -> list[bytes]:
    return [os.urandom(40_000) for _ in range(count)]


def pages(journal: Journal) -> tuple[int, int]:
    """Return the number of pages of the database, and of free ones."""
    ((total, free),) = journal._database.rows("SELECT * FROM pragma_page_count, pragma_freelist_count")
    return total, free


def test_space_that_retention_frees_is_returned_to_the_disk(journal: Journal, state: Path) -> None:
    contents = large(60)
    written(journal, *contents)
    journal._database.checkpoint(at_least_bytes=0)
    before = (state / "journal.db").stat().st_size
    keep(journal, contents=200_000)
    journal._database.checkpoint(at_least_bytes=0)
    total, free = pages(journal)
    assert (free, (state / "journal.db").stat().st_size) == (0, total * PAGE_BYTES)
    assert (state / "journal.db").stat().st_size < before - 1_000_000
    assert journal.contents.get(v(contents[-1])) == contents[-1]
    assert journal._database.row("PRAGMA integrity_check") == ("ok",)


def checkpoint(journal: Journal, name: str, content: bytes, *, automatic: bool = True) -> None:
    """Make a checkpoint of an unrecorded file."""
    journal.contents.keep_all([(v(content), content)])
    tree = {name: SnapshotRow(name, "file", len(content), 0o644, v(content))}
    assert save(journal, name, tree, journal.positions().newest, automatic=automatic)


def test_automatic_checkpoints_go_before_the_limits_are_exceeded_and_named_ones_stay(journal: Journal) -> None:
    contents = [os.urandom(1000) for _ in range(5)]
    for number, content in enumerate(contents):
        checkpoint(journal, str(number), content, automatic=number != 1)
    keep(journal, contents=4500)
    assert kept(journal, contents) == [False, True, True, True, True]
    keep(journal, contents=0)
    assert [one.name for one in journal.checkpoints.all()] == ["1", "4"]
    assert kept(journal, contents) == [False, True, False, False, True]


@pytest.mark.parametrize(("age", "stays"), [(60.0, True), (2 * SWEEP_SECONDS, False)])
def test_a_checkpoint_whose_saver_died_holds_nothing_up_for_long(journal: Journal, age: float, stays: bool) -> None:
    written(journal, *(str(number).encode() for number in range(20)))
    unnamed = "INSERT INTO checkpoints VALUES (1, NULL, 1, ?, 0, 0, 0, 0)"
    database_of(journal).write(lambda connection: connection.execute(unnamed, (time.time() - age,)))
    assert (keep(journal, records=5) <= 1) is stays


def test_a_checkpoint_stays_if_the_save_that_would_replace_it_fails(journal: Journal) -> None:
    checkpoint(journal, "good", b"1", automatic=False)
    tries: list[object] = []

    def keep_badly(_: object) -> frozenset[str]:
        tries.append(None)
        if len(tries) > 1:
            raise DiskFullError("good")
        # As another save does.
        database_of(journal).write(lambda connection: connection.execute("DELETE FROM checkpoints WHERE name IS NULL"))
        return frozenset()

    with pytest.raises(DiskFullError):
        save(journal, "good", {}, journal.positions().newest, replace=True, keep=keep_badly)
    assert [one.name for one in journal.checkpoints.all()] == ["good"]
