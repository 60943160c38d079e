"""Repairing a damaged journal: what can be read is there again, the damaged one is kept, the files are left alone."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from filetools.errors import LockTimeoutError, StateDamagedError
from filetools.journal.checkpoints import SnapshotRow
from filetools.journal.contents import LARGEST_ROW_BYTES
from filetools.journal.examination import examine_journal
from filetools.journal.rescue import Rescue, rescue_journal
from filetools.journal.salvage import COLUMNS, ReadableRows
from filetools.journal.schema import SCHEMA_VERSION
from filetools.journal.segments import LARGEST_ENTRY_BYTES
from filetools.journal.sqlite import SqliteJournal
from filetools.models.records import RecordState
from tests.support.journals import ALICE, at_older_schema, damage, draft, move_folder, put, worker
from tests.support.journals import version as v

PAGE = 4096
FILES = 8
DEFLATED = 10
"""Contents that are kept for a snapshot."""
BACKLOG = FILES + 3
"""Those files, both names of the folder that moved, and one file more."""


def large(index: int) -> bytes:
    return b"%d" % index + bytes(LARGEST_ROW_BYTES)


def filled(state: Path, commits: int = 200) -> SqliteJournal:
    """Return a journal, still open, of files and of a folder that moved, with small, medium and large contents."""
    journal = SqliteJournal(state, durability="relaxed")
    choose = random.Random(1)
    for index in range(commits):
        content = large(index) if index % 50 == 49 else choose.randbytes(choose.choice([20, 3000, 30_000]))
        put(journal, f"d/f{index % FILES}", content, mirrors=["m"])
    deflated = {v(content): content for content in (b"line %d\n" % index * 1000 for index in range(DEFLATED))}
    journal.contents.keep_all(deflated)
    records = journal.commit([move_folder(journal, "d", "t")], ALICE)
    journal.marks.applied(record.number for record in records)
    journal.marks.flush()
    return journal


def facts(state: Path) -> tuple[dict[int, str | None], dict[str, str], str]:
    """Return what a journal holds: versions by number, heads by path, its epoch; every content checked."""
    journal = SqliteJournal(state)
    records = journal.records(limit=10_000)
    heads = dict(journal.heads_below(""))
    for (digest,) in journal._database.rows("SELECT hash FROM contents"):
        journal.contents.get("sha256:" + digest.hex())
    assert journal._database.row("PRAGMA integrity_check") == ("ok",)
    epoch = journal.epoch
    put(journal, "new", b"new")
    assert journal.view("new").head is not None
    journal.close()
    return {record.number: record.after for record in records}, heads, epoch


def overwrite(place: Path, pages: range) -> None:
    with place.open("r+b") as file:
        for page in pages:
            file.seek(page * PAGE)
            file.write(os.urandom(PAGE))


def spoil_header(state: Path) -> None:
    overwrite(state / "journal.db", range(1))


def spoil_roots(state: Path) -> None:
    overwrite(state / "journal.db", range(1, 14))


def empty(state: Path) -> None:
    os.truncate(state / "journal.db", 0)


def remove(state: Path) -> None:
    (state / "journal.db").unlink()


def cut_a_little(state: Path) -> None:
    os.truncate(state / "journal.db", (state / "journal.db").stat().st_size - 3 * PAGE)


@pytest.mark.parametrize("harm", [spoil_header, spoil_roots])
def test_everything_but_the_harmed_pages_is_saved(state: Path, harm: Callable[[Path], None]) -> None:
    filled(state).close()
    records, heads, epoch = facts(state)
    harm(state)
    rescue = rescue_journal(state, state / "aside")
    found, found_heads, found_epoch = facts(state)
    assert found == {**records, 202: v(b"new")}
    assert rescue.lost_records == 0
    assert (rescue.contents, rescue.unapplied) == (201 + DEFLATED, ())
    assert found_epoch != epoch
    # The heads moved with their folder: where their own pages are lost, they are found anew.
    assert found_heads in ({**heads, "new": v(b"new")}, {"new": v(b"new")})


@pytest.mark.parametrize("harm", [empty, remove, spoil_header])
def test_what_is_in_the_write_ahead_file_is_saved_without_the_database(
    state: Path, harm: Callable[[Path], None]
) -> None:
    with worker(state, "commit", "relaxed", "30", "2000") as process:
        for _ in range(31):
            process.said()
    harm(state)
    rescue = rescue_journal(state, state / "aside")
    assert rescue == Rescue(records=30, contents=30, unapplied=("f1",), heads=7, lost_records=0)
    journal = SqliteJournal(state)
    assert [record.number for record in journal.records()] == list(range(1, 31))
    assert {path for path, _ in journal.heads_below("")} == {f"f{index}" for index in range(7)}
    journal.close()


def test_a_damaged_header_of_the_write_ahead_file_costs_nothing(state: Path) -> None:
    with worker(state, "commit", "relaxed", "30", "2000") as process:
        for _ in range(31):
            process.said()
    damage(state / "journal.db-wal", 9)
    with pytest.raises(StateDamagedError):
        SqliteJournal(state)
    assert rescue_journal(state, state / "aside").records == 30
    journal = SqliteJournal(state)
    newest = {record.path: record.after for record in journal.records()}
    assert dict(journal.heads_below("")) == newest
    journal.close()


@pytest.mark.parametrize("seed", range(6))
def test_random_damage_loses_only_what_it_hit_and_nothing_false_comes_out(state: Path, seed: int) -> None:
    filled(state).close()
    records, _, _ = facts(state)
    choose = random.Random(seed)
    size = (state / "journal.db").stat().st_size
    harmed = sorted(choose.sample(range(size // PAGE), size // PAGE // 15))
    for page in harmed:
        overwrite(state / "journal.db", range(page, page + 1))
    rescue = rescue_journal(state, state / "aside")
    found, _, _ = facts(state)
    assert {number: after for number, after in found.items() if number in records} == {
        number: after for number, after in records.items() if number in found
    }
    assert rescue.records + rescue.lost_records == 202
    assert rescue.records > 100
    assert rescue.contents > 100


def test_a_cut_database_gives_what_is_left(state: Path) -> None:
    filled(state).close()
    records, _, _ = facts(state)
    cut_a_little(state)
    with pytest.raises(StateDamagedError):
        SqliteJournal(state)
    rescue_journal(state, state / "aside")
    found, _, _ = facts(state)
    assert set(found) - {202, 203} <= set(records)
    assert len(found) > 150


def test_the_damaged_journal_is_kept_as_it_was(state: Path) -> None:
    journal = filled(state, 20)
    journal.close()
    spoil_roots(state)
    content = (state / "journal.db").read_bytes()
    rescue_journal(state, state / "aside")
    assert (state / "aside/journal.db").read_bytes() == content
    assert not (state / "aside/fresh.db").exists()
    assert (state / "aside").stat().st_mode & 0o777 == 0o700


def test_no_number_comes_twice(state: Path) -> None:
    filled(state, 20).close()
    overwrite(state / "journal.db", range((state / "journal.db").stat().st_size // PAGE))
    rescue = rescue_journal(state, state / "aside")
    assert (rescue.records, rescue.lost_records) == (0, 21)
    journal = SqliteJournal(state)
    assert put(journal, "a", b"1").number == 22
    journal.maintain(retention_bytes=0, retention_records=0)
    journal.close()


@pytest.mark.parametrize("size", [LARGEST_ENTRY_BYTES, LARGEST_ENTRY_BYTES + 1])
@pytest.mark.parametrize("harm", [empty, lambda state: None])
def test_large_contents_are_saved_by_their_files_alone_and_only_if_they_are_whole(
    state: Path, size: int, harm: Callable[[Path], None]
) -> None:
    contents = [os.urandom(size) for _ in range(2)]
    with closing(SqliteJournal(state, durability="relaxed")) as journal:
        for content in contents:
            put(journal, "a", content)
    harm(state)
    is_entry = size <= LARGEST_ENTRY_BYTES
    damage(state / "segments/1" if is_entry else state / "blobs" / v(contents[0]).removeprefix("sha256:"), 2000)
    assert rescue_journal(state, state / "aside").contents == 1
    with closing(SqliteJournal(state)) as journal:
        assert journal.contents.get(v(contents[1])) == contents[1]
        assert not journal.contents.has(v(contents[0]))
        put(journal, "a", contents[0])
        assert [journal.contents.get(v(content)) for content in contents] == contents


def test_pending_changes_are_told_and_no_recovery_touches_their_files(state: Path) -> None:
    journal = SqliteJournal(state)
    put(journal, "a", b"1")
    put(journal, "a", b"2", noted=False)
    journal.close()
    spoil_header(state)
    assert rescue_journal(state, state / "aside").unapplied == ("a",)
    journal = SqliteJournal(state)
    assert (journal.marks.pending(), journal.marks.unsynced()) == ([], [])
    assert [record.state for record in journal.records()] == [RecordState.APPLIED] * 2
    assert journal.contents.get(v(b"2")) == b"2"
    journal.close()


@pytest.mark.parametrize("kind", ["link", "directory"])
def test_what_was_planted_in_the_place_of_the_database_is_put_aside(state: Path, kind: str) -> None:
    filled(state, 5).close()
    if kind == "link":
        (state / "journal.db").rename(state.parent / "outside.db")
        (state / "journal.db").symlink_to(state.parent / "outside.db")
    else:
        remove(state)
        (state / "journal.db").mkdir()
    assert rescue_journal(state, state / "aside").records == 0
    journal = SqliteJournal(state)
    assert put(journal, "a", b"1").number == 7
    journal.close()
    assert os.path.lexists(state / "aside/journal.db")


def test_heads_are_found_from_the_records_where_they_are_lost(state: Path) -> None:
    journal = SqliteJournal(state, durability="relaxed")
    put(journal, "gone/a", b"1")
    put(journal, "kept", b"1")
    put(journal, "kept", b"2")
    put(journal, "deleted", b"1")
    put(journal, "deleted", None)
    pending = put(journal, "back", b"1", noted=False)
    journal.commit([draft(journal, "back", None, view=None, applied=True, compensates=pending.number)], ALICE)
    (moved,) = journal.commit([move_folder(journal, "gone", "there")], ALICE)
    journal.marks.applied([moved.number])
    journal.close()
    (root,) = [root for (root,) in read(state, "SELECT rootpage FROM sqlite_master WHERE name = 'heads'")]
    overwrite(state / "journal.db", range(root - 1, root))
    assert rescue_journal(state, state / "aside").records == 8
    journal = SqliteJournal(state)
    assert list(journal.heads_below("")) == [("kept", v(b"2"))]
    journal.close()


def read(state: Path, query: str) -> list[tuple[int]]:
    database = sqlite3.connect(state / "journal.db")
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def test_a_rescue_waits_for_whoever_writes(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(state, 5).close()
    monkeypatch.setattr("filetools.journal.rescue.GATE_SECONDS", 0.2)
    with worker(state, "hold") as holder:
        assert holder.said() == "holding"
        with pytest.raises(LockTimeoutError):
            rescue_journal(state, state / "aside")
    assert not (state / "aside").exists()


def test_a_rescue_that_fails_changes_nothing(state: Path) -> None:
    filled(state, 5).close()
    spoil_header(state)
    before = {place.name for place in state.iterdir()}
    (state / "blobs").rename(state / "elsewhere")
    (state / "blobs").write_text("in the way")
    with pytest.raises(StateDamagedError):
        rescue_journal(state, state / "aside")
    (state / "blobs").unlink()
    (state / "elsewhere").rename(state / "blobs")
    assert {place.name for place in state.iterdir()} == before
    assert rescue_journal(state, state / "aside").records == 6


def test_a_sound_journal_comes_out_whole(state: Path) -> None:
    filled(state).close()
    records, heads, _ = facts(state)
    rescue = rescue_journal(state, state / "aside")
    assert rescue.lost_records == 0
    found, found_heads, _ = facts(state)
    assert (found, found_heads) == ({**records, 202: v(b"new")}, {**heads, "new": v(b"new")})
    journal = SqliteJournal(state)
    assert journal.backlog.count("m") == BACKLOG
    journal.close()


def readable(database: sqlite3.Connection, table: str) -> tuple[int, bool]:
    """Return how many rows of a table can be read, and whether nothing was in the way."""
    rows = ReadableRows(database, table)
    return sum(1 for _ in rows), rows.is_whole


SNAPSHOTS = 11
"""The first schema whose checkpoints have a snapshot."""


@pytest.mark.parametrize("schema", range(5, SCHEMA_VERSION))
def test_checkpoints_of_an_earlier_schema_are_saved_as_numbers(state: Path, schema: int) -> None:
    journal = filled(state)
    made = journal.checkpoints.save("x", {}, journal.position())
    journal.close()
    assert made is not None
    at_older_schema(state, schema).close()
    rescue_journal(state, state / "aside")
    journal = SqliteJournal(state)
    alone = replace(made, snapshot=None, files=None, bytes=None, rows=None)
    assert journal.checkpoints.snapshot("x") == ((alone, None) if schema < SNAPSHOTS else (made, {}))
    journal.close()


def test_tables_that_an_earlier_schema_lacks_are_no_damage(state: Path) -> None:
    filled(state).close()
    with closing(at_older_schema(state, 1)) as database:
        found = {table: readable(database, table) for table in COLUMNS}
        assert {table for table, (rows, _) in found.items() if rows} == {"records", "contents", "heads", "debts"}
        assert all(is_whole for _, is_whole in found.values())
        database.execute("DROP TABLE records")
        assert readable(database, "records") == (0, False)


def test_a_snapshot_that_lost_rows_is_saved_as_a_number(state: Path) -> None:
    with closing(SqliteJournal(state)) as journal:
        tree = {f"f{index:04}": SnapshotRow(f"f{index:04}", "file", 1, 0o644, v(b"1")) for index in range(2000)}
        made = journal.checkpoints.save("x", tree, 0)
    page = (state / "journal.db").read_bytes().index(b"f1000f1000file") // PAGE
    overwrite(state / "journal.db", range(page, page + 1))
    rescue_journal(state, state / "aside")
    with closing(SqliteJournal(state)) as journal:
        assert 0 < journal._database.row("SELECT count(*) FROM snapshot_rows")[0] < len(tree)
        assert journal.checkpoints.snapshot("x") == (made, None)
        again = journal.checkpoints.save("y", tree, 0)
        assert journal.checkpoints.snapshot("y") == (again, tree)


def test_mirrors_stay_those_of_the_root_and_are_compared_as_a_whole(state: Path) -> None:
    with closing(SqliteJournal(state)) as journal:
        journal.mirrors.remember(journal.mirrors.register("m"), b"/root")
        journal.mirrors.filled(journal.mirrors.register("m"), 0)
        (known,) = journal.mirrors.all()
        put(journal, "a", b"1")
    rescue_journal(state, state / "aside")
    with closing(SqliteJournal(state)) as journal:
        assert journal.mirrors.all() == [replace(known, position=None)]
        put(journal, "b", b"1")
        assert journal.backlog.count("m") == 2


def test_an_examination_changes_nothing_and_tells_damage(state: Path) -> None:
    assert examine_journal(state) is None
    journal = filled(state, 20)
    put(journal, "p", b"1", noted=False)
    report = examine_journal(state)
    assert report is not None
    assert (report.problem, report.records, report.pending, report.contents) == (None, 22, 1, 21 + DEFLATED)
    assert report.backlog == {"m": BACKLOG}
    journal.close()
    for harm in (spoil_roots, empty, remove):
        harm(state)
        report = examine_journal(state)
        assert report is not None
        assert isinstance(report.problem, StateDamagedError)
