"""The tree index: folders follow every commit, files that were found get heads of their own, snapshots share their rows."""

from __future__ import annotations

import pytest

from filetools.journal import IndexRow, Journal, Looked, SnapshotRow
from filetools.models import EntryType, Operation
from tests.support.journals import ALICE, OpenJournal, delete_folder, folder, head_version, move_folder, put, version

IDENTITY = (1, 2, 3, 4, 5)


def make_folder(journal: Journal, key: str) -> None:

    journal.commit([folder(Operation.CREATE_DIRECTORY, key, applied=True)], ALICE)


def folders(journal: Journal) -> list[str]:
    return sorted(key for key, row in journal.tree_index.rows().items() if row.kind == "directory")


def file_row(path: str, content: bytes) -> IndexRow:
    return IndexRow(path, "file", IDENTITY, 0o644, version(content))


def snapshot_of(*paths: str, kind: EntryType = "file", content: bytes = b"1") -> dict[str, SnapshotRow]:
    return {path: SnapshotRow(path, kind, 1, 0o644, version(content)) for path in paths}


def test_folders_follow_what_is_committed(journal: Journal) -> None:
    for key in ("a", "a/b", "ab"):
        make_folder(journal, key)
    assert folders(journal) == ["a", "a/b", "ab"]
    journal.commit([move_folder(journal, "a", "c/d", applied=True)], ALICE)
    assert folders(journal) == ["ab", "c/d", "c/d/b"]
    journal.commit([delete_folder(journal, "c/d", applied=True)], ALICE)
    assert folders(journal) == ["ab"]


def test_a_deletion_that_is_set_back_brings_the_folders_below_back(journal: Journal) -> None:

    for key in ("a", "a/b"):
        make_folder(journal, key)
    (record,) = journal.commit([folder(Operation.DELETE_DIRECTORY, "a")], ALICE)
    assert folders(journal) == []
    journal.commit([folder(Operation.CREATE_DIRECTORY, "a", applied=True, compensates=record.number)], ALICE)
    assert folders(journal) == ["a", "a/b"]


def test_rows_of_files_move_with_their_folder_and_keep_their_state(journal: Journal) -> None:
    make_folder(journal, "a")
    journal.tree_index.save({"a/x": file_row("a/x", b"1")}, [], 0)
    journal.commit([move_folder(journal, "a", "b", applied=True)], ALICE)
    assert journal.tree_index.get("a/x") is None
    assert journal.tree_index.get("b/x") == file_row("b/x", b"1")


def test_a_look_overtaken_by_the_removal_of_a_folder_does_not_bring_its_rows_back(journal: Journal) -> None:
    make_folder(journal, "a")
    position = journal.position()
    journal.commit([folder(Operation.DELETE_DIRECTORY, "a", applied=True)], ALICE)
    assert not journal.tree_index.save({"a/x": file_row("a/x", b"1")}, [], position)
    assert journal.tree_index.rows() == {}


def test_rows_outlive_the_process_and_a_look_is_complete_when_it_says_so(open_journal: OpenJournal) -> None:
    journal = open_journal()
    young = IndexRow("young", "file", None, 0o600, version(b"2"))
    journal.tree_index.save({"a": file_row("a", b"1"), "young": young, "gone": file_row("gone", b"3")}, [], 0)
    journal.tree_index.save({}, ["gone"], 0)
    assert journal.tree_index.looked() is None
    journal.tree_index.complete(Looked(7, 1.5))
    other = open_journal()
    assert other.tree_index.looked() == Looked(7, 1.5)
    assert other.tree_index.rows() == {"a": file_row("a", b"1"), "young": young}


def test_what_is_found_has_a_head_and_no_record(journal: Journal) -> None:
    position = journal.position()
    assert journal.tree_index.found({"a": file_row("a", b"1")}, position)
    head = journal.view("a").head
    assert head is not None
    assert (head.version, head.number, head.applied, journal.position()) == (version(b"1"), 0, True, position)


@pytest.mark.parametrize("content", [b"2", None])
def test_what_was_recorded_since_the_look_is_not_found(journal: Journal, content: bytes | None) -> None:
    position = journal.position()
    put(journal, "a", b"2", applied=True)
    if content is None:
        put(journal, "a", None, operation=Operation.DELETE, applied=True)
    journal.tree_index.found({"a": file_row("a", b"1")}, position)
    assert head_version(journal, "a") == (None if content is None else version(content))


def test_nothing_is_found_once_a_folder_has_moved_since_the_look(journal: Journal) -> None:
    make_folder(journal, "d")
    position = journal.position()
    journal.commit([move_folder(journal, "d", "e", applied=True)], ALICE)
    assert not journal.tree_index.found({"d/x": file_row("d/x", b"1")}, position)
    assert journal.view("d/x").head is None


def test_snapshots_share_rows_and_each_keeps_its_own_tree(journal: Journal) -> None:
    trees = [snapshot_of("a", "b"), snapshot_of("b", "c"), snapshot_of("b", "c", content=b"2"), snapshot_of("a", "b")]
    made = [journal.checkpoints.save(str(number), tree, 0) for number, tree in enumerate(trees)]
    numbers = [one.snapshot for one in made if one is not None and one.snapshot is not None]
    assert [journal.checkpoints.tree(number) for number in numbers] == trees
    assert made[0] is not None
    assert (made[0].files, made[0].bytes) == (2, 2)
    journal.checkpoints.remove("1")
    journal.checkpoints.save("0", trees[2], 0, replace=True)
    left = {one.name: journal.checkpoints.tree(one.snapshot or 0) for one in journal.checkpoints.all()}
    assert left == {"0": trees[2], "2": trees[2], "3": trees[3]}


def test_a_snapshot_whose_name_is_taken_leaves_nothing(journal: Journal) -> None:
    first = journal.checkpoints.save("x", snapshot_of("a"), 0)
    assert journal.checkpoints.save("x", snapshot_of("b"), 0) is None
    assert first is not None
    assert journal.checkpoints.tree(first.snapshot or 0) == snapshot_of("a")


def test_what_a_snapshot_needs_outlives_the_folder_it_was_in(relaxed: Journal) -> None:
    make_folder(relaxed, "d")
    for name, content in (("d/x", b"found"), ("d/y", b"other")):
        relaxed.contents.keep_all({version(content): content})
        relaxed.tree_index.found({name: file_row(name, content)}, relaxed.position())
    relaxed.checkpoints.save("all", snapshot_of("d/x", content=b"found"), relaxed.position())
    relaxed.commit([delete_folder(relaxed, "d", applied=True)], ALICE)
    relaxed.maintain(retention_bytes=0, retention_records=0)
    assert relaxed.contents.get(version(b"found")) == b"found"
    assert relaxed.contents.missing([version(b"found"), version(b"never")]) == {version(b"never")}
    relaxed.checkpoints.remove("all")
    relaxed.marks.synced(range(1, relaxed.position() + 1))
    put(relaxed, "z", b"z", applied=True)
    relaxed.maintain(retention_bytes=0, retention_records=0)
    assert relaxed.contents.missing([version(b"found")]) == {version(b"found")}
