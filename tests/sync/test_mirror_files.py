"""The files of one mirror: what dead processes left there, when several processes tidy it up."""

from __future__ import annotations

from pathlib import Path

import pytest

from filetools.journal.journal import Journal
from filetools.paths.workspace_path import WorkspacePath
from filetools.sync.mirror_files import MirrorFiles
from tests.support.mirror_worlds import local_store, scripted


def keep_nothing(path: WorkspacePath, content: bytes) -> None:
    raise AssertionError(path)


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
    files = MirrorFiles(scripted(inner, before=remove_first), journal.contents, keep_nothing, max_foreign_bytes=1024)
    files.sweep()
    journal.close()
    assert list(temporary.iterdir()) == []
