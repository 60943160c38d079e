"""A journal on small disks, and on disks without shared memory; and its rows of the tree."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from filetools.content.version import version_of
from filetools.errors import DiskFullError
from filetools.journal.commit import ObservedChanges
from filetools.journal.journal import Journal
from filetools.journal.storage.birth import PARTS
from filetools.journal.tree_rows import TreeRow, TreeTable
from filetools.models.records import Operation
from tests.support.inside import database_of
from tests.support.journals import put, worker
from tests.support.mounts import fill, mounted


def put_many(journal: Journal) -> None:
    for number in range(1000):
        put(journal, f"f{number}", b"%d" % number * 2000)


def row(path: str, **facts: object) -> TreeRow:
    values = {"key": path, "path": path, "kind": "file", "file": 7, **facts}
    return TreeRow(**values)  # type: ignore[arg-type]  # each test names what it needs


@contextmanager
def unshared(place: Path) -> Iterator[Path]:
    """A folder on a file system without shared memory."""
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


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=4m", "tmpfs") as place:
        yield place


def test_a_full_disk_refuses_and_heals(small: Path) -> None:
    with closing(Journal(small)) as journal:
        put(journal, "a", b"before")
        fill(small)
        with pytest.raises(DiskFullError):
            put_many(journal)
        assert journal.contents.get(version_of(b"before")) == b"before"
        (small / "filler").unlink()
        put(journal, "a", b"after")
        assert journal.contents.get(version_of(b"after")) == b"after"


def test_the_log_stays_small_on_a_small_disk(small: Path) -> None:
    with closing(Journal(small)) as journal:
        change = "UPDATE meta SET value = hex(randomblob(2000)) WHERE name = 'epoch'"
        for _ in range(150):
            put(journal, "a", b"1")
            database_of(journal).write(lambda connection: connection.execute(change), durable=False)
        assert (small / PARTS[1]).stat().st_size < 1024 * 1024


def test_it_works_without_shared_memory(tmp_path: Path) -> None:
    with unshared(tmp_path) as place:
        with closing(Journal(place)) as journal, closing(Journal(place)) as other:
            assert not database_of(journal).has_log
            numbers = [put(journal, f"f{number}", b"1").number for number in range(3)]
            assert [record.number for record in other.records()] == numbers
        with closing(Journal(place)) as journal:
            assert journal.positions().newest == numbers[-1]


def test_a_journal_without_shared_memory_keeps_its_epoch_and_what_a_killed_process_committed(
    tmp_path: Path,
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
            assert journal.positions().newest >= int(acknowledged.split()[1])
            assert put(journal, "b", b"2").number == journal.positions().newest


def test_the_rows_below_a_folder_are_those_with_its_name_and_a_slash(tmp_path: Path) -> None:
    paths = ["d", "d-x", "d.x", "d/a", "d/a/b", "d/z", "d0", "e"]

    def look(_: object, rows: TreeTable) -> None:
        rows.put([row(path) for path in paths])
        assert [found.path for found in rows.below("d")] == ["d/a", "d/a/b", "d/z"]
        assert [found.path for found in rows.below("")] == sorted(paths, key=lambda path: path.split("/"))
        assert sorted(row.key for row in rows.children("d")) == ["d/a", "d/z"]

    with closing(Journal(tmp_path)) as journal:
        journal.observe(str, look)


def test_everything_below_a_folder_moves_with_it(tmp_path: Path) -> None:
    def look(found: ObservedChanges, rows: TreeTable) -> None:
        rows.put([row("d", kind="directory"), row("d/a"), row("d/a/b")])
        found.add(Operation.MOVE_DIRECTORY, "new", "new", old=("d", "d"))
        assert [found.path for found in rows.below("new")] == ["new/a", "new/a/b"]
        assert rows.below("d") == []
        assert rows.get("d/a") is None

    with closing(Journal(tmp_path)) as journal:
        journal.observe(str, look)
