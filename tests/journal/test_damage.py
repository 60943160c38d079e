"""Damage of the embedded journal: reported clearly, and nothing is acknowledged afterwards."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from filetools.errors import FileToolsError, StateDamagedError, StateVersionError
from filetools.journal.backlog import BacklogEntry
from filetools.journal.journal import Journal
from filetools.journal.storage.rescue import examine_journal
from filetools.journal.storage.schema import SCHEMA_VERSION
from tests.support.journals import ALICE, damage, draft, put
from tests.support.journals import version as v


def filled(state: Path, commits: int = 40) -> None:
    journal = Journal(state, durability="relaxed")
    for index in range(commits):
        put(journal, f"f{index % 5}", os.urandom(3000))
    journal.close()


def cut_in_half(state: Path) -> None:
    os.truncate(state / "journal.db", (state / "journal.db").stat().st_size // 2)


def empty(state: Path) -> None:
    os.truncate(state / "journal.db", 0)


def remove(state: Path) -> None:
    (state / "journal.db").unlink()


def directory_instead(state: Path) -> None:
    remove(state)
    (state / "journal.db").mkdir()


def link_instead(state: Path) -> None:
    (state / "journal.db").rename(state.parent / "outside.db")
    (state / "journal.db").symlink_to(state.parent / "outside.db")


def fifo_instead(state: Path) -> None:
    remove(state)
    os.mkfifo(state / "journal.db")


def text_instead(state: Path) -> None:
    (state / "journal.db").write_text("hello " * 3000)


def stranger_instead(state: Path, *, remove_first: bool = True) -> None:
    if remove_first:
        remove(state)
    database = sqlite3.connect(state / "journal.db")
    database.execute("CREATE TABLE songs (name TEXT)")
    database.close()


def flip_magic(state: Path) -> None:
    damage(state / "journal.db", 3)


def flip_page_size(state: Path) -> None:
    damage(state / "journal.db", 16)


def spoil_schema_page(state: Path) -> None:
    with (state / "journal.db").open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(3996))


AT_OPENING = [
    cut_in_half, empty, remove, directory_instead, link_instead, fifo_instead, text_instead, stranger_instead,
    flip_magic, flip_page_size, spoil_schema_page,
]  # fmt: skip


@pytest.mark.parametrize("harm", AT_OPENING)
def test_a_damaged_database_is_not_opened(state: Path, harm: Callable[[Path], None]) -> None:
    filled(state)
    harm(state)
    place = state / "journal.db"
    before = place.read_bytes() if place.is_file() and not place.is_symlink() else None
    for _ in range(2):
        with pytest.raises(StateDamagedError):
            Journal(state)
    if before is not None:
        assert place.read_bytes() == before


@pytest.mark.parametrize("part", ["journal.db-wal", "journal.db-shm"])
def test_a_link_next_to_the_database_is_not_followed(state: Path, part: str) -> None:
    filled(state)
    (state / part).unlink(missing_ok=True)
    (state / part).symlink_to(state.parent / "outside")
    with pytest.raises(StateDamagedError):
        Journal(state)
    assert not (state.parent / "outside").exists()


@pytest.mark.parametrize("stands", ["nothing", "an empty file"])
def test_a_write_ahead_file_without_its_database_is_not_thrown_away(state: Path, stands: str) -> None:
    journal = Journal(state)
    put(journal, "a", b"1")
    copy = state.parent / "copy"
    copy.mkdir()
    shutil.copy(state / "journal.db-wal", copy)
    if stands != "nothing":
        (copy / "journal.db").write_bytes(b"")
    content = (copy / "journal.db-wal").read_bytes()
    with pytest.raises(StateDamagedError):
        Journal(copy)
    assert (copy / "journal.db-wal").read_bytes() == content
    journal.close()


def everything(state: Path) -> dict[str, bytes]:
    return {str(place.relative_to(state)): place.read_bytes() for place in state.rglob("*") if place.is_file()}


@pytest.mark.parametrize("step", [-1, 1])
def test_a_state_directory_of_another_schema_is_left_untouched(state: Path, step: int) -> None:
    filled(state)
    (state / "segments").mkdir()
    (state / "segments/1").write_bytes(b"of an older release")
    database = sqlite3.connect(state / "journal.db")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + step}")
    database.close()
    before = everything(state)
    with pytest.raises(StateVersionError, match=f"schema {SCHEMA_VERSION + step}") as caught:
        Journal(state)
    assert "move the state directory (.filetools) away" in (caught.value.suggested_action or "")
    memory = {"journal.db-shm": b"what SQLite shares while it reads"}
    assert everything(state) | memory == before | memory | {"journal.db-wal": b""}


def test_a_schema_that_a_newer_release_raises_meanwhile_takes_no_more_commits(state: Path) -> None:
    journal = Journal(state)
    put(journal, "a", b"1")
    database = sqlite3.connect(state / "journal.db")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    for work in (
        lambda: put(journal, "b", b"2", noted=False),
        lambda: journal.marks.synced([1]),
        lambda: journal.marks.restored(1),
    ):
        with pytest.raises(StateVersionError):
            work()
    assert [record.path for record in journal.records(newest_first=True)] == ["a"]
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.close()
    put(journal, "b", b"2")
    journal.close()


def while_open(state: Path, harm: Callable[[Path], None]) -> Journal:
    journal = Journal(state)
    put(journal, "a", b"1")
    harm(state)
    return journal


def replace_database(state: Path) -> None:
    shutil.copy(state / "journal.db", state / "other.db")
    (state / "other.db").replace(state / "journal.db")


def remove_wal(state: Path) -> None:
    (state / "journal.db-wal").unlink()


def remove_shm(state: Path) -> None:
    (state / "journal.db-shm").unlink()


@pytest.mark.parametrize("harm", [remove, replace_database, remove_wal, remove_shm, shutil.rmtree])
def test_a_journal_that_vanishes_while_open_acknowledges_nothing(state: Path, harm: Callable[[Path], None]) -> None:
    journal = while_open(state, harm)
    for key in ("a", "b"):
        with pytest.raises(StateDamagedError):
            put(journal, key, b"2")
    with pytest.raises(StateDamagedError):
        journal.backlog.add("m", [BacklogEntry(key="a", path="a", number=0)])
    with pytest.raises(StateDamagedError):
        journal.contents.keep(b"2", v(b"2"))
    journal.close()
    journal.close()


@pytest.mark.parametrize("harm", [remove, replace_database, remove_wal, shutil.rmtree])
def test_a_journal_that_vanishes_in_the_middle_of_a_commit_is_not_acknowledged(
    state: Path, harm: Callable[[Path], None]
) -> None:
    journal = Journal(state)
    with pytest.raises(StateDamagedError):
        journal._database.write(lambda _: harm(state))
    journal.close()


def test_a_vanished_journal_is_not_born_again_by_a_reader(state: Path) -> None:
    journal = while_open(state, remove)
    with journal._database.reading(), pytest.raises(StateDamagedError):
        journal.positions()
    assert not (state / "journal.db").exists()
    journal.close()


def test_a_journal_is_unusable_in_a_forked_child(state: Path) -> None:
    journal = Journal(state)
    put(journal, "a", b"1")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"\n".join(_refusals(journal)))
        journal.close()
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert pipe.read().split(b"\n") == [b"InternalError"] * 5
    os.waitpid(child, 0)
    assert put(journal, "a", b"2").number == 2
    journal.close()


def _refusals(journal: Journal) -> list[bytes]:
    acts: list[Callable[[], object]] = [
        lambda: journal.marks.applied([1]),
        lambda: journal.view("a"),
        lambda: put(journal, "a", b"2"),
        lambda: journal.records(),
        lambda: journal.contents.get(v(b"1")),
    ]
    found = []
    for act in acts:
        try:
            act()
            found.append(b"nothing")
        except FileToolsError as exc:
            found.append(type(exc).__name__.encode())
    return found


def test_damage_found_while_open_raises_a_typed_error(state: Path) -> None:
    filled(state, 100)
    journal = Journal(state, durability="relaxed")
    with (state / "journal.db").open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom((state / "journal.db").stat().st_size - 4096))
    with pytest.raises(StateDamagedError):
        journal.records(limit=100)
    with pytest.raises(StateDamagedError):
        journal.commit([draft(journal, "new", b"1", key=f"g{index}") for index in range(100)], ALICE)
    journal.close()


SPOIL = {
    "value": "UPDATE records SET size = size + 1 WHERE number = 3",
    "state": "UPDATE records SET state = 'nonsense' WHERE number = 3",
    "operation": "UPDATE records SET operation = 'nonsense' WHERE number = 3",
    "not text": "UPDATE records SET path = CAST(x'ff41' AS TEXT) WHERE number = 3",
    "type": "UPDATE records SET after = 'text' WHERE number = 3",
}


@pytest.mark.parametrize("how", SPOIL)
def test_a_record_that_cannot_be_trusted_is_damage(state: Path, how: str) -> None:
    journal = Journal(state, durability="relaxed")
    for index in range(5):
        put(journal, "a", b"%d" % index)
    database = sqlite3.connect(state / "journal.db", timeout=5)
    with database:
        database.execute(SPOIL[how])
    database.close()
    assert [record.number for record in journal.records(since=3)] == [4, 5]
    acts: list[Callable[[], object]] = [journal.records, lambda: journal.marks.unsettled("a")]
    for act in acts:
        with pytest.raises(StateDamagedError):
            act()
    journal.close()
    report = examine_journal(state)
    assert report is not None
    assert isinstance(report.problem, StateDamagedError)
