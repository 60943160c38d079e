"""Segments: contents that are appended, found again whatever happened meanwhile, and whose room is given back."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from filetools.errors import DiskFullError, StateDamagedError, StorageFailedError, VersionGoneError
from filetools.journal import segments
from filetools.journal.contents import LARGEST_ROW_BYTES
from filetools.journal.segments import SegmentEntry, SegmentFolder, SegmentPlace, end_of
from filetools.journal.sqlite import SqliteJournal
from tests.support.journals import ALICE, damage, draft, put, traced, worker
from tests.support.journals import version as v

SIZE = LARGEST_ROW_BYTES + 1
MUCH = 10**9
HEADER_BYTES = 48


def bytes_of(count: int = 1, size: int = SIZE) -> list[bytes]:
    return [os.urandom(size) for _ in range(count)]


def places(journal: SqliteJournal) -> dict[str, SegmentPlace]:
    """Return where the journal says that contents are, by version."""
    rows = journal._database.rows("SELECT hash, segment, start FROM contents WHERE segment IS NOT NULL ORDER BY 2, 3")
    return {f"sha256:{digest.hex()}": SegmentPlace(segment, start) for digest, segment, start in rows}


def on_disk(state: Path) -> int:
    """Return how many bytes segments take up on the disk."""
    return sum(place.stat().st_blocks * 512 for place in (state / "segments").iterdir())


def sizes(state: Path) -> dict[str, int]:
    return {place.name: place.stat().st_size for place in sorted((state / "segments").iterdir())}


def are_whole(journal: SqliteJournal, *contents: bytes) -> bool:
    return all(journal.contents.get(v(content)) == content for content in contents)


def maintain(journal: SqliteJournal, *, contents: int = MUCH) -> None:
    """Have retention collect and, as if for the first time, sweep."""
    journal._retention._swept_at = None
    journal.maintain(retention_bytes=contents, retention_records=MUCH)


def written(journal: SqliteJournal, *contents: bytes) -> None:
    """Write one file after the other; all but the last may go."""
    journal.marks.synced([put(journal, "a", content).number for content in contents])


def appending(state: Path, content: bytes) -> None:
    """Leave what a process leaves that dies before its commit."""
    with (state / "segments/1").open("ab") as file:
        file.write(content)


def test_nothing_is_appended_where_a_dead_process_may_have_written(state: Path, relaxed: SqliteJournal) -> None:
    contents = bytes_of(2)
    put(relaxed, "a", contents[0])
    appending(state, os.urandom(10_000))
    put(relaxed, "a", contents[1])
    assert places(relaxed)[v(contents[1])] == SegmentPlace(1, end_of(0, SIZE + 10_000))
    assert are_whole(relaxed, *contents)


@pytest.mark.parametrize("left", [0, 5000, SIZE])
def test_nothing_is_appended_where_rows_refer_to_bytes_that_a_power_cut_took(
    state: Path, relaxed: SqliteJournal, left: int
) -> None:
    contents = bytes_of(3)
    put(relaxed, "a", contents[0])
    put(relaxed, "a", contents[1])
    os.truncate(state / "segments/1", left)
    put(relaxed, "a", contents[2])
    assert places(relaxed)[v(contents[2])] == SegmentPlace(1, end_of(end_of(0, SIZE), SIZE))
    assert are_whole(relaxed, contents[2])
    for lost in contents[:2]:
        with pytest.raises(VersionGoneError):
            relaxed.contents.get(v(lost))


def test_processes_append_beside_each_other(state: Path) -> None:
    with ExitStack() as stack:
        processes = [stack.enter_context(worker(state, "commit", "relaxed", "12", "300000", name)) for name in "abcd"]
        for process in processes:
            assert process.said() == "ready"
        for process in processes:
            while process.said():
                pass
    with closing(SqliteJournal(state)) as journal:
        assert len(places(journal)) == 48
        for version in places(journal):
            assert len(journal.contents.get(version)) == 300_000
        occupied = [(place, end_of(place.offset, 300_000)) for place in places(journal).values()]
        assert all(end <= place.offset for (_, end), (place, _) in pairwise(occupied))


# Damage.


@pytest.mark.parametrize("offset", [HEADER_BYTES, 70_000, -1])
def test_a_flipped_bit_is_noticed_and_healed(state: Path, relaxed: SqliteJournal, offset: int) -> None:
    (content,) = bytes_of()
    put(relaxed, "a", content)
    damage(state / "segments/1", offset)
    with pytest.raises(VersionGoneError):
        relaxed.contents.get(v(content))
    put(relaxed, "b", content)
    assert are_whole(relaxed, content)
    maintain(relaxed)
    assert on_disk(state) <= end_of(0, SIZE) + 8192


def test_a_segment_cut_short_or_missing_has_nothing(state: Path, relaxed: SqliteJournal) -> None:
    (content,) = bytes_of()
    put(relaxed, "a", content)
    os.truncate(state / "segments/1", HEADER_BYTES + SIZE - 1)
    assert (relaxed.contents.has(v(content)), relaxed.contents.missing([v(content)])) == (False, {v(content)})
    (state / "segments/1").unlink()
    assert (relaxed.contents.has(v(content)), relaxed.contents.missing([v(content)])) == (False, {v(content)})
    with pytest.raises(VersionGoneError):
        relaxed.contents.get(v(content))


@pytest.mark.parametrize("kind", ["fifo", "link", "directory"])
def test_something_else_in_the_place_of_a_segment_is_neither_read_nor_written(
    state: Path, relaxed: SqliteJournal, kind: str
) -> None:
    (content,) = bytes_of()
    put(relaxed, "a", content)
    place = state / "segments/1"
    place.rename(state / "real")
    before = (state / "real").read_bytes()
    {"fifo": os.mkfifo, "link": lambda name: name.symlink_to(state / "real"), "directory": Path.mkdir}[kind](place)
    with pytest.raises(VersionGoneError):
        relaxed.contents.get(v(content))
    with pytest.raises(StateDamagedError):
        put(relaxed, "b", *bytes_of())
    assert ((state / "real").read_bytes(), relaxed.position()) == (before, 1)


def test_entries_are_found_without_rows_and_no_header_is_believed(tmp_path: Path) -> None:
    folder = SegmentFolder(tmp_path / "segments", durable=False)
    with closing(sqlite3.connect(":memory:")) as rows:
        rows.execute("CREATE TABLE contents (segment, start, size)")
        contents = [*bytes_of(3), b"small"]
        found = [folder.append(rows, hashlib.sha256(one).digest(), one) for one in contents]
        folder.release()
    damage(tmp_path / "segments/1", found[1].offset + 5000)  # bytes of the second
    for at in (45, 40):  # size of the third, which would be more than there is, and more than a number of the machine
        damage(tmp_path / "segments/1", found[2].offset + at)
        assert [entry.place for entry in folder.intact_entries()] == [found[0], found[3]]
    (tmp_path / "segments/2").write_bytes(os.urandom(10_000))
    (tmp_path / "segments/3").mkdir()
    (tmp_path / "segments/other").write_bytes((tmp_path / "segments/1").read_bytes())
    assert list(folder.intact_entries()) == [
        SegmentEntry(hashlib.sha256(one).digest(), len(one), place)
        for one, place in ((contents[0], found[0]), (contents[3], found[3]))
    ]


# Syncs that fail, and a disk that is full.


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[OSError]]:
    """Errors of the next syncs of a file's bytes; without one a sync succeeds."""
    errors: list[OSError] = []

    def sync(descriptor: int) -> None:
        if errors:
            raise errors.pop(0)

    monkeypatch.setattr(os, "fdatasync", sync)
    yield errors
    assert not errors


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EIO, StorageFailedError), (errno.ENOSPC, DiskFullError), (errno.EDQUOT, DiskFullError)]
)
def test_after_a_failed_sync_nothing_is_recorded_and_its_segment_is_left_alone(
    state: Path, failing: list[OSError], number: int, kind: type[Exception]
) -> None:
    first, lost, later = bytes_of(3)
    with closing(SqliteJournal(state)) as journal:
        put(journal, "a", first)
        before = sizes(state)
        failing.append(OSError(number, os.strerror(number)))
        with pytest.raises(kind):
            put(journal, "a", lost)
        assert (journal.position(), journal.contents.has(v(lost)), sizes(state)) == (1, False, before)
        put(journal, "a", lost)
        put(journal, "a", later)
        assert [place.segment for place in places(journal).values()] == [1, 2, 2]
        assert are_whole(journal, first, lost, later)


def test_bytes_in_a_segment_whose_sync_failed_are_not_relied_on_again(state: Path, failing: list[OSError]) -> None:
    (content,) = bytes_of()
    with closing(SqliteJournal(state)) as journal:
        put(journal, "a", content)
        failing.append(OSError(errno.EIO, "lost"))
        with pytest.raises(StorageFailedError):
            put(journal, "b", content)  # it need not be appended, but it is synced
        put(journal, "b", content)
        assert places(journal) == {v(content): SegmentPlace(2, 0)}
        assert journal.position() == 2


@pytest.mark.parametrize("room", [0, 20, 100_000, 200_000])
def test_a_disk_that_fills_while_bytes_are_appended_leaves_nothing_of_them(
    state: Path, relaxed: SqliteJournal, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    contents = bytes_of(3)
    put(relaxed, "a", contents[0])
    before, left, write = sizes(state), [room], os.write

    def filling(descriptor: int, content: Any) -> int:
        if not os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(state / "segments")):
            return write(descriptor, content)
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = write(descriptor, content[: left[0]])
        left[0] -= count
        return count

    monkeypatch.setattr(os, "write", filling)
    changes = [draft(relaxed, f"f{index}", content) for index, content in enumerate(contents[1:])]
    with pytest.raises(DiskFullError):
        relaxed.commit(changes, ALICE)
    assert (relaxed.position(), sizes(state)) == (1, before)
    monkeypatch.undo()
    relaxed.commit(changes, ALICE)
    assert are_whole(relaxed, *contents)


# Room that is given back.


def test_the_room_of_what_retention_removes_is_given_back(state: Path, relaxed: SqliteJournal) -> None:
    contents = bytes_of(20)
    written(relaxed, *contents)
    for content in contents[::4]:
        relaxed.marks.synced([put(relaxed, v(content), content).number])  # a head, which stays
    before = on_disk(state)
    maintain(relaxed)
    relaxed.maintain(retention_bytes=0, retention_records=MUCH)  # without a sweep
    kept = [*contents[::4], contents[-1]]
    assert [relaxed.contents.has(v(content)) for content in contents] == [content in kept for content in contents]
    assert are_whole(relaxed, *kept)
    assert on_disk(state) <= len(kept) * end_of(0, SIZE) + 16_384 < before / 3
    put(relaxed, "b", contents[1])
    assert are_whole(relaxed, *kept, contents[1])


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace shows the syncs")
@pytest.mark.parametrize(("retention_bytes", "call"), [(0, "fallocate"), (MUCH, "ftruncate")])
def test_no_row_that_a_power_cut_could_bring_back_refers_to_room_that_was_given_back(
    state: Path, tmp_path: Path, retention_bytes: int, call: str
) -> None:
    trace = traced(state, tmp_path / "trace", "forget", str(SIZE), str(retention_bytes))
    given = trace[trace.index('"begin') : trace.index('"end')]
    assert "fdatasync(" in given[: given.index(f"{call}(")]


def test_what_dead_processes_have_left_is_given_back_and_only_that(state: Path, relaxed: SqliteJournal) -> None:
    contents = bytes_of(2)
    put(relaxed, "a", contents[0])
    appending(state, os.urandom(500_000))
    put(relaxed, "b", contents[1])
    appending(state, os.urandom(500_000))
    (state / "segments/2").write_bytes(os.urandom(500_000))
    (state / "segments/3").touch()
    maintain(relaxed)
    assert are_whole(relaxed, *contents)
    assert on_disk(state) <= 2 * end_of(0, SIZE) + 8192
    assert sizes(state) == {"1": end_of(end_of(0, SIZE + 500_000), SIZE), "3": 0}


def test_a_file_system_that_cannot_punch_holes_gives_back_ends_and_whole_segments(
    state: Path, relaxed: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "punch_hole", lambda descriptor, offset, size: False)
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 4 * SIZE)
    contents = bytes_of(9)
    relaxed.marks.synced([put(relaxed, "kept", contents[2]).number])
    written(relaxed, *contents, b"small")
    maintain(relaxed, contents=0)
    assert are_whole(relaxed, contents[2])
    assert sizes(state) == {"1": end_of(0, SIZE), "3": 0}


def test_whatever_is_appended_removed_and_lost_what_is_kept_stays_whole(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 6 * SIZE)
    choose = random.Random(7)
    heads: dict[str, bytes] = {}
    journal = SqliteJournal(state, durability="relaxed")
    for turn in range(120):
        name, content = f"f{choose.randrange(5)}", choose.randbytes(choose.choice((SIZE, 3 * SIZE, 200)))
        journal.marks.synced([put(journal, name, content).number])
        heads[name] = content
        if turn % 9 == 0:
            maintain(journal, contents=choose.choice((0, 8 * SIZE)))
        if turn % 13 == 0:
            with (state / f"segments/{max(map(int, sizes(state)), default=1)}").open("ab") as file:
                file.write(choose.randbytes(choose.choice((10, 5000, SIZE))))
        if turn % 17 == 0:
            journal.close()
            journal = SqliteJournal(state, durability="relaxed")
        assert are_whole(journal, *heads.values()), turn
    maintain(journal, contents=0)
    large = [content for content in heads.values() if len(content) > LARGEST_ROW_BYTES]
    assert on_disk(state) <= sum(end_of(0, len(content)) for content in large) + 4096 * (len(large) + 1)
    journal.close()


# The state directory as a whole.
