"""What every store promises of removing, moving and what is left over, on every store; the refusing cases first."""

from __future__ import annotations

import threading

import pytest

from filetools.errors import (
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    FileToolsError,
    InternalError,
    InvalidArgumentError,
    InvalidPathError,
    NotRegularFileError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
)
from filetools.paths.workspace_path import ROOT, WorkspacePath
from tests.support.store_worlds import (
    BELOW_FILE,
    BELOW_MISSING,
    DEEP,
    FILE,
    FOLDER,
    MISSING,
    OTHER,
    LocalWorld,
    exchanged,
)


def test_what_came_out_can_be_read_and_discarded(world: LocalWorld) -> None:
    displaced = exchanged(world, FILE, b"two")
    assert displaced.stat.size == 3
    assert displaced.read() == b"one"
    assert displaced.is_untouched()
    displaced.discard()
    displaced.discard()
    with pytest.raises(InternalError):
        displaced.read()
    assert (displaced.temporary, world.hidden()) == ("", set())


def test_what_a_stranger_saved_between_prepare_and_exchange_comes_out(world: LocalWorld) -> None:
    prepared = world.store.prepare(FILE, b"ours", new=False)
    world.save(FILE, b"theirs, saved in the same instant")
    displaced = prepared.exchange()
    assert displaced is not None
    assert displaced.read() == b"theirs, saved in the same instant"
    assert displaced.stat.size == 33


def test_put_back_exchanges_again(world: LocalWorld) -> None:
    displaced = exchanged(world, FILE, b"two")
    displaced.put_back()
    assert world.look(FILE) == b"one"
    assert (displaced.read(), displaced.stat.size) == (b"two", 3)
    displaced.discard()
    assert (world.look(FILE), world.hidden()) == (b"one", set())


def test_put_back_brings_out_what_a_stranger_saved_after_the_exchange(world: LocalWorld) -> None:
    displaced = exchanged(world, FILE, b"two")
    world.save(FILE, b"stranger")
    displaced.put_back()
    assert (world.look(FILE), displaced.read()) == (b"one", b"stranger")


def test_put_back_where_nothing_stands_any_more(world: LocalWorld) -> None:
    displaced = exchanged(world, FILE, b"two")
    world.erase(FILE)
    displaced.put_back()
    assert (world.look(FILE), displaced.temporary, world.hidden()) == (b"one", "", set())
    displaced.discard()
    assert world.look(FILE) == b"one"


def test_keeping_refuses_a_taken_name_and_what_is_no_name(world: LocalWorld) -> None:
    exchanged(world, FILE, b"two").keep("7")
    displaced = exchanged(world, FILE, b"three")
    if not displaced.temporary.startswith(".ft-"):
        with pytest.raises(PathExistsError):
            displaced.keep("7")
    for name in ("", ".", "..", "a/b", "../../x"):
        with pytest.raises(InvalidArgumentError):
            displaced.keep(name)
    assert displaced.read() == b"two"


def test_a_displaced_file_is_kept_for_the_next_start(world: LocalWorld) -> None:
    displaced = exchanged(world, FILE, b"two")
    displaced.keep("7")
    noted = displaced.temporary
    assert displaced.read() == b"one"
    store = world.reopen()
    if noted == ".filetools/displaced/7":
        [found] = store.leftovers()
        assert found.read() == b"one"
        found.discard()
        assert list(store.leftovers()) == []


REFUSED: dict[str, list[tuple[WorkspacePath, type[FileToolsError]]]] = {
    "make_directory": [
        (FILE, PathExistsError), (BELOW_MISSING, DirectoryNotFoundError), (BELOW_FILE, PathNotDirectoryError),
        (ROOT, InvalidPathError),
    ],
    "remove_empty_directory": [
        (FOLDER, DirectoryNotEmptyError), (FILE, PathNotDirectoryError), (MISSING, PathNotFoundError),
        (BELOW_MISSING, DirectoryNotFoundError), (ROOT, InvalidPathError),
    ],
    "remove": [
        (MISSING, PathNotFoundError), (BELOW_MISSING, DirectoryNotFoundError), (BELOW_FILE, PathNotDirectoryError),
    ],
}  # fmt: skip


@pytest.mark.parametrize("method", REFUSED)
def test_where_nothing_can_be_made_or_removed_it_is_refused(world: LocalWorld, method: str) -> None:
    for path, error in REFUSED[method]:
        with pytest.raises(error):
            getattr(world.store, method)(path)
    assert (world.look(FILE), world.look(DEEP)) == (b"one", b"deep")


def test_a_folder_is_made_once(world: LocalWorld) -> None:
    made = WorkspacePath("made")
    assert [world.store.make_directory(made), world.store.make_directory(made)] == [True, False]
    facts = world.store.stat(made)
    assert facts is not None
    assert (facts.type, facts.mode) == ("directory", 0o755)


def test_removing_into_a_taken_or_impossible_trash_name_is_refused(world: LocalWorld) -> None:
    world.store.remove(FILE, "1")
    for name, error in (("1", PathExistsError), ("..", InvalidArgumentError), ("a/b", InvalidArgumentError)):
        if name == "1" and world.names() & {n for n in world.names() if n.startswith(".ft-")}:
            continue  # beside the target each folder has trash names of its own
        with pytest.raises(error):
            world.store.remove(DEEP, name)
    assert world.look(DEEP) == b"deep"


def test_a_removed_file_can_be_read_put_back_and_discarded(world: LocalWorld) -> None:
    displaced = world.store.remove(FILE)
    assert (world.look(FILE), displaced.read(), displaced.stat.size) == (None, b"one", 3)
    displaced.put_back()
    assert (world.look(FILE), displaced.temporary) == (b"one", "")
    world.store.remove(FILE).discard()
    assert (world.look(FILE), world.hidden()) == (None, set())


def test_a_removed_folder_goes_with_all_below(world: LocalWorld) -> None:
    world.save("folder/a/b/c/d.txt", b"d")
    displaced = world.store.remove(FOLDER)
    assert displaced.stat.type == "directory"
    assert displaced.is_untouched()
    with pytest.raises(PathIsDirectoryError):
        displaced.read()
    displaced.discard()
    displaced.discard()
    assert (world.names(), world.hidden()) == ({"file.txt"}, set())


def test_the_trash_gives_back_over_a_restart(world: LocalWorld) -> None:
    world.store.remove(FOLDER, "17")
    world.store.remove(FILE, "18")
    store = world.reopen()
    assert [left.temporary for left in store.leftovers()] == []
    store.trashed(FOLDER, "17").restore()
    store.trashed(FILE, "18").restore()
    assert (world.look(DEEP), world.look(FILE), world.hidden()) == (b"deep", b"one", set())


def test_restoring_over_something_or_from_nothing_is_refused(world: LocalWorld) -> None:
    world.store.remove(FILE, "17")
    world.save(FILE, b"newer")
    with pytest.raises(PathExistsError):
        world.store.trashed(FILE, "17").restore()
    assert world.look(FILE) == b"newer"
    with pytest.raises(PathNotFoundError):
        world.store.trashed(OTHER, "18").restore()
    with pytest.raises(DirectoryNotFoundError):
        world.store.trashed(BELOW_MISSING, "17").restore()
    world.erase(FILE)
    world.store.trashed(FILE, "17").restore()
    assert world.look(FILE) == b"one"


@pytest.mark.parametrize("is_overwriting", [False, True])
@pytest.mark.parametrize(
    ("source", "destination", "error"),
    [
        (MISSING, OTHER, PathNotFoundError),
        (MISSING, FILE, PathNotFoundError),
        (FILE, BELOW_MISSING, DirectoryNotFoundError),
        (DEEP, BELOW_FILE, PathNotDirectoryError),
        (FOLDER, DEEP, InvalidArgumentError),
        (FOLDER, FOLDER.child("new"), InvalidArgumentError),
        (DEEP, FOLDER, InvalidArgumentError),
    ],
)
def test_a_move_that_cannot_be_is_refused_and_changes_nothing(
    world: LocalWorld,
    source: WorkspacePath,
    destination: WorkspacePath,
    error: type[FileToolsError],
    is_overwriting: bool,
) -> None:
    with pytest.raises(error):
        world.store.move(source, destination, overwrite=is_overwriting)
    assert (world.look(FILE), world.look(DEEP), world.hidden()) == (b"one", b"deep", set())


@pytest.mark.parametrize("destination", [DEEP, FOLDER, FILE])
def test_a_move_does_not_overwrite_unasked(world: LocalWorld, destination: WorkspacePath) -> None:
    with pytest.raises(PathExistsError):
        world.store.move(FILE, destination)
    assert (world.look(FILE), world.look(DEEP)) == (b"one", b"deep")


def test_a_move_does_not_merge_into_an_empty_folder(world: LocalWorld) -> None:
    world.make_folder("empty")
    with pytest.raises(PathExistsError):
        world.store.move(FOLDER, WorkspacePath("empty"))
    assert (world.names("empty"), world.look(DEEP)) == (set(), b"deep")


def test_a_file_moves_with_its_bytes_and_mode(world: LocalWorld) -> None:
    world.store.set_mode(FILE, 0o750)
    assert world.store.move(FILE, FOLDER.child("moved")) is None
    facts = world.store.stat(FOLDER.child("moved"))
    assert facts is not None
    assert (world.look("folder/moved"), facts.mode, world.look(FILE)) == (b"one", 0o750, None)


def test_a_folder_moves_with_all_below(world: LocalWorld) -> None:
    assert world.store.move(FOLDER, WorkspacePath("renamed")) is None
    assert (world.names(), world.look("renamed/deep.txt")) == ({"file.txt", "renamed"}, b"deep")


def test_an_overwriting_move_gives_out_what_was_there(world: LocalWorld) -> None:
    displaced = world.store.move(FILE, DEEP, overwrite=True)
    assert displaced is not None
    assert (displaced.read(), world.look(FILE), world.look(DEEP)) == (b"deep", None, b"one")
    displaced.discard()
    assert world.hidden() == set()


@pytest.mark.parametrize(("source", "destination"), [(FILE, FOLDER), (FOLDER, FILE)])
def test_an_overwriting_move_exchanges_files_and_folders(
    world: LocalWorld, source: WorkspacePath, destination: WorkspacePath
) -> None:
    displaced = world.store.move(source, destination, overwrite=True)
    assert displaced is not None
    assert world.store.stat(source) is None
    moved = world.store.stat(destination)
    assert moved is not None
    assert {moved.type, displaced.stat.type} == {"file", "directory"}
    displaced.discard()
    assert world.hidden() == set()


def test_moving_a_file_over_itself_keeps_it(world: LocalWorld) -> None:
    assert world.store.move(FILE, FILE, overwrite=True) is None
    assert world.look(FILE) == b"one"


def test_leftovers_of_a_closed_store_are_found_read_and_discarded(world: LocalWorld) -> None:
    prepared = world.store.prepare(FILE, b"half done", new=False)
    noted = prepared.temporary
    store = world.reopen()
    if noted.startswith(".filetools/"):
        [found] = store.leftovers()
        assert (found.read(), found.temporary) == (b"half done", noted)
        with pytest.raises(InternalError):
            found.put_back()
        found.discard()
        assert (world.hidden(), world.look(FILE)) == (set(), b"one")


def test_writers_in_many_threads_displace_each_byte_once(world: LocalWorld) -> None:
    taken: list[bytes] = []
    start = threading.Barrier(4)

    def write(author: int) -> None:
        start.wait(timeout=60)
        for number in range(25):
            displaced = exchanged(world, FILE, f"{author}-{number}".encode())
            taken.append(displaced.read())
            displaced.discard()

    # Without an exchange in one step two writers may meet in the window between its steps; there the lock above helps.
    authors = 4 if world.refused is None else 1
    start = threading.Barrier(authors)
    threads = [threading.Thread(target=write, args=(author,)) for author in range(authors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    last = world.look(FILE)
    assert last is not None
    assert sorted([*taken, last]) == sorted([b"one", *(f"{a}-{n}".encode() for a in range(authors) for n in range(25))])
    assert world.hidden() == set()


def test_the_trash_is_named_and_emptied(world: LocalWorld) -> None:
    world.store.remove(DEEP, trash="7")
    assert world.store.trash_names() == ["7"]
    world.store.trashed(ROOT, "7").discard()
    world.store.trashed(ROOT, "7").discard()
    assert (world.store.trash_names(), world.hidden()) == ([], set())


def test_the_trash_can_be_looked_into_before_it_gives_back(world: LocalWorld) -> None:
    assert world.store.trashed(FOLDER, "7").entries() == []
    with pytest.raises(PathNotFoundError):
        world.store.trashed(FOLDER, "7").read("deep.txt")
    world.store.remove(FOLDER, "7")
    found = world.store.trashed(FOLDER, "7").entries()
    assert [(relative, stat.type) for relative, stat in found] == [("", "directory"), ("deep.txt", "file")]
    assert world.store.trashed(FOLDER, "7").read("deep.txt") == b"deep"
    with pytest.raises(PathNotFoundError):
        world.store.trashed(FOLDER, "7").read("nope.txt")
    world.store.trashed(FOLDER, "7").restore()
    assert (world.look(DEEP), world.store.trashed(FOLDER, "7").is_there()) == (b"deep", False)


@pytest.mark.parametrize("mode", [0o700, 0o555, 0o2750])
def test_a_folder_gets_the_mode_that_is_set(world: LocalWorld, mode: int) -> None:
    world.store.set_mode(FOLDER, mode, directory=True)
    facts = world.store.stat(FOLDER)
    assert facts is not None
    assert (facts.type, facts.mode) == ("directory", mode)


@pytest.mark.parametrize(
    ("path", "error"), [(MISSING, PathNotFoundError), (FILE, NotRegularFileError), (FOLDER, NotRegularFileError)]
)
def test_only_a_link_points_anywhere(world: LocalWorld, path: WorkspacePath, error: type[FileToolsError]) -> None:
    with pytest.raises(error):
        world.store.read_link(path)


@pytest.mark.parametrize("path", [FILE, FOLDER])
def test_a_link_takes_no_place_that_is_taken(world: LocalWorld, path: WorkspacePath) -> None:
    with pytest.raises(PathExistsError):
        world.store.make_link(path, b"elsewhere")
    assert world.look(FILE) == b"one"


@pytest.mark.parametrize("target", [b"file.txt", b"../outside", b"/nowhere/at all", b"odd \xff"])
def test_a_link_is_made_with_any_target_and_followed_by_nobody(world: LocalWorld, target: bytes) -> None:
    link = FOLDER.child("link")
    world.store.make_link(link, target)
    facts = world.store.stat(link)
    assert facts is not None
    assert (facts.type, world.store.read_link(link)) == ("symlink", target)
    with pytest.raises(SymlinkNotAllowedError):
        world.store.read(link)
    world.store.remove(FOLDER, trash="7").sync()
    assert world.store.trashed(FOLDER, "7").read("link") == target
    world.store.trashed(FOLDER, "7").restore()
    world.store.remove(link).discard()
    assert world.store.stat(link) is None
