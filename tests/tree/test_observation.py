"""What one observation records, and in which order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import structs

from filetools.content.identity_cache import CLOCK_TICK_NS
from filetools.content.version import version_of
from filetools.errors import StorageFailedError
from filetools.journal.commit import ObservedChanges
from filetools.journal.journal import Journal
from filetools.journal.storage.contents import version_from
from filetools.journal.tree_rows import Looked, TreeRow, TreeTable
from filetools.models.records import ChangeRecord, Operation
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local import LocalStore
from filetools.stores.store import FileStat, PrimaryStore
from filetools.stores.system import RENAME_EXCHANGE, rename_with_flags
from filetools.tree.hints import FolderId
from filetools.tree.moves import ObservationContext
from filetools.tree.observation import MOST_LOOKS, Observation
from tests.support.hinted import folder_id
from tests.support.storms.pictures import on_disk, replayed
from tests.support.unprivileged import as_nobody


class Told(NamedTuple):
    """A record, with the bytes that its hashes stand for."""

    kind: str
    path: str
    old_path: str | None = None
    before: str | None = None
    after: str | None = None
    size: int | None = None


class Looker:
    """Looks at a root, and collects what was recorded."""

    def __init__(self, root: Path, workspace: Workspace, store: PrimaryStore, journal: Journal) -> None:
        self.root = root
        self.store = store
        self.journal = journal
        self.key_of = workspace.key
        self.is_left_out: Callable[[str, bool], bool] = lambda path, is_folder: False
        self.records: list[ChangeRecord] = []
        self.last: Observation
        self.doubtful: frozenset[str] = frozenset()

    def whole(self) -> list[Told]:
        told = self.look(Observation.whole_tree)
        self.in_rows(lambda rows: rows.note_whole_look(Looked(0, 0.0)))
        return told

    def hinted(self, *paths: str) -> list[Told]:
        """Look at names as hints give them: a folder's inode and a name in it."""
        hints: dict[FolderId, frozenset[str]] = {}
        for place in (self.root / path for path in paths if (self.root / path).parent.is_dir()):
            hints[folder_id(place.parent)] = hints.get(folder_id(place.parent), frozenset()) | {place.name}
        return self.look(lambda observation: observation.hinted(hints))

    def again(self) -> list[Told]:
        """Look at what the last observation left to be looked at again."""
        hints, self.doubtful = self.last.again, self.last.missing
        return self.look(lambda observation: observation.hinted(hints))

    def named(self, *paths: str) -> list[Told]:
        return self.look(lambda observation: observation.named(map(WorkspacePath, paths)))

    def look(self, look: Callable[[Observation], None]) -> list[Told]:
        def work(found: ObservedChanges, rows: TreeTable) -> None:
            context = ObservationContext(
                rows=rows, store=self.store, contents=self.journal.contents, found=found, is_left_out=self.is_left_out,
                knows_all=self.journal.tree_index.looked() is not None, largest_kept_bytes=1024 * 1024,
            )  # fmt: skip
            self.last = Observation(context, self.doubtful)
            look(self.last)

        records = self.journal.observe(self.key_of, work)
        self.doubtful = frozenset()
        self.records += records
        return [self._told(record) for record in records]

    def in_rows(self, work: Callable[[TreeTable], None]) -> None:
        self.journal.observe(self.key_of, lambda _, rows: work(rows))

    def at(self, path: str) -> TreeRow | None:
        return self.journal.tree_index.get(self.key_of(path))

    def _told(self, record: ChangeRecord) -> Told:
        before, after = (self._text(version) for version in (record.before, record.after))
        return Told(str(record.operation), record.path, record.old_path, before, after, record.size)

    def _text(self, version: str | None) -> str | None:
        return None if version is None else self.journal.contents.get(version).decode()

    def write(self, path: str, text: str = "x") -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def exchange(self, one: str, other: str) -> None:
        rename_with_flags((0, str(self.root / one)), (0, str(self.root / other)), RENAME_EXCHANGE)

    def check_follower(self) -> None:
        """Assert that a follower of all records has the tree of the disk."""
        tree, faults = replayed({}, self.records)
        assert faults == []
        assert {path: node.version for path, node in tree.items()} == {
            path: node.version for path, node in on_disk(self.root).items()
        }


Opener = Callable[..., Looker]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Opens a root that was looked at while it was empty."""
    with ExitStack() as stack:

        def opener(*, tick_ns: int | None = None, found: bool = False) -> Looker:
            root = tmp_path / "root"
            root.mkdir(exist_ok=True)
            workspace, directory = Workspace.open(root), root / ".filetools" / "state"
            directory.mkdir(parents=True)
            store = LocalStore(workspace, private_directory=directory, tick_ns=tick_ns)
            journal = stack.enter_context(closing(Journal(directory)))
            stack.callback(store.close)
            stack.callback(workspace.close)
            looker = Looker(root, workspace, store, journal)
            if not found:
                assert looker.whole() == []
            return looker

        yield opener


@pytest.fixture
def looker(opened: Opener) -> Looker:
    return opened()


# -- what is not recorded --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "shown"), [(b"caf\xe9", r"caf\xe9"), (b"back\\slash", r"back\\slash")])
def test_a_name_that_no_call_can_have_is_unread_and_shown_as_in_listings(
    looker: Looker, name: bytes, shown: str
) -> None:
    (looker.root / os.fsdecode(name)).write_text("x")
    assert looker.whole() == []
    assert looker.last.unnamed == [shown]


def test_what_may_not_be_read_is_unread_and_recorded_once_it_can(tmp_path: Path, opened: Opener) -> None:
    def act() -> None:
        looker = opened()
        looker.write("closed.txt").chmod(0)
        assert looker.whole() == []
        assert looker.last.unread == ["closed.txt"]
        (looker.root / "closed.txt").chmod(0o600)
        assert looker.hinted("closed.txt") == [Told("create", "closed.txt", after="x", size=1)]

    as_nobody(tmp_path, act)


def test_a_file_that_is_open_for_writing_is_looked_at_later(looker: Looker) -> None:
    with open(looker.root / "a", "w") as file:
        file.write("half")
        file.flush()
        assert looker.hinted("a") == []
        assert looker.last.busy == ["a"]
        assert (looker.last.again, looker.last.later) == ({}, {folder_id(looker.root): frozenset("a")})
    assert looker.hinted("a") == [Told("create", "a", after="half", size=4)]


def test_a_pipe_is_not_recorded_and_takes_a_file_away(looker: Looker) -> None:
    looker.write("a")
    looker.whole()
    (looker.root / "a").unlink()
    os.mkfifo(looker.root / "a")
    assert looker.whole() == [Told("delete", "a", before="x")]


def test_what_was_found_is_not_recorded_before_it_changes(opened: Opener) -> None:
    looker = opened(found=True)
    looker.write("old")
    assert looker.whole() == []
    assert looker.whole() == []
    looker.write("old", "newer")
    assert looker.whole() == [Told("modify", "old", after="newer", size=5)]


def test_a_change_before_the_first_whole_look_is_found_with_the_file(opened: Opener) -> None:
    looker = opened(found=True)
    looker.write("old")
    assert looker.named("old") == []
    looker.write("old", "newer")
    assert looker.whole() == []


def _leaves_out_build(path: str, _is_folder: bool) -> bool:
    return path.split("/")[0] == "build"


@pytest.fixture
def ignoring(opened: Opener) -> Looker:
    looker = opened()
    looker.is_left_out = _leaves_out_build
    return looker


def test_ignored_paths_are_not_recorded(ignoring: Looker) -> None:
    ignoring.write("build/a")
    assert ignoring.whole() == []
    assert ignoring.hinted("build") == []


def test_an_ignored_file_that_a_call_only_looked_at_is_never_recorded(ignoring: Looker) -> None:
    ignoring.write("build/a")
    assert ignoring.named("build/a") == []
    ignoring.write("build/a", "newer")
    assert ignoring.hinted("build/a") == []
    (ignoring.root / "build/a").unlink()
    assert ignoring.named("build/a") == []


def test_an_ignored_file_that_left_for_another_place_is_new_there(ignoring: Looker) -> None:
    ignoring.write("build/a")
    ignoring.named("build/a")
    (ignoring.root / "build/a").rename(ignoring.root / "a")
    assert ignoring.hinted("a", "build/a") == [Told("create", "a", after="x", size=1)]


def test_an_ignored_file_that_has_a_record_is_recorded(ignoring: Looker) -> None:
    ignoring.write("build/a")
    ignoring.is_left_out = lambda path, is_folder: False
    ignoring.whole()
    ignoring.is_left_out = _leaves_out_build
    ignoring.write("build/a", "newer")
    assert ignoring.hinted("build/a") == [Told("modify", "build/a", before="x", after="newer", size=5)]


def test_a_whole_look_compares_ignored_files_that_have_a_record(ignoring: Looker) -> None:
    ignoring.write("build/deep/a")
    ignoring.write("build/deep/b")
    ignoring.is_left_out = lambda path, is_folder: False
    ignoring.whole()
    ignoring.is_left_out = _leaves_out_build
    ignoring.write("build/deep/a", "newer")
    (ignoring.root / "build/deep/b").unlink()
    ignoring.write("build/deep/new")
    assert ignoring.whole() == [
        Told("modify", "build/deep/a", before="x", after="newer", size=5), Told("delete", "build/deep/b", before="x")
    ]  # fmt: skip
    ignoring.write("build/deep/b", "again")
    assert ignoring.hinted("build/deep/b") == [Told("create", "build/deep/b", after="again", size=5)]


# -- files -----------------------------------------------------------------------------------------------------------


def test_a_new_file_is_created(looker: Looker) -> None:
    looker.write("a/b")
    assert looker.hinted("a") == [Told("create_directory", "a"), Told("create", "a/b", after="x", size=1)]
    assert looker.last.new_folders == ["a"]


def test_other_bytes_are_a_modification_and_other_times_are_nothing(looker: Looker) -> None:
    place = looker.write("a", "one")
    looker.whole()
    place.write_text("three")
    assert looker.hinted("a") == [Told("modify", "a", before="one", after="three", size=5)]
    os.utime(place, (1, 1))
    assert looker.hinted("a") == []


def test_a_file_younger_than_a_tick_is_read_again(opened: Opener) -> None:
    looker = opened(tick_ns=CLOCK_TICK_NS)
    place = looker.write("a", "one")
    found = place.stat()
    assert looker.hinted("a") == [Told("create", "a", after="one", size=3)]
    assert looker.last.again == {folder_id(looker.root): frozenset("a")}
    place.write_text("two")
    os.utime(place, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert looker.again() == [Told("modify", "a", before="one", after="two", size=3)]


def test_a_young_file_that_moved_is_read_again_too(opened: Opener) -> None:
    looker = opened(tick_ns=CLOCK_TICK_NS)
    looker.write("a", "one").chmod(0o644)
    looker.hinted("a")
    (looker.root / "a").rename(looker.root / "b")
    assert looker.hinted("a", "b") == [Told("move", "b", "a", "one", "one", 3)]
    assert looker.last.again == {folder_id(looker.root): frozenset("b")}


def test_a_file_that_is_gone_is_deleted_when_a_second_look_misses_it_too(looker: Looker) -> None:
    looker.write("a")
    looker.whole()
    (looker.root / "a").unlink()
    assert looker.hinted("a") == []
    assert looker.last.missing == {"a"}
    assert looker.again() == [Told("delete", "a", before="x")]


def test_a_file_that_a_call_names_is_deleted_at_once(looker: Looker) -> None:
    looker.write("a")
    looker.whole()
    (looker.root / "a").unlink()
    assert looker.named("a") == [Told("delete", "a", before="x")]


def test_saving_by_renaming_is_one_modification(looker: Looker) -> None:
    place = looker.write("a", "one")
    looker.whole()
    place.rename(looker.root / ".a~")
    assert looker.hinted("a") == []
    place.write_text("newer")
    (looker.root / ".a~").unlink()
    assert looker.again() == [Told("modify", "a", before="one", after="newer", size=5)]


def test_a_second_hard_link_is_a_creation(looker: Looker) -> None:
    looker.write("a").with_name("b").hardlink_to(looker.write("a"))
    assert looker.whole() == [Told("create", "a", after="x", size=1), Told("create", "b", after="x", size=1)]


@pytest.mark.parametrize("afterwards", ["", "unlink", "replace", "rename"])
def test_bytes_written_through_one_hard_link_are_noticed_at_the_other(looker: Looker, afterwards: str) -> None:
    place = looker.write("a")
    (looker.root / "d").mkdir()
    (looker.root / "d/b").hardlink_to(place)
    looker.whole()
    place.write_text("newer")
    if afterwards == "unlink":
        place.unlink()
    elif afterwards == "replace":
        looker.write("other", "x").replace(place)
    elif afterwards == "rename":
        place.rename(looker.root / "c")
    looker.hinted("a", "c")
    seen = Told("modify", "d/b", before="x", after="newer", size=5)
    assert seen in (looker.again() if afterwards != "unlink" else [*looker.again(), *looker.again()])


def test_a_link_is_known_and_not_recorded(looker: Looker) -> None:
    place, seen = looker.root / "l", []
    for target in ("one", "three", None):
        place.unlink(missing_ok=True)
        if target is not None:
            place.symlink_to(target)
        assert looker.named("l") == []
        row = looker.at("l")
        seen.append(None if row is None else version_from(row.version))
    assert seen == [version_of(b"one"), version_of(b"three"), None]


# -- moves -----------------------------------------------------------------------------------------------------------


def test_a_file_that_was_given_the_inode_of_another_has_not_moved(looker: Looker) -> None:
    for number in range(100):
        old, new = looker.write(f"old{number}"), looker.root / f"new{number}"
        looker.whole()
        inode = old.stat().st_ino
        old.unlink()
        new.write_text("longer")
        if new.stat().st_ino == inode:
            break
    else:
        pytest.skip("this file system does not use inodes again")
    assert looker.whole() == [
        Told("create", new.name, after="longer", size=6), Told("delete", old.name, before="x")
    ]  # fmt: skip


def test_a_moved_file_keeps_its_id(looker: Looker) -> None:
    looker.write("a")
    looker.whole()
    files: list[int] = []
    looker.in_rows(lambda rows: files.extend(row.file for row in rows.below("")))
    (looker.root / "a").rename(looker.root / "b")
    assert looker.hinted("a", "b") == [Told("move", "b", "a", "x", "x", 1)]
    looker.in_rows(lambda rows: files.extend(row.file for row in rows.below("")))
    assert len(files) == 2
    assert files[0] == files[1]


def test_a_moved_folder_is_compared_whole(looker: Looker) -> None:
    looker.write("a/same")
    looker.write("a/other")
    looker.whole()
    looker.write("a/other", "newer")
    looker.write("a/deep/new")
    (looker.root / "a").rename(looker.root / "b")
    assert looker.hinted("b") == [
        Told("move_directory", "b", "a"), Told("create_directory", "b/deep"),
        Told("modify", "b/other", before="x", after="newer", size=5), Told("create", "b/deep/new", after="x", size=1),
    ]  # fmt: skip
    looker.check_follower()


def test_a_hint_finds_a_folder_that_has_moved_since(looker: Looker) -> None:
    looker.write("a/f")
    (looker.root / "b").mkdir()
    looker.whole()
    looker.write("a/f", "newer")
    (looker.root / "a").rename(looker.root / "b/c")
    assert looker.hinted("b/c/f", "b/c", "a") == [
        Told("move_directory", "b/c", "a"), Told("modify", "b/c/f", before="x", after="newer", size=5)
    ]  # fmt: skip


def test_a_known_folder_that_is_hinted_at_is_to_be_watched(looker: Looker) -> None:
    (looker.root / "a").mkdir()
    looker.whole()
    assert looker.hinted("a") == []
    assert looker.last.new_folders == ["a"]


class CaseIgnoringStore(LocalStore):
    """Finds names in any spelling, as some file systems do."""

    def look_into(
        self, path: WorkspacePath, names: Collection[str] | None = None
    ) -> tuple[FileStat, dict[str, FileStat]]:
        own, found = super().look_into(path)
        by_key = {name.casefold(): stat for name, stat in found.items()}
        if names is None:
            return own, found
        return own, {name: by_key[name.casefold()] for name in names if name.casefold() in by_key}


@pytest.fixture
def folding(looker: Looker) -> Iterator[Looker]:
    with closing(Workspace.open(looker.root)) as workspace:
        looker.store = CaseIgnoringStore(workspace, private_directory=looker.root / ".filetools" / "state")
        looker.key_of = str.casefold
        yield looker
        looker.store.close()


def test_a_call_in_another_spelling_finds_what_the_disk_has(folding: Looker) -> None:
    folding.write("Docs/Read.md")
    told = folding.named("Docs/READ.MD", "Docs")
    assert told == [Told("create_directory", "Docs"), Told("create", "Docs/Read.md", after="x", size=1)]
    assert folding.named("Docs/READ.MD") == []


def test_a_hint_at_both_spellings_of_a_renamed_file_is_one_rename(folding: Looker) -> None:
    folding.write("read.md")
    folding.whole()
    (folding.root / "read.md").rename(folding.root / "README.md")
    (folding.root / "README.md").rename(folding.root / "Read.md")
    with open(folding.root / "Read.md", "a") as file:  # so that it cannot be read yet
        file.write("y")
        file.flush()
        assert folding.hinted("read.md", "Read.md") == [Told("move", "Read.md", "read.md", "x", "x", 1)]
    assert folding.hinted("Read.md") == [Told("modify", "Read.md", None, "x", "xy", 2)]


def test_another_spelling_of_a_name_is_a_rename(folding: Looker) -> None:
    looker = folding
    looker.write("Docs/Read.md")
    looker.whole()
    (looker.root / "Docs").rename(looker.root / "docs")
    (looker.root / "docs/Read.md").rename(looker.root / "docs/README.md")
    (looker.root / "docs/README.md").rename(looker.root / "docs/read.md")
    assert looker.whole() == [
        Told("move_directory", "docs", "Docs"), Told("move", "docs/read.md", "docs/Read.md", "x", "x", 1)
    ]  # fmt: skip


# -- one for another -------------------------------------------------------------------------------------------------


def test_a_folder_takes_the_place_of_a_file(looker: Looker) -> None:
    looker.write("a")
    looker.whole()
    (looker.root / "a").unlink()
    looker.write("a/b")
    assert looker.hinted("a") == [
        Told("delete", "a", before="x"), Told("create_directory", "a"), Told("create", "a/b", after="x", size=1)
    ]  # fmt: skip
    looker.check_follower()


def test_a_file_takes_the_place_of_a_folder(looker: Looker) -> None:
    looker.write("a/b")
    looker.whole()
    shutil.rmtree(looker.root / "a")
    looker.write("a", "newer")
    assert looker.hinted("a") == [
        Told("delete_directory", "a"), Told("create", "a", after="newer", size=5)
    ]  # fmt: skip
    looker.check_follower()


def test_a_folder_made_again_loses_what_was_in_it(looker: Looker) -> None:
    looker.write("dist/js/old")
    looker.whole()
    (looker.root / "dist").rename(looker.root.parent / "gone")
    looker.write("dist/js/new")
    assert looker.hinted("dist") == [
        Told("delete_directory", "dist/js"), Told("create_directory", "dist/js"),
        Told("create", "dist/js/new", after="x", size=1),
    ]  # fmt: skip
    looker.check_follower()


def test_a_folder_with_many_folders_is_removed_at_once(looker: Looker) -> None:
    names = [f"a/d{number}/f" for number in range(MOST_LOOKS + 1)]
    for name in names:
        looker.write(name)
    looker.whole()
    hints = {folder_id((looker.root / name).parent): frozenset("f") for name in names}
    shutil.rmtree(looker.root / "a")
    looker.look(lambda observation: observation.hinted(hints))
    assert looker.last.missing == {"a"}
    assert looker.again() == [Told("delete_directory", "a")]


@pytest.mark.parametrize("child", ["x", "x/y", "x/x", "x/y/x"])
def test_a_child_takes_the_place_of_its_parent_and_nothing_in_it_is_lost(looker: Looker, child: str) -> None:
    for path in ("x", "y", "z/x"):
        looker.write(f"lib/{child}/{path}/kept", path)
    looker.write("lib/gone")
    looker.whole()
    aside = looker.root.parent / "aside"
    (looker.root / "lib" / child).rename(aside)
    shutil.rmtree(looker.root / "lib")
    aside.rename(looker.root / "lib")
    told = looker.hinted("lib")
    assert told[-1] == Told("move_directory", "lib", f"lib/{child}")
    assert "lib/gone" in [each.path for each in told]
    assert not [each for each in told if each.path.endswith("kept")]
    looker.check_follower()


def test_a_file_takes_the_place_of_a_folder_two_above_it(looker: Looker) -> None:
    looker.write("a/b/f")
    looker.whole()
    (looker.root / "a/b/f").rename(looker.root / "f")
    shutil.rmtree(looker.root / "a")
    (looker.root / "f").rename(looker.root / "a")
    assert looker.hinted("a") == [Told("move", "a", "a/b/f", "x", "x", 1)]
    looker.check_follower()
    assert looker.whole() == []


def test_exchanged_files_are_two_modifications(looker: Looker) -> None:
    looker.write("p", "one")
    looker.write("q", "three")
    looker.whole()
    looker.exchange("p", "q")
    assert looker.hinted("p", "q") == [
        Told("modify", "p", before="one", after="three", size=5), Told("modify", "q", before="three", after="one", size=3)
    ]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [("p/", "q/"), ("p/", "q"), ("p/", "d/q/"), ("d/p", "q/")])
def test_exchanged_names_move_one_and_make_the_other_anew(looker: Looker, one: str, other: str) -> None:
    for path in (one, other):
        looker.write(f"{path}file" if path.endswith("/") else path, path)
    looker.whole()
    one, other = one.rstrip("/"), other.rstrip("/")
    looker.exchange(one, other)
    told = looker.hinted(one, other)
    assert sum(each.kind in (Operation.MOVE, Operation.MOVE_DIRECTORY) for each in told) == 1
    looker.check_follower()
    assert looker.whole() == []


@pytest.mark.parametrize("folders", ["p q", "p d/q", "d/p q"])
def test_of_exchanged_empty_folders_both_are_in_the_feed(looker: Looker, folders: str) -> None:
    one, other = folders.split()
    for path in (one, other):
        (looker.root / path).mkdir(parents=True)
    looker.whole()
    looker.exchange(one, other)
    looker.hinted(one, other)
    looker.check_follower()
    assert looker.whole() == []


@pytest.mark.parametrize("names", ["abc", "bca", "cab", "cba"])
def test_moves_over_each_other_are_recorded_from_the_end_of_the_chain(looker: Looker, names: str) -> None:
    for name in "abc":
        looker.write(f"{name}/file", name)
    looker.whole()
    first, second, third = (looker.root / name for name in names)
    third.rename(looker.root.parent / "gone")
    second.rename(third)
    first.rename(second)
    told = looker.hinted(*names)
    assert [(each.old_path, each.path) for each in told if each.old_path] == [
        (names[1], names[2]),
        (names[0], names[1]),
    ]
    again = looker.again()
    looker.check_follower()
    assert [each.path for each in (*told, *again) if each.kind == Operation.CREATE] == []


def test_names_moved_round_in_a_circle_are_followed(looker: Looker) -> None:
    for name in "abc":
        looker.write(f"{name}/file", name)
    looker.whole()
    looker.exchange("a", "b")
    looker.exchange("b", "c")
    looker.hinted("a", "b", "c")
    looker.check_follower()
    assert looker.whole() == []


# -- calls -----------------------------------------------------------------------------------------------------------


def test_a_call_below_a_folder_that_was_just_replaced_sees_the_new_one(looker: Looker) -> None:
    looker.write("a/f")
    looker.whole()
    (looker.root / "a").rename(looker.root.parent / "gone")
    looker.write("a/f", "newer")
    assert looker.named("a/f") == [Told("modify", "a/f", before="x", after="newer", size=5)]


def test_a_folder_whose_inode_is_another_one_is_the_same_if_it_has_a_name_that_is_known(looker: Looker) -> None:
    looker.write("a/d/f")
    looker.write("a/g")
    looker.whole()
    shutil.copytree(looker.root / "a", looker.root / "b", copy_function=shutil.copy2)
    shutil.rmtree(looker.root / "a")
    (looker.root / "b").rename(looker.root / "a")
    (looker.root / "a/g").unlink()
    assert looker.whole() == [Told("delete", "a/g", before="x")]
    assert looker.whole() == []


@pytest.mark.parametrize("look", [Looker.whole, lambda looker: looker.named("a/d/f"), lambda looker: looker.named("a")])
def test_another_device_number_of_the_whole_disk_is_no_change(
    looker: Looker, look: Callable[[Looker], list[Told]]
) -> None:
    looker.write("a/d/f")
    looker.whole()
    looker.in_rows(lambda rows: rows.move_device(os.stat(looker.root).st_dev, 1))
    with open(looker.root / "a/d/f", "a"):  # so that reading it would find it busy
        assert look(looker) == []
    assert looker.last.busy == []
    found = looker.at("a/d/f")
    assert found is not None
    assert found.identity is not None
    assert found.identity[0] == os.stat(looker.root).st_dev


@pytest.mark.parametrize("known", [(), ("a/g",)])
def test_a_folder_is_the_same_with_another_inode_before_the_first_whole_look(
    opened: Opener, known: tuple[str, ...]
) -> None:
    looker = opened(found=True)
    looker.write("a/f")
    for path in known:
        looker.write(path)
    looker.named("a", *known)
    shutil.copytree(looker.root / "a", looker.root / "b")
    shutil.rmtree(looker.root / "a")
    (looker.root / "b").rename(looker.root / "a")
    for path in known:
        (looker.root / path).unlink()
    assert [each.path for each in looker.whole()] == [*known]
    assert looker.at("a/f") is not None


def test_what_is_not_settled_yet_is_no_change_by_others(looker: Looker) -> None:
    for name in ("changed", "gone"):
        looker.write(name)
    looker.whole()

    def mark(is_applied: bool) -> None:
        looker.in_rows(lambda rows: rows.put([structs.replace(row, applied=is_applied) for row in rows.below("")]))

    mark(False)
    looker.write("changed", "newer")
    (looker.root / "gone").unlink()
    assert looker.whole() == []
    mark(True)
    assert looker.whole() == [
        Told("modify", "changed", before="x", after="newer", size=5), Told("delete", "gone", before="x")
    ]  # fmt: skip


def test_a_folder_that_cannot_be_read_leaves_the_others_be(looker: Looker, monkeypatch: pytest.MonkeyPatch) -> None:
    looker.write("broken/f")
    looker.whole()
    look_into = LocalStore.look_into

    def failing(store: LocalStore, path: WorkspacePath, names: Collection[str] | None = None) -> object:
        if path == "broken":
            raise StorageFailedError(path, "input/output error")
        return look_into(store, path, names)

    monkeypatch.setattr(LocalStore, "look_into", failing)
    looker.write("z")
    assert looker.whole() == [Told("create", "z", after="x", size=1)]
    assert looker.last.unread == ["broken"]


def test_a_call_below_a_folder_that_was_just_moved_finds_nothing_there(looker: Looker) -> None:
    looker.write("a/f")
    looker.whole()
    (looker.root / "a").rename(looker.root / "b")
    looker.named("a/f")
    assert looker.at("a/f") is None
    looker.whole()
    looker.check_follower()


def test_a_call_below_a_link_finds_the_link(looker: Looker) -> None:
    looker.write("a/f")
    (looker.root / "l").symlink_to("a")
    assert looker.named("l/f") == []
    row = looker.at("l")
    assert row is not None
    assert row.kind == "symlink"
    assert looker.at("l/f") is None


def test_a_number_that_is_the_roots_own_by_now_is_no_other_name_of_a_file(looker: Looker) -> None:
    """As in a copy of a root with its state: the numbers that are recorded are those of another tree."""
    file = looker.write("a")
    looker.whole()
    own = os.stat(looker.root)

    def take_number(rows: TreeTable) -> None:
        row = rows.get("a")
        assert row is not None
        assert row.identity is not None
        rows.put([structs.replace(row, identity=(own.st_dev, own.st_ino, *row.identity[2:]))])

    looker.in_rows(take_number)
    file.unlink()
    assert looker.named("a") == [Told("delete", "a", before="x")]
    assert [looker.again(), looker.again()] == [[], []]
