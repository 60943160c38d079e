"""Repairing a damaged journal: what can be read is there again, the damaged one is kept, the files are left alone."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from filetools.errors import StateDamagedError
from filetools.journal.contents import LARGEST_ROW_BYTES
from filetools.journal.examination import examine_journal
from filetools.journal.rescue import Rescue, rescue_journal
from filetools.journal.segments import LARGEST_ENTRY_BYTES
from filetools.journal.sqlite import SqliteJournal
from filetools.models.records import RecordState
from tests.support.dose import dose
from tests.support.journals import ALICE, damage, move_folder, put, worker
from tests.support.journals import version as v

PAGE = 4096
FILES = 8
DEFLATED = 10
"""Contents that are kept for a snapshot."""
BACKLOG = FILES + 3
"""Those files, both names of the folder that moved, and one file more."""


@pytest.fixture(autouse=True)
def few_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row that cannot be read costs a query; these journals have a few hundred rows."""
    monkeypatch.setattr("filetools.journal.salvage.HOPELESS_PROBES", 500)


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


@pytest.mark.parametrize("seed", range(dose(2)))
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


def read(state: Path, query: str) -> list[tuple[int]]:
    database = sqlite3.connect(state / "journal.db")
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


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
