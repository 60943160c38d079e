"""The tree index: folders follow every commit, found files get heads, snapshots share rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, NoReturn

import pytest
from msgspec import structs

from filetools.journal.checkpoints import MOST_AUTOMATIC, Comparison, SnapshotRow, Tree
from filetools.journal.commit import ObservedChanges
from filetools.journal.journal import Journal
from filetools.journal.records import Change
from filetools.journal.storage.contents import digest_of
from filetools.journal.tree_rows import Identity, Looked, ReadVersion, TreeRow, TreeTable
from filetools.models.records import Operation
from filetools.models.words import EntryType
from tests.support.inside import database_of
from tests.support.journals import (
    ALICE,
    OpenJournal,
    delete_folder,
    draft,
    folder,
    head_version,
    move_folder,
    put,
    save,
    tree_of,
    version,
)

IDENTITY = (1, 2, 3, 4, 5)


def make_folder(journal: Journal, key: str) -> None:

    journal.commit([folder(Operation.CREATE_DIRECTORY, key, applied=True)], ALICE)


def folders(journal: Journal) -> list[str]:
    return sorted(journal.tree_index.paths("directory"))


def meet(journal: Journal, key: str, content: bytes | None, identity: Identity | None = IDENTITY) -> None:
    """Let an observation find an unrecorded file."""
    digest = None if content is None else digest_of(version(content))
    row = TreeRow(key=key, path=key, kind="file", file=1, version=digest, mode=0o644, identity=identity)
    assert journal.observe(str, lambda draft, rows: rows.put([row])) == ()


def digest(content: bytes) -> bytes:
    return digest_of(version(content))


def known(journal: Journal, key: str) -> tuple[object, ...] | None:
    """Return what the journal knows of the entry at a key."""
    row = journal.tree_index.get(key)
    return None if row is None else (row.path, row.kind, row.identity, row.mode, row.version, row.number)


def snapshot_of(*paths: str, kind: EntryType = "file", content: bytes = b"1") -> dict[str, SnapshotRow]:
    return {path: SnapshotRow(path, kind, 1, 0o644, version(content)) for path in paths}


def kept(journal: Journal) -> dict[str, Mapping[str, SnapshotRow] | None]:
    """Return the trees of all checkpoints, by name."""
    found = {one.name: journal.checkpoints.snapshot(one.name) for one in journal.checkpoints.all()}
    return {name: one[1] for name, one in found.items() if one is not None}


def needless_rows(journal: Journal) -> list[Any]:
    """Return the rows that belong to no checkpoint."""
    query = (
        "SELECT key, first, last FROM snapshot_rows WHERE NOT EXISTS (SELECT 1 FROM checkpoints"
        " WHERE snapshot BETWEEN first AND coalesce(last, snapshot))"
    )
    return database_of(journal).rows(query)


def before_write(journal: Journal, monkeypatch: pytest.MonkeyPatch, at: int, deed: Callable[[], object]) -> None:
    """Call something just before the N-th write transaction, from 1; after a death no more are made."""
    database, numbers = database_of(journal), count(1)
    write = database.write

    def wrapped(*arguments: Any, **options: Any) -> Any:
        number = next(numbers)
        if number == at or (number > at and deed is die):
            deed()
        return write(*arguments, **options)

    monkeypatch.setattr(database, "write", wrapped)


class DiedError(Exception):
    """Raised instead of the death of a process."""


def die(*_: object) -> NoReturn:
    raise DiedError


def test_folders_follow_what_is_committed(journal: Journal) -> None:
    for key in ("a", "a/b", "ab"):
        make_folder(journal, key)
    assert folders(journal) == ["a", "a/b", "ab"]
    journal.commit([move_folder("a", "c/d", applied=True)], ALICE)
    assert folders(journal) == ["ab", "c/d", "c/d/b"]
    journal.commit([delete_folder("c/d", applied=True)], ALICE)
    assert folders(journal) == ["ab"]


def test_a_deletion_that_is_set_back_brings_the_folders_below_back(journal: Journal) -> None:

    for key in ("a", "a/b"):
        make_folder(journal, key)
    put(journal, "a/b/x", b"1", applied=True)
    meet(journal, "a/y", b"2")
    rows = tree_of(journal)
    (record,) = journal.commit([folder(Operation.DELETE_DIRECTORY, "a")], ALICE)
    assert tree_of(journal) == {}
    journal.commit([folder(Operation.CREATE_DIRECTORY, "a", applied=True, compensates=record.number)], ALICE)
    assert tree_of(journal) == rows


def test_rows_outlive_the_process_and_a_look_is_complete_when_it_says_so(open_journal: OpenJournal) -> None:
    journal = open_journal()
    meet(journal, "a", b"1")
    assert journal.tree_index.looked() is None
    journal.observe(str, lambda draft, rows: rows.note_whole_look(Looked(7, 1.5, "rules")))
    other = open_journal()
    assert other.tree_index.looked() == Looked(7, 1.5, "rules")
    assert list(tree_of(other)) == ["a"]
    assert known(other, "a") == ("a", "file", IDENTITY, 0o644, digest(b"1"), 0)


def test_a_found_file_has_a_head_and_no_record(journal: Journal) -> None:
    position = journal.positions().newest
    meet(journal, "a", b"1")
    head = journal.view("a").head
    assert head is not None
    assert (head.version, head.number, head.applied, journal.positions().newest) == (version(b"1"), 0, True, position)


@pytest.mark.parametrize(("size", "known"), [(IDENTITY[2], b"1"), (IDENTITY[2] + 1, None)])
def test_a_read_version_is_stored_if_the_file_is_unchanged(journal: Journal, size: int, known: bytes | None) -> None:
    meet(journal, "a", None)
    read = ReadVersion("a", "file", digest(b"1"), (*IDENTITY[:2], size, *IDENTITY[3:]), IDENTITY[4])
    journal.tree_index.note_read([read])
    row = journal.tree_index.get("a")
    assert row is not None
    assert row.version == (None if known is None else digest(known))


def test_what_an_editor_opens_is_known_unless_it_is_recorded(journal: Journal) -> None:
    put(journal, "recorded", b"1", applied=True)
    for key in ("new", "recorded"):
        journal.tree_index.note_opened(key, key, version(b"2"))
    assert (head_version(journal, "new"), head_version(journal, "recorded")) == (version(b"2"), version(b"1"))


def test_an_observation_is_recorded_with_its_rows(journal: Journal) -> None:
    put(journal, "d/a", b"1", applied=True)
    make_folder(journal, "d")
    meet(journal, "d/unread", None)

    def look(found: ObservedChanges, rows: TreeTable) -> None:
        folder_row = rows.get("d")
        assert folder_row is not None
        found.add(Operation.LINK, "link", "link")
        gone = found.add(Operation.DELETE_DIRECTORY, "d", "d")
        rows.put([structs.replace(folder_row, kind="absent", number=gone)])

    (record,) = journal.observe(str, look)
    assert (record.operation, record.actor.kind, record.number) == (Operation.DELETE_DIRECTORY, "external", 3)
    assert record.before_unknown  # one of its files was never read
    assert (journal.positions().newest, list(tree_of(journal))) == (3, [])
    assert journal.records(2) == [record]


def test_snapshots_share_rows_and_each_keeps_its_own_tree(journal: Journal) -> None:
    trees = [snapshot_of("a", "b"), snapshot_of("b", "c"), snapshot_of("b", "c", content=b"2"), snapshot_of("a", "b")]
    made = [save(journal, str(number), tree, 0) for number, tree in enumerate(trees)]
    assert kept(journal) == {str(number): tree for number, tree in enumerate(trees)}
    assert made[0] is not None
    assert (made[0].files, made[0].bytes, made[0].rows) == (2, 2, 2)
    journal.checkpoints.remove("1")
    save(journal, "0", trees[2], 0, replace=True)
    assert kept(journal) == {"0": trees[2], "2": trees[2], "3": trees[3]}
    assert needless_rows(journal) == []


def test_a_comparison_has_only_what_differs_unless_the_rules_do_or_the_snapshot_is_gone(journal: Journal) -> None:
    rules, others = version(b"rules"), version(b"others")
    root = SnapshotRow("", "other", None, None, rules)
    for key in ("a", "b", "c"):
        meet(journal, key, b"1")
    first = journal.checkpoints.compare(rules)
    assert (first.is_whole, first.before, sorted(first.now)) == (True, {}, ["a", "b", "c"])
    made = journal.checkpoints.save("x", lambda: structs.replace(first, now={**first.now, "": root}))
    assert made is not None
    same = journal.checkpoints.compare(rules)
    assert (same.is_whole, same.before, same.now) == (False, {"": root}, {})
    meet(journal, "b", b"2")
    put(journal, "d", b"3")
    put(journal, "c", None)
    found = journal.checkpoints.compare(rules, made.snapshot)
    assert (sorted(found.before), sorted(found.now)) == (["", "b", "c"], ["b", "d"])
    assert (found.position, found.now["b"].version, found.unrecorded) == (2, version(b"2"), {"b"})
    other = journal.checkpoints.compare(others, made.snapshot)
    assert (other.is_whole, sorted(other.before), sorted(other.now)) == (True, ["", "a", "b", "c"], ["a", "b", "d"])
    journal.checkpoints.remove("x")
    assert journal.checkpoints.compare(rules, made.snapshot).is_whole


@pytest.mark.parametrize("lost", ["key = 'a'", "key > ''"])
def test_a_snapshot_that_lacks_rows_is_a_number_alone(journal: Journal, lost: str) -> None:
    made = save(journal, "x", snapshot_of("a", "b"), 0)
    database_of(journal).write(lambda connection: connection.execute(f"DELETE FROM snapshot_rows WHERE {lost}"))
    assert journal.checkpoints.snapshot("x") == (made, None)
    save(journal, "y", snapshot_of("a", "b"), 0)
    assert kept(journal) == {"x": None, "y": snapshot_of("a", "b")}


BEFORE = snapshot_of("a", "b", "c", "d", "e")
HALFWAY = {**snapshot_of("a", "f", "g", "h"), **snapshot_of("b", "c", content=b"2")}
AFTER = {**snapshot_of("c", "e", "f", "i"), **snapshot_of("a", "b", "g", content=b"3")}
WRITES = range(1, 4)
"""The rows, the name, and one more than there are."""


@pytest.mark.parametrize("at", WRITES)
@pytest.mark.parametrize("tree", [BEFORE, HALFWAY, AFTER])
def test_a_save_that_dies_leaves_nothing_that_is_seen_or_stays(
    open_journal: OpenJournal, monkeypatch: pytest.MonkeyPatch, at: int, tree: dict[str, SnapshotRow]
) -> None:
    journal, other = open_journal(), open_journal()
    save(journal, "before", BEFORE, 0)
    before_write(journal, monkeypatch, at, die)
    with suppress(DiedError):
        save(journal, "halfway", HALFWAY, 0)
    seen = {"before": BEFORE, "halfway": HALFWAY} if at > 2 else {"before": BEFORE}
    assert kept(other) == seen
    save(other, "after", tree, 0)
    assert kept(other) == {**seen, "after": tree}
    assert needless_rows(other) == []


def test_a_save_just_before_a_removal_loses_no_row(open_journal: OpenJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, other = open_journal(), open_journal()
    save(journal, "before", BEFORE, 0)
    before_write(journal, monkeypatch, 1, lambda: save(other, "after", BEFORE, 0))
    journal.checkpoints.remove("before")
    assert kept(journal) == {"after": BEFORE}
    assert needless_rows(journal) == []


@pytest.mark.parametrize("at", WRITES)
@pytest.mark.parametrize("deed", ["save", "replace", "remove", "save and die"])
def test_whatever_another_process_does_during_a_save_each_snapshot_keeps_its_own_tree(
    open_journal: OpenJournal, monkeypatch: pytest.MonkeyPatch, at: int, deed: str
) -> None:
    journal, other = open_journal(), open_journal()
    save(journal, "oldest", AFTER, 0)
    save(journal, "before", BEFORE, 0)
    expected: dict[str, dict[str, SnapshotRow]] = {"oldest": AFTER, "before": BEFORE, "halfway": HALFWAY}

    def meanwhile() -> None:
        if deed == "remove":
            other.checkpoints.remove("before")
            del expected["before"]
        elif deed == "save and die":
            before_write(other, monkeypatch, 2, die)
            with suppress(DiedError):
                save(other, "after", AFTER, 0)
        else:
            name = "before" if deed == "replace" else "after"
            save(other, name, AFTER, 0, replace=True)
            expected[name] = AFTER

    before_write(journal, monkeypatch, at, meanwhile)
    save(journal, "halfway", HALFWAY, 0)
    assert kept(journal) == expected
    save(journal, "last", BEFORE, 0)
    assert kept(journal) == {**expected, "last": BEFORE}
    assert needless_rows(journal) == []


@pytest.mark.parametrize("at", WRITES)
def test_of_two_that_save_one_name_at_once_one_gets_it(
    open_journal: OpenJournal, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    journal, other = open_journal(), open_journal()
    save(journal, "before", BEFORE, 0)
    before_write(journal, monkeypatch, at, lambda: save(other, "x", AFTER, 0))
    made = save(journal, "x", HALFWAY, 0)
    assert kept(journal) == {"before": BEFORE, "x": AFTER if made is None else HALFWAY}
    assert needless_rows(journal) == []
    assert (made is None) == (at <= 2)


def test_what_a_snapshot_needs_outlives_the_folder_it_was_in(journal: Journal) -> None:
    make_folder(journal, "d")
    for name, content in (("d/x", b"found"), ("d/y", b"other")):
        journal.contents.keep_all([(version(content), content)])
        meet(journal, name, content)
    save(journal, "all", snapshot_of("d/x", content=b"found"), journal.positions().newest)
    journal.commit([delete_folder("d", applied=True)], ALICE)
    journal.retention.collect(retention_bytes=0, retention_records=0)
    assert journal.contents.get(version(b"found")) == b"found"
    assert [journal.contents.has(version(each)) for each in (b"found", b"never")] == [True, False]
    journal.checkpoints.remove("all")
    journal.marks.synced(range(1, journal.positions().newest + 1))
    put(journal, "z", b"z", applied=True)
    journal.retention.collect(retention_bytes=0, retention_records=0)
    assert not journal.contents.has(version(b"found"))


def ids(journal: Journal) -> dict[str, int]:
    return dict(database_of(journal).rows("SELECT key, file FROM tree"))


def moved(journal: Journal, old: str, new: str) -> Change:
    ends = {"old_path": old, "old_key": old}
    return draft(journal, new, b"1", operation=Operation.MOVE, content=None, applied=True, **ends)


def test_a_file_keeps_its_id_over_moves_deletion_and_coming_back(journal: Journal) -> None:
    for key in ("d/a", "d/gone"):
        put(journal, key, b"1", applied=True)
    put(journal, "d/gone", None, applied=True)
    make_folder(journal, "d")
    first = ids(journal)
    journal.commit([moved(journal, "d/a", "d/b")], ALICE)
    assert ids(journal)["d/b"] == first["d/a"] != ids(journal)["d/a"]
    journal.commit([move_folder("d", "t", applied=True)], ALICE)
    found = {key: ids(journal)[key] for key in ("t", "t/b", "t/gone")}
    assert found == {"t": first["d"], "t/b": first["d/a"], "t/gone": first["d/gone"]}
    journal.commit([delete_folder("t", applied=True)], ALICE)
    put(journal, "t/b", b"2", applied=True)
    assert {key: ids(journal)[key] for key in found} == found


def test_a_move_that_is_set_back_gives_the_id_back(journal: Journal) -> None:
    put(journal, "a", b"1", applied=True)
    first, seen = ids(journal), {"content": None, "applied": True}
    (record,) = journal.commit([moved(journal, "a", "b")], ALICE)
    back = draft(journal, "a", b"1", compensates=record.number, **seen)
    journal.commit([back, draft(journal, "b", None, compensates=record.number, **seen)], ALICE)
    assert (head_version(journal, "a"), head_version(journal, "b")) == (version(b"1"), None)
    assert ids(journal)["a"] == first["a"] != ids(journal)["b"]


def test_a_found_file_is_known_until_it_has_another_version(journal: Journal) -> None:
    met = (1, 2, len(b"1"), 4, 5)
    meet(journal, "d/a", b"1", met)
    journal.commit([moved(journal, "d/a", "d/b")], ALICE)
    journal.commit([move_folder("d", "t", applied=True)], ALICE)
    assert known(journal, "t/b") == ("t/b", "file", met, 0o644, digest(b"1"), 1)
    put(journal, "t/b", b"2", applied=True)
    assert known(journal, "t/b") == ("t/b", "file", None, 0o644, digest(b"2"), 3)


def test_the_removal_of_a_file_stays_recorded_while_a_folder_has_its_name(journal: Journal) -> None:
    put(journal, "a", b"1", applied=True)
    put(journal, "a", None, applied=True)
    gone = journal.view("a").head
    make_folder(journal, "a")
    assert (journal.view("a").head, folders(journal)) == (gone, ["a"])
    journal.commit([move_folder("a", "b", applied=True)], ALICE)
    assert (journal.view("a").head, journal.view("b").head, folders(journal)) == (gone, None, ["b"])
    journal.commit([move_folder("b", "a", applied=True)], ALICE)
    (record,) = journal.commit([delete_folder("a")], ALICE)
    assert (journal.view("a").head, folders(journal)) == (gone, [])
    journal.commit([folder(Operation.CREATE_DIRECTORY, "a", applied=True, compensates=record.number)], ALICE)
    assert (journal.view("a").head, folders(journal)) == (gone, ["a"])


def automatic(journal: Journal, *names: str) -> None:
    for name in names:
        assert save(journal, name, snapshot_of(name), 0, automatic=True) is not None


def test_the_last_automatic_checkpoints_are_kept_and_named_ones_all(journal: Journal) -> None:
    save(journal, "first", snapshot_of("first"), 0)
    automatic(journal, *(f"{number}" for number in range(MOST_AUTOMATIC + 2)))
    save(journal, "last", snapshot_of("last"), 0)
    names = ["first", *(f"{number}" for number in range(2, MOST_AUTOMATIC + 2)), "last"]
    assert kept(journal) == {name: snapshot_of(name) for name in names}
    assert needless_rows(journal) == []


def test_automatic_checkpoints_expire_the_oldest_first_and_the_newest_never(journal: Journal) -> None:
    assert not journal.checkpoints.expire()
    save(journal, "named", snapshot_of("x"), 0)
    assert not journal.checkpoints.expire()
    automatic(journal, "c", "b", "a")
    save(journal, "b", snapshot_of("b"), 0, replace=True)  # has a name now
    assert [journal.checkpoints.expire(), journal.checkpoints.expire()] == [True, False]
    assert set(kept(journal)) == {"named", "b", "a"}
    assert needless_rows(journal) == []


def test_bytes_are_kept_once_the_rows_protect_them(journal: Journal) -> None:
    def keep(_: object) -> frozenset[str]:
        journal.contents.keep_all([(version(b"1"), b"1")])
        journal.retention.collect(retention_bytes=0, retention_records=0)
        return frozenset()

    assert save(journal, "x", snapshot_of("a"), 0, keep=keep)
    assert journal.contents.get(version(b"1")) == b"1"


def test_each_opening_asks_only_for_the_bytes_that_the_newest_snapshot_lacks(open_journal: OpenJournal) -> None:
    root = SnapshotRow("", "other", None, None, version(b"rules"))
    asked = list[list[str]]()
    for key in ("a", "b", "c"):
        meet(open_journal(), key, key.encode())
    for lacking in ({"b", "c"}, {"c"}, {"c"}, set[str]()):
        journal = open_journal()

        def compare(journal: Journal = journal) -> Comparison:
            found = journal.checkpoints.compare(version(b"rules"))
            return structs.replace(found, now={**found.now, "": root})

        def keep(rows: Tree, lacking: set[str] = lacking) -> set[str]:
            asked.append(sorted(rows))
            return lacking

        assert journal.checkpoints.save("x", compare, replace=True, keep=keep)
    assert asked == [["", "a", "b", "c"], ["b", "c"], ["c"], ["c"]]
    assert open_journal().checkpoints.compare(version(b"rules")).lacking == {}


def test_where_bytes_cannot_be_kept_there_is_no_checkpoint_and_the_next_one_removes_its_rows(journal: Journal) -> None:
    with pytest.raises(DiedError):
        save(journal, "x", snapshot_of("a"), 0, keep=die)
    assert kept(journal) == {}
    assert save(journal, "y", snapshot_of("b"), 0)
    assert (list(kept(journal)), needless_rows(journal)) == (["y"], [])
