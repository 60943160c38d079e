"""The contract of every journal: documents that editors have open."""

from __future__ import annotations

import os
import time

import pytest
from msgspec.structs import replace

from filetools.content.editing.text_edits import TextEdit
from filetools.content.formats import TextFormat
from filetools.journal.commit import HeadMovedError
from filetools.journal.documents import Document, DocumentChange, Handle
from filetools.journal.journal import Journal
from filetools.models.records import Actor, RecordState
from tests.support.journals import ALICE, OpenJournal, draft, move_folder, put
from tests.support.journals import version as v

ANN = Actor(kind="editor", id="ann", session="window")
UTF_8 = TextFormat(encoding="utf-8", bom=b"")


def opened(journal: Journal, key: str = "a", text: str = "one\n", handle: str = "h") -> Document:
    new = Document(id=f"doc-{key}", key=key, path=key, base=None, text_format=UTF_8)
    held = Handle(name=f"{handle}-{key}", document_id="", actor=ANN, leased_until=time.time() + 60)
    return journal.documents.open(new, text, held)


def typed(document: Document, text: str, *, dirty: bool = True) -> DocumentChange:
    after = replace(document, version=document.version + 1, is_dirty=dirty)
    return DocumentChange(document=after, text=text, edits=(TextEdit(0, 0, "x"),), removed=("",), reason="typed")


def text_of(journal: Journal, document: Document) -> str | None:
    found = journal.documents.text(document.id)
    return None if found is None else found[1]


def test_a_change_on_an_older_version_is_refused_and_leaves_no_trace(journal: Journal) -> None:
    document = opened(journal)
    assert journal.documents.advance(typed(document, "two\n"), ANN)
    assert not journal.documents.advance(typed(document, "late\n"), ANN)
    assert text_of(journal, document) == "two\n"
    assert [edit.version for edit in journal.documents.history(document.id, 0)] == [2]


def test_a_commit_on_an_older_document_records_nothing(journal: Journal) -> None:
    document = opened(journal)
    change = draft(journal, "a", b"1", document=typed(document, "merged\n"))
    journal.documents.advance(typed(document, "typed\n"), ANN)
    with pytest.raises(HeadMovedError):
        journal.commit([change], ALICE)
    with pytest.raises(HeadMovedError):
        journal.commit([replace(change)], ALICE)
    assert (journal.positions().newest, text_of(journal, document)) == (0, "typed\n")


def test_a_document_with_a_handle_is_not_closed(journal: Journal) -> None:
    document = opened(journal)
    with pytest.raises(HeadMovedError):
        journal.commit([draft(journal, "a", b"1", document=document)], ALICE)
    assert text_of(journal, document) == "one\n"


def test_file_and_document_change_in_one_commit(journal: Journal) -> None:
    document = opened(journal)
    journal.commit([draft(journal, "a", b"1", document=typed(document, "both\n"))], ALICE)
    found = journal.documents.text(document.id)
    assert found == (replace(document, version=2, is_dirty=True), "both\n")
    (edit,) = journal.documents.history(document.id, 1)
    assert (edit.actor.id, edit.edits) == ("alice", (TextEdit(0, 0, "x"),))


def test_a_change_of_only_the_document_does_not_become_the_head(journal: Journal) -> None:
    document = opened(journal)
    change = replace(typed(document, "agent\n"), is_parent=True)
    journal.mirrors.register("m")
    (record,) = journal.commit([draft(journal, "a", b"agent\n", buffered=True, document=change)], ALICE)
    assert record.state is RecordState.BUFFER
    assert (journal.view("a").head, journal.backlog.count("m")) == (None, 0)
    found = journal.documents.text(document.id)
    assert found is not None
    assert found[0].parents == (record.number,)
    assert journal.contents.get(v(b"agent\n")) == b"agent\n"


def test_the_second_editor_joins_the_first_ones_document(journal: Journal) -> None:
    document = opened(journal)
    journal.documents.advance(typed(document, "two\n"), ANN)
    again = opened(journal, text="other\n", handle="i")
    assert (again.id, again.version, text_of(journal, again)) == (document.id, 2, "two\n")


def test_a_clean_document_is_closed_with_its_last_handle_and_a_dirty_one_is_kept(journal: Journal) -> None:
    clean, dirty = opened(journal, "a"), opened(journal, "b")
    journal.documents.advance(typed(dirty, "two\n"), ANN)
    for handle in ("h-a", "h-b", "h-b"):
        journal.documents.release(handle)
    left = replace(dirty, version=2, is_dirty=True)
    assert journal.documents.all() == [left]
    assert text_of(journal, clean) is None


def test_documents_below_a_moved_folder_move_with_it(journal: Journal) -> None:
    put(journal, "d/a", b"1")
    inside, beside = opened(journal, "d/a"), opened(journal, "da")
    journal.commit([move_folder("d", "e")], ALICE)
    moved = {document.key: document for document in journal.documents.all()}
    assert moved == {"e/a": replace(inside, key="e/a", path="e/a"), "da": beside}


def test_the_documents_of_a_folder_are_those_at_its_path_and_below_it(journal: Journal) -> None:
    keys = {"d/a", "d-", "da", "d", "\U0010ffff"}
    for key in keys:
        opened(journal, key)
    assert {document.key for document in journal.documents.all("d")} == {"d/a", "d"}
    assert {document.key for document in journal.documents.all()} == keys


def test_what_a_document_builds_on_is_never_forgotten(journal: Journal) -> None:
    for index in range(30):
        journal.marks.synced([put(journal, "a", os.urandom(100) + b"%d" % index).number])
    content = b"base of an open document"
    journal.contents.keep(content, v(content))
    new = Document(id="doc", key="a", path="a", base=v(content), text_format=UTF_8)
    journal.documents.open(new, content.decode(), Handle(name="h", document_id="", actor=ANN, leased_until=0))
    journal.retention.collect(retention_bytes=0, retention_records=0)
    assert journal.contents.get(v(content)) == content


def test_changes_of_documents_are_returned_from_a_position_on(open_journal: OpenJournal) -> None:
    first, second = open_journal(), open_journal()
    moved, closed = opened(first, "d/a"), opened(first, "b")
    everything = second.documents.changed(0)
    assert (set(everything.documents), everything.closed) == ({moved, closed}, None)
    assert second.documents.changed(everything.position) == replace(everything, documents=(), closed=frozenset())
    first.commit([move_folder("d", "e")], ALICE)
    first.documents.release("h-b")
    new = opened(first, "c")
    first.documents.advance(typed(new, "two\n"), ANN)
    news = second.documents.changed(everything.position)
    assert set(news.documents) == {replace(moved, key="e/a", path="e/a"), replace(new, version=2, is_dirty=True)}
    assert news.closed == frozenset({closed.id})
    assert second.documents.changed(news.position).documents == ()
