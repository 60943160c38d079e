"""A file's changes under every name that it has had, however late other programs' moves are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from filetools.journal.journal import Journal
from filetools.journal.sqlite import SqliteJournal
from filetools.models.records import EXTERNAL, Operation
from filetools.versions.lineage import lineage
from filetools.versions.past import JournalPast
from tests.support.journals import ALICE, delete_folder, draft, move_folder, put


def told_late(journal: Journal) -> None:
    """Tell of a file that went along with its folder before the move of the folder is told."""
    put(journal, "old/a", b"1")
    put(journal, "old/b", b"1")
    journal.commit([draft(journal, "old/a", None, applied=True, external=True)], EXTERNAL)
    journal.commit([draft(journal, "new/a", b"1", mode=0o755, applied=True, external=True)], EXTERNAL)
    journal.commit([move_folder(journal, "old", "new", applied=True, external=True)], EXTERNAL)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return SqliteJournal(tmp_path)


def test_a_file_that_was_told_at_its_new_place_before_its_folder_was_keeps_its_mode(journal: Journal) -> None:
    told_late(journal)
    past = JournalPast(journal.history, str)
    assert past.mode_before(put(journal, "new/a", None)) == 0o755
    assert past.mode_before(put(journal, "new/b", None)) == 0o644


def test_a_file_goes_on_under_its_old_name_only_if_it_stood_there(journal: Journal) -> None:
    told_late(journal)
    assert [(one.operation, one.path) for one in lineage(journal.history, "new/a", str)] == [
        (Operation.CREATE, "new/a")
    ]
    assert [one.path for one in lineage(journal.history, "new/b", str)] == ["old/b"]


def test_what_was_told_at_its_new_place_before_its_folder_was_is_known_to_have_been_in_it(journal: Journal) -> None:
    told_late(journal)
    (removal,) = journal.commit([delete_folder(journal, "new", applied=True)], ALICE)
    states = {
        path: None if state is None else state.mode
        for path, state in JournalPast(journal.history, str).tree_before(removal).items()
    }
    assert states == {"new/a": 0o755, "new/b": 0o644}
