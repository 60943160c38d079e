"""The database under the single writer: small disks, no shared memory, contents, and its tables."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from filetools.content.version import version_of
from filetools.errors import DiskFullError, VersionGoneError
from filetools.journal.birth import PARTS
from filetools.journal.contents import LARGEST_ROW_BYTES, Contents, hash_of
from filetools.journal.core.log import Log, LogDraft
from filetools.journal.core.tree_rows import TreeRow, TreeTable
from filetools.journal.database import Database
from filetools.journal.journal import Journal
from filetools.journal.schema import create_core_tables
from filetools.models.records import Operation
from tests.support.core import contents_of
from tests.support.journals import put, worker
from tests.support.mounts import fill, mounted

LARGE = os.urandom(LARGEST_ROW_BYTES + 1)


def opened(directory: Path) -> Database:
    database = Database(directory, durability="commit")
    database.write(create_core_tables)
    return database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(opened(tmp_path)) as database:
        yield database


@pytest.fixture
def contents(database: Database) -> Contents:
    return contents_of(database)


def keep(database: Database, content: bytes) -> str:
    database.write(lambda _: contents_of(database).keep_inside(hash_of(content), content))
    return version_of(content)


def row(path: str, **facts: object) -> TreeRow:
    values = {"key": path, "path": path, "kind": "file", "file": 7, **facts}
    return TreeRow(**values)  # type: ignore[arg-type]  # each test names what it needs


def fill_log(database: Database, count: int) -> None:
    def work(_: object) -> None:
        log = Log(database)
        draft = LogDraft(log.newest_inside(), 1.0)
        for number in range(count):
            draft.add(Operation.CREATE, f"f{number}", f"f{number}", number)
        log.add(draft.records)

    database.write(work)


def keep_many(database: Database) -> None:
    for number in range(1000):
        keep(database, b"%d" % number * 2000)


@contextmanager
def turn(database: Database) -> Iterator[TreeTable]:
    """One transaction of a writer, with a table of its own."""
    with database.gate, database.transaction(durable=False):
        yield TreeTable(database.connection, str)


@contextmanager
def unshared(place: Path) -> Iterator[Path]:
    """A folder in which processes share no memory."""
    (place / "real").mkdir()
    (place / "seen").mkdir()
    mount = ["bindfs", "-o", "direct_io", str(place / "real"), str(place / "seen")]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("bindfs is not here")
    try:
        yield place / "seen"
    finally:
        subprocess.run(["fusermount", "-uz", str(place / "seen")], check=False)


class TestTransactions:
    def test_one_that_fails_leaves_nothing_behind(self, database: Database) -> None:
        table = TreeTable(database.connection, str)

        def begin_and_fail() -> None:
            with database.gate, database.transaction(durable=False):
                table.begin(database.generation)
                table.put([row("a")])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            begin_and_fail()
        with database.gate, database.transaction(durable=False):
            table.begin(database.generation)
            assert table.get("a") is None


class TestDisks:
    @pytest.fixture
    def small(self, tmp_path: Path) -> Iterator[Path]:
        with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as place:
            yield place

    def test_a_full_disk_refuses_and_heals(self, small: Path) -> None:
        with closing(opened(small)) as database:
            contents = contents_of(database)
            kept = keep(database, b"before")
            fill(small)
            with pytest.raises(DiskFullError):
                keep_many(database)
            assert contents.get(kept) == b"before"
            (small / "filler").unlink()
            assert contents.get(keep(database, b"after")) == b"after"

    def test_the_log_stays_small_on_a_small_disk(self, small: Path) -> None:
        with closing(opened(small)) as database:
            change = "UPDATE meta SET value = hex(randomblob(2000)) WHERE name = 'epoch'"
            for _ in range(150):
                fill_log(database, 1)
                database.write(lambda connection: connection.execute(change), durable=False)
            assert (small / PARTS[1]).stat().st_size < 512 * 1024

    def test_it_works_where_processes_share_no_memory(self, tmp_path: Path) -> None:
        with unshared(tmp_path) as place:
            with closing(opened(place)) as database, closing(opened(place)) as other:
                assert not database.has_log
                fill_log(database, 3)
                assert [record.path for record in Log(other).after(0)] == ["f0", "f1", "f2"]
            with closing(opened(place)) as database:
                assert Log(database).newest() == 3

    def test_a_journal_without_shared_memory_keeps_its_epoch_and_what_a_killed_process_committed(
        self, tmp_path: Path
    ) -> None:
        with unshared(tmp_path) as place:
            with closing(Journal(place)) as journal:
                put(journal, "a", b"1")
                epoch = journal.epoch
            with worker(place, "commit", "commit", "0", "500") as process:
                acknowledged = [process.said() for _ in range(30)][-1]
                process.signal(signal.SIGKILL)
                while said := process.said():
                    acknowledged = said
            with closing(Journal(place)) as journal:
                assert journal.epoch == epoch
                assert journal.position() >= int(acknowledged.split()[1])
                assert put(journal, "b", b"2").number == journal.position()


class TestContents:
    def test_bytes_that_were_not_kept_are_gone(self, database: Database, contents: Contents) -> None:
        with database.gate, database.transaction(durable=False), pytest.raises(VersionGoneError):
            contents.get_inside(hash_of(b"never"))

    @pytest.mark.parametrize("content", [b"small", LARGE], ids=["small", "large"])
    def test_damaged_bytes_are_not_given_out(
        self, database: Database, contents: Contents, tmp_path: Path, content: bytes
    ) -> None:
        keep(database, content)
        for file in (tmp_path / "blobs").iterdir():
            file.write_bytes(b"x" * len(content))
        database.write(lambda each: each.execute("UPDATE contents SET bytes = x'78' WHERE bytes IS NOT NULL"))
        with database.gate, database.transaction(durable=False), pytest.raises(VersionGoneError):
            contents.get_inside(hash_of(content))

    @pytest.mark.parametrize("content", [b"", b"small", LARGE], ids=["empty", "small", "large"])
    def test_kept_bytes_come_back_also_after_opening_again(self, tmp_path: Path, content: bytes) -> None:
        with closing(opened(tmp_path)) as database:
            version = keep(database, content)
        with closing(opened(tmp_path)) as database:
            assert contents_of(database).get(version) == content
            with database.gate, database.transaction(durable=False):
                assert contents_of(database).get_inside(hash_of(content)) == content


class TestLog:
    def test_records_come_back_whole_and_in_order(self, database: Database) -> None:
        log = Log(database)
        draft = LogDraft(0, 5.0)
        first = draft.add(Operation.CREATE, "a", "a", 1, after=b"1" * 32, size=3, mode=0o644)
        second = draft.add(Operation.MOVE, "b", "b", 1, old=("a", "a"), before=b"1" * 32, after=b"1" * 32, undoes=1)
        database.write(lambda _: log.add(draft.records))
        assert log.after(0) == [first, second]
        assert log.after(1) == log.of_file(1, limit=1) == [second]
        assert log.newest() == 2


class TestTreeRows:
    def test_the_rows_below_a_folder_are_those_with_its_name_and_a_slash(self, database: Database) -> None:
        table = TreeTable(database.connection, str)
        paths = ["d", "d-x", "d.x", "d/a", "d/a/b", "d/z", "d0", "e"]
        with database.gate, database.transaction(durable=False):
            table.put([row(path) for path in paths])
        assert [found.path for found in table.below("d")] == ["d/a", "d/a/b", "d/z"]
        assert [found.path for found in table.below("")] == sorted(paths, key=lambda path: path.split("/"))
        assert sorted(table.children("d")) == ["d/a", "d/z"]

    def test_everything_below_a_folder_moves_with_it(self, database: Database) -> None:
        table = TreeTable(database.connection, str)
        with database.gate, database.transaction(durable=False):
            table.put([row("d", kind="directory"), row("d/a"), row("d/a/b")])
            table.move_below(row("d", kind="directory"), "new")
        assert [found.path for found in table.below("new")] == ["new/a", "new/a/b"]
        assert table.below("d") == []
        assert table.get("d/a") is None

    def test_a_row_that_changed_while_it_was_synced_stays_unsynced(self, database: Database) -> None:
        table = TreeTable(database.connection, str)
        fill_log(database, 2)
        with database.gate, database.transaction(durable=False):
            table.put([row("f0", number=1, synced=False), row("f1", number=2, synced=False)])
        with database.gate, database.transaction(durable=False):
            table.mark_synced([("f0", 1), ("f1", 1)])
        assert [found.path for found in table.unsynced()] == ["f1"]

    def test_what_another_process_changed_is_read_again(self, database: Database, tmp_path: Path) -> None:
        table = TreeTable(database.connection, str)
        with database.gate, database.transaction(durable=False):
            table.begin(database.generation)
            table.put([row("a", mode=1)])
        with closing(opened(tmp_path)) as other, turn(other) as table_of_other:
            table_of_other.put([row("a", mode=2)])
        with database.gate, database.transaction(durable=False):
            table.begin(database.generation)
            assert table.get("a") == row("a", mode=2)
