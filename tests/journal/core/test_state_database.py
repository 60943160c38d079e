"""The state database: what is refused, what a full disk does, and what survives."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from filetools.errors import DiskFullError, StateDamagedError, StateVersionError, VersionGoneError
from filetools.journal.core.contents import LARGEST_ROW_BYTES, ContentTable, digest_of
from filetools.journal.core.database import STATE_DATABASE, StateDatabase
from filetools.journal.core.log import Log, LogDraft
from filetools.journal.core.rows import RowSpaces, StoredRow
from filetools.journal.core.tree_rows import TreeRow, TreeTable
from filetools.models.records import Operation
from tests.support.mounts import fill, mounted

LARGE = os.urandom(LARGEST_ROW_BYTES + 1)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[StateDatabase]:
    with closing(StateDatabase(tmp_path)) as opened:
        yield opened


@pytest.fixture
def contents(database: StateDatabase, tmp_path: Path) -> ContentTable:
    return ContentTable(database, tmp_path / "contents")


def keep(database: StateDatabase, contents: ContentTable, content: bytes) -> bytes:
    with database.transaction("FULL"):
        contents.keep(digest_of(content), content)
    return digest_of(content)


def row(path: str, **facts: object) -> TreeRow:
    values = {"key": path, "path": path, "kind": "file", "file": 7, **facts}
    return TreeRow(**values)  # type: ignore[arg-type]  # each test names what it needs


def fill_log(database: StateDatabase, count: int) -> None:
    with database.transaction("NORMAL"):
        log = Log(database)
        draft = LogDraft(log.newest_inside(), 1.0)
        for number in range(count):
            draft.add(Operation.CREATE, f"f{number}", f"f{number}", number)
        log.add(draft.records)


def keep_many(database: StateDatabase, contents: ContentTable) -> None:
    for number in range(1000):
        keep(database, contents, b"%d" % number * 2000)


class TestRefusals:
    def test_a_database_of_another_program_is_refused_and_not_touched(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / STATE_DATABASE)) as other:
            other.execute("CREATE TABLE photos (name)")
        before = (tmp_path / STATE_DATABASE).read_bytes()
        with pytest.raises(StateDamagedError, match="not one of filetools"):
            StateDatabase(tmp_path)
        with closing(sqlite3.connect(tmp_path / STATE_DATABASE)) as other:
            assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("photos",)]
        assert len((tmp_path / STATE_DATABASE).read_bytes()) == len(before)

    def test_another_schema_is_refused(self, tmp_path: Path) -> None:
        StateDatabase(tmp_path).close()
        with closing(sqlite3.connect(tmp_path / STATE_DATABASE)) as other:
            other.execute("PRAGMA user_version = 2")
        with pytest.raises(StateVersionError):
            StateDatabase(tmp_path)

    def test_what_is_no_database_is_damaged(self, tmp_path: Path) -> None:
        (tmp_path / STATE_DATABASE).write_bytes(b"photo" * 1000)
        with pytest.raises(StateDamagedError):
            StateDatabase(tmp_path)

    def test_a_transaction_that_fails_leaves_nothing_behind(self, database: StateDatabase) -> None:
        table = TreeTable(database.write, str)

        def begin_and_fail() -> None:
            with database.transaction("NORMAL"):
                table.begin(database.generation)
                table.put([row("a")])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            begin_and_fail()
        with database.transaction("NORMAL"):
            table.begin(database.generation)
            assert table.get("a") is None


class TestDisks:
    @pytest.fixture
    def small(self, tmp_path: Path) -> Iterator[Path]:
        with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as place:
            yield place

    def test_a_full_disk_refuses_and_heals(self, small: Path) -> None:
        with closing(StateDatabase(small)) as database:
            contents = ContentTable(database, small / "contents")
            kept = keep(database, contents, b"before")
            fill(small)
            with pytest.raises(DiskFullError):
                keep_many(database, contents)
            assert contents.read(kept) == b"before"
            (small / "filler").unlink()
            assert contents.read(keep(database, contents, b"after")) == b"after"

    def test_the_log_stays_small_on_a_small_disk(self, small: Path) -> None:
        with closing(StateDatabase(small)) as database:
            for _ in range(150):
                fill_log(database, 1)
                with database.transaction("NORMAL"):
                    database.write.execute("UPDATE meta SET value = hex(randomblob(2000)) WHERE name = 'epoch'")
            assert (small / f"{STATE_DATABASE}-wal").stat().st_size < 512 * 1024

    def test_it_works_where_processes_share_no_memory(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "seen").mkdir()
        mount = ["bindfs", "-o", "direct_io", str(tmp_path / "real"), str(tmp_path / "seen")]
        try:
            subprocess.run(mount, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("bindfs is not here")
        try:
            with closing(StateDatabase(tmp_path / "seen")) as database:
                assert not database.has_log
                fill_log(database, 3)
                assert [record.path for record in Log(database).after(0)] == ["f0", "f1", "f2"]
        finally:
            subprocess.run(["fusermount", "-uz", str(tmp_path / "seen")], check=False)


class TestContents:
    def test_bytes_that_were_not_kept_are_gone(self, contents: ContentTable) -> None:
        with pytest.raises(VersionGoneError):
            contents.read(digest_of(b"never"))

    @pytest.mark.parametrize("content", [b"small", LARGE], ids=["small", "large"])
    def test_damaged_bytes_are_not_given_out(
        self, database: StateDatabase, contents: ContentTable, tmp_path: Path, content: bytes
    ) -> None:
        digest = keep(database, contents, content)
        for file in (tmp_path / "contents").rglob("*"):
            if file.is_file():
                file.write_bytes(b"x" * len(content))
        with database.transaction("NORMAL"):
            database.write.execute("UPDATE contents SET bytes = x'78' WHERE bytes IS NOT NULL")
        with pytest.raises(VersionGoneError):
            contents.read(digest)

    @pytest.mark.parametrize("content", [b"", b"small", LARGE], ids=["empty", "small", "large"])
    def test_kept_bytes_come_back_also_after_opening_again(self, tmp_path: Path, content: bytes) -> None:
        with closing(StateDatabase(tmp_path)) as database:
            keep(database, ContentTable(database, tmp_path / "contents"), content)
        with closing(StateDatabase(tmp_path)) as database:
            assert ContentTable(database, tmp_path / "contents").read(digest_of(content)) == content

    def test_what_a_dead_process_began_to_write_is_written_anew(
        self, database: StateDatabase, contents: ContentTable, tmp_path: Path
    ) -> None:
        name = digest_of(LARGE).hex()
        (tmp_path / "contents" / name[:2]).mkdir()
        (tmp_path / "contents" / name[:2] / f"{name[2:]}.new").write_bytes(b"half")
        assert contents.read(keep(database, contents, LARGE)) == LARGE
        assert [file.name for file in (tmp_path / "contents" / name[:2]).iterdir()] == [name[2:]]


class TestLog:
    def test_records_come_back_whole_and_in_order(self, database: StateDatabase) -> None:
        log = Log(database)
        draft = LogDraft(0, 5.0)
        first = draft.add(Operation.CREATE, "a", "a", 1, after=b"1" * 32, size=3, mode=0o644)
        second = draft.add(Operation.MOVE, "b", "b", 1, old=("a", "a"), before=b"1" * 32, after=b"1" * 32, undoes=1)
        with database.transaction("NORMAL"):
            log.add(draft.records)
        assert log.after(0) == [first, second]
        assert log.after(1) == log.of_file(1, limit=1) == [second]
        assert log.newest() == 2


class TestTreeRows:
    def test_the_rows_below_a_folder_are_those_with_its_name_and_a_slash(self, database: StateDatabase) -> None:
        table = TreeTable(database.write, str)
        paths = ["d", "d-x", "d.x", "d/a", "d/a/b", "d/z", "d0", "e"]
        with database.transaction("NORMAL"):
            table.put([row(path) for path in paths])
        assert [found.path for found in table.below("d")] == ["d/a", "d/a/b", "d/z"]
        assert [found.path for found in table.below("")] == sorted(paths, key=lambda path: path.split("/"))
        assert sorted(table.children("d")) == ["d/a", "d/z"]

    def test_everything_below_a_folder_moves_with_it(self, database: StateDatabase) -> None:
        table = TreeTable(database.write, str)
        with database.transaction("NORMAL"):
            table.put([row("d", kind="directory"), row("d/a"), row("d/a/b")])
            table.move_below(row("d", kind="directory"), "new")
        assert [found.path for found in table.below("new")] == ["new/a", "new/a/b"]
        assert table.below("d") == []
        assert table.get("d/a") is None

    def test_a_row_that_changed_while_it_was_synced_stays_unsynced(self, database: StateDatabase) -> None:
        table = TreeTable(database.write, str)
        fill_log(database, 2)
        with database.transaction("NORMAL"):
            table.put([row("f0", number=1, synced=False), row("f1", number=2, synced=False)])
        with database.transaction("NORMAL"):
            table.mark_synced([("f0", 1), ("f1", 1)])
        assert [found.path for found in table.unsynced()] == ["f1"]

    def test_what_another_process_changed_is_read_again(self, database: StateDatabase, tmp_path: Path) -> None:
        table = TreeTable(database.write, str)
        with database.transaction("NORMAL"):
            table.begin(database.generation)
            table.put([row("a", mode=1)])
        with closing(StateDatabase(tmp_path)) as other, other.transaction("NORMAL"):
            TreeTable(other.write, str).put([row("a", mode=2)])
        with database.transaction("NORMAL"):
            table.begin(database.generation)
            assert table.get("a") == row("a", mode=2)


class TestRows:
    def test_a_row_that_somebody_changed_is_not_set(self, database: StateDatabase) -> None:
        rows = RowSpaces(database)
        with database.transaction("NORMAL"):
            assert rows.put("notes", "k", b"1", revision=0)
            assert not rows.put("notes", "k", b"2", revision=0)
            assert rows.put("notes", "k", b"2", revision=1)
            assert not rows.put("notes", "k", b"3", revision=1)
        assert rows.get("notes", "k") == StoredRow(key="k", value=b"2", revision=2, expires=None)
        assert rows.get("other", "k") is None

    def test_rows_are_scanned_in_order_and_expire(self, database: StateDatabase) -> None:
        rows = RowSpaces(database)
        with database.transaction("NORMAL"):
            for key, expires in (("b", 5.0), ("a", None), ("c", 50.0)):
                rows.put("s", key, b"", revision=0, expires=expires)
        assert [found.key for found in rows.scan("s", "a")] == ["b", "c"]
        with database.transaction("NORMAL"):
            assert rows.expire(5.0) == 1
            rows.remove("s", "a")
        assert [found.key for found in rows.scan("s")] == ["c"]
