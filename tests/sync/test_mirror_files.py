"""The files of one mirror: what dead processes left there, and whose bytes they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from filetools.content.version import version_of
from filetools.errors import StorageFailedError
from filetools.journal.journal import Journal
from filetools.paths.workspace_path import WorkspacePath
from filetools.sync.mirror_files import MirrorFiles
from tests.support.mirror_worlds import kept_in, local_store, scripted


@pytest.mark.parametrize("moment", ["Displaced.is_untouched", "Displaced.read", "Displaced.discard"])
def test_a_leftover_that_another_process_removes_first_is_nobodys_failure(tmp_path: Path, moment: str) -> None:
    names = [f"999999-1-0-0-00000000{number:08x}" for number in range(3)]
    inner = local_store(tmp_path / "mirror")
    temporary = tmp_path / "mirror" / ".filetools" / "tmp"
    for name in names:
        (temporary / name).write_text(name)

    def remove_first(method: str, path: str) -> None:
        if method == moment:
            next(temporary.iterdir()).unlink()

    journal = Journal(tmp_path, durability="relaxed")
    files = MirrorFiles(scripted(inner, before=remove_first), journal, str, max_foreign_bytes=1024)
    files.sweep()
    assert kept_in(journal) == []
    journal.close()
    assert list(temporary.iterdir()) == []


def test_a_file_that_cannot_be_read_is_replaced(tmp_path: Path) -> None:
    def fail(method: str, path: str) -> None:
        if method == "open":
            raise StorageFailedError(path, "a bad sector")

    inner = local_store(tmp_path / "mirror")
    (tmp_path / "mirror" / "a").write_bytes(b"1")
    journal = Journal(tmp_path, durability="relaxed")
    files = MirrorFiles(scripted(inner, before=fail), journal, str, max_foreign_bytes=1024)
    files.put(WorkspacePath("a"), b"2", version_of(b"2"), None, must_write=False)
    journal.close()
    assert (tmp_path / "mirror" / "a").read_bytes() == b"2"


def test_a_file_of_others_with_the_inode_of_a_discarded_one_is_kept(tmp_path: Path) -> None:
    journal = Journal(tmp_path, durability="relaxed")
    mirror, spare = tmp_path / "mirror", tmp_path / "spare"
    store = local_store(mirror)
    files = MirrorFiles(store, journal, str, max_foreign_bytes=1024)

    def put(path: str, content: bytes) -> None:
        files.put(WorkspacePath(path), content, version_of(content), None, must_write=False)

    put("a", b"1")
    os.link(mirror / "a", spare)  # keeps the inode
    stat = spare.stat()
    put("a", b"2")
    spare.write_bytes(b"x")
    os.utime(spare, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # as within one tick of the clock
    spare.rename(mirror / "b")
    put("b", b"3")
    kept = kept_in(journal)
    journal.close()
    store.close()
    assert kept == [("b", b"x")]
