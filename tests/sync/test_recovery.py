"""Settling a path whose change is pending: what others do meanwhile is neither undone nor told as a stranger's."""

from __future__ import annotations

from pathlib import Path

from filetools.content.version import version_of
from filetools.facade.facade import FileToolsFacade
from filetools.journal.changes import Change
from filetools.journal.journal import Journal
from filetools.models.records import SYSTEM, Operation
from filetools.paths.workspace_path import WorkspacePath
from tests.support.opened import Once, ScriptedOpening, names_in, recorded


def written(journal: Journal, content: bytes) -> int:
    """Record a new file in "d" whose mark is still on its way; returns the number."""
    change = Change(
        operation=Operation.CREATE, path="d/a", key="d/a", after=version_of(content), content=content,
        size=len(content), mode=0o644,
    )  # fmt: skip
    return journal.commit([change], SYSTEM)[0].number


async def test_a_file_whose_folder_moves_while_it_is_settled_goes_with_the_folder(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").write_bytes(b"a")

    def move_folder(files: FileToolsFacade, number: int) -> None:
        journal = files._parts.journal
        journal.marks.applied([number])
        journal.commit(
            [Change(operation=Operation.MOVE_DIRECTORY, path="e", key="e", old_path="d", old_key="d", applied=True)],
            SYSTEM,
        )
        (tmp_path / "d").rename(tmp_path / "e")

    opening = ScriptedOpening(tmp_path, before=Once("read", lambda: move_folder(files, number), path="d/a"))
    async with opening as files:
        number = written(files._parts.journal, b"a")
        files._parts.recovery.settle(WorkspacePath("d/a"), "d/a")
        assert names_in(tmp_path) == ["e", "e/a"]
        assert ("delete", "d/a", "external") not in await recorded(files)
