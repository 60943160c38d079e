"""What every store promises of reading and replacing files, on every store; the refusing cases first."""

from __future__ import annotations

import pytest

from filetools.errors import (
    DirectoryNotFoundError,
    FileTooLargeError,
    FileToolsError,
    InternalError,
    InvalidPathError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.stores.store import PrimaryStore, ScanEntry, Store
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


@pytest.mark.parametrize(
    ("path", "error"),
    [
        (MISSING, PathNotFoundError),
        (BELOW_MISSING, PathNotFoundError),
        (BELOW_FILE, PathNotDirectoryError),
        (FOLDER, PathIsDirectoryError),
        (ROOT, PathIsDirectoryError),
    ],
)
@pytest.mark.parametrize("method", ["read", "open", "set_mode"])
def test_what_is_no_file_is_refused(
    world: LocalWorld, path: WorkspacePath, error: type[FileToolsError], method: str
) -> None:
    with pytest.raises(error):
        getattr(world.store, method)(path, *([0o644] if method == "set_mode" else []))


def test_the_interface_is_small_enough_to_be_implemented_elsewhere() -> None:
    members = [{name for name in vars(port) if not name.startswith("_")} for port in (Store, PrimaryStore)]
    methods = [{name for name in names if name not in ("name", "tick_ns")} for names in members]
    assert [len(methods[0]), len(methods[0] | methods[1])] == [14, 20]


@pytest.mark.parametrize(
    ("path", "error"),
    [(MISSING, DirectoryNotFoundError), (FILE, PathNotDirectoryError), (BELOW_FILE, PathNotDirectoryError)],
)
def test_a_look_into_what_is_no_folder_is_refused(
    world: LocalWorld, path: WorkspacePath, error: type[FileToolsError]
) -> None:
    with pytest.raises(error):
        world.store.look_into(path)


def test_a_look_into_a_folder_returns_its_own_facts_and_those_of_names_in_it(world: LocalWorld) -> None:
    root, found = world.store.look_into(ROOT)
    assert root.type == "directory"
    assert found == {FILE: world.store.stat(FILE), FOLDER: world.store.stat(FOLDER)}
    own, deep = world.store.look_into(FOLDER, ("deep.txt", "missing"))
    assert own == found[FOLDER]
    assert deep == {"deep.txt": world.store.stat(DEEP)}


def test_a_probe_leaves_nothing(world: LocalWorld) -> None:
    before = world.names() | world.hidden()
    world.store.probe()
    assert world.names() | world.hidden() == before


def test_reading_more_than_the_limit_is_refused_with_size_and_limit(world: LocalWorld) -> None:
    with pytest.raises(FileTooLargeError) as caught:
        world.store.read(FILE, limit=2)
    assert caught.value.details == {"size": 3, "limit": 2}


def test_read_returns_bytes_and_facts(world: LocalWorld) -> None:
    content, facts = world.store.read(FILE, limit=3)
    assert content == b"one"
    assert facts == world.store.stat(FILE)
    assert (facts.type, facts.size, facts.mode, facts.links) == ("file", 3, 0o644, 1)


def test_read_now_gives_nothing_rather_than_a_part(world: LocalWorld) -> None:
    assert world.store.read_now(FILE, 2) is None
    # A system without cached opening answers None, which is no failure.
    found = world.store.read_now(FILE, 3)
    assert found is None or (bytes(found[0]), found[1]) == world.store.read(FILE)


def test_stat_of_nothing_is_none(world: LocalWorld) -> None:
    assert [world.store.stat(path) for path in (MISSING, BELOW_MISSING, BELOW_FILE)] == [None, None, None]


def test_identity_changes_with_every_replacement_even_by_equal_bytes(world: LocalWorld) -> None:
    seen = set()
    for _ in range(5):
        facts = world.store.stat(FILE)
        assert facts is not None
        seen.add(facts.identity)
        exchanged(world, FILE, b"one").discard()
    assert len(seen) == 5


def test_a_reader_gives_parts_and_less_at_the_end(world: LocalWorld) -> None:
    reader = world.store.open(DEEP)
    assert [reader.read_at(1, 2), reader.read_at(2, 99), reader.read_at(99, 1)] == [b"ee", b"ep", b""]
    assert reader.stat.size == 4
    reader.close()
    reader.close()


def test_an_open_reader_keeps_the_bytes_it_opened(world: LocalWorld) -> None:
    reader = world.store.open(FILE)
    exchanged(world, FILE, b"two").discard()
    assert reader.read_at(0, 9) == b"one"
    reader.close()


@pytest.mark.parametrize(
    ("path", "error"),
    [(MISSING, DirectoryNotFoundError), (FILE, PathNotDirectoryError), (BELOW_FILE, PathNotDirectoryError)],
)
def test_scanning_what_is_no_folder_is_refused(
    world: LocalWorld, path: WorkspacePath, error: type[FileToolsError]
) -> None:
    with pytest.raises(error):
        list(world.store.scan(path))


def test_scan_gives_names_and_types_of_one_folder(world: LocalWorld) -> None:
    found = sorted(world.store.scan(ROOT), key=lambda entry: entry.name)
    assert found == [ScanEntry("file.txt", "file"), ScanEntry("folder", "directory")]


def test_scan_hides_what_waits_to_go_live(world: LocalWorld) -> None:
    waiting = [world.store.prepare(FILE, b"two", new=False), world.store.prepare(OTHER, b"new", new=True)]
    assert {entry.name for entry in world.store.scan(ROOT)} == {"file.txt", "folder"}
    for prepared in waiting:
        prepared.discard()


@pytest.mark.parametrize(
    ("path", "is_new", "error"),
    [
        (MISSING, False, PathNotFoundError),
        (FOLDER, False, PathIsDirectoryError),
        (BELOW_MISSING, False, FileNotFoundError),
        (BELOW_MISSING, True, DirectoryNotFoundError),
        (BELOW_FILE, True, PathNotDirectoryError),
        (ROOT, True, InvalidPathError),
    ],
)
def test_preparing_where_it_cannot_go_is_refused_and_leaves_nothing(
    world: LocalWorld, path: WorkspacePath, is_new: bool, error: type[FileToolsError]
) -> None:
    with pytest.raises(error) as caught:
        world.store.prepare(path, b"x", new=is_new)
    assert isinstance(caught.value, FileToolsError)
    assert world.hidden() == set()


def test_a_new_file_does_not_replace_what_came_meanwhile_and_stays_prepared(world: LocalWorld) -> None:
    prepared = world.store.prepare(OTHER, b"new", new=True)
    world.save(OTHER, b"stranger")
    with pytest.raises(PathExistsError):
        prepared.exchange()
    assert world.look(OTHER) == b"stranger"
    world.erase(OTHER)
    assert prepared.exchange() is None
    assert world.look(OTHER) == b"new"


def test_a_new_file_does_not_replace_a_folder(world: LocalWorld) -> None:
    prepared = world.store.prepare(FOLDER, b"new", new=True)
    with pytest.raises(PathExistsError):
        prepared.exchange()
    prepared.discard()
    assert world.names("folder") == {"deep.txt"}


def test_a_replacement_of_what_is_gone_is_refused_and_stays_prepared(world: LocalWorld) -> None:
    prepared = world.store.prepare(FILE, b"two", new=False)
    world.erase(FILE)
    with pytest.raises(PathNotFoundError):
        prepared.exchange()
    world.save(FILE, b"back")
    displaced = prepared.exchange()
    assert displaced is not None
    assert (displaced.read(), world.look(FILE)) == (b"back", b"two")


def test_a_replacement_of_what_became_a_folder_is_refused_and_stays_prepared(world: LocalWorld) -> None:
    prepared = world.store.prepare(FILE, b"two", new=False)
    world.erase(FILE)
    world.save("file.txt/inside", b"stranger")
    with pytest.raises(PathIsDirectoryError):
        prepared.exchange()
    assert world.look("file.txt/inside") == b"stranger"
    world.erase(FILE)
    world.save(FILE, b"back")
    assert prepared.exchange() is not None


def test_an_exchange_below_a_removed_folder_is_refused(world: LocalWorld) -> None:
    prepared = [world.store.prepare(DEEP, b"two", new=False), world.store.prepare(FOLDER.child("x"), b"x", new=True)]
    world.erase(FOLDER)
    for waiting in prepared:
        with pytest.raises(FileNotFoundError):
            waiting.exchange()
        waiting.discard()


def test_a_prepared_file_goes_live_once(world: LocalWorld) -> None:
    for prepared in (world.store.prepare(FILE, b"two", new=False), world.store.prepare(OTHER, b"new", new=True)):
        displaced = prepared.exchange()
        with pytest.raises(InternalError):
            prepared.exchange()
        prepared.discard()
        if displaced is not None:
            displaced.discard()
    assert (world.look(FILE), world.look(OTHER)) == (b"two", b"new")


def test_nothing_is_seen_before_the_exchange(world: LocalWorld) -> None:
    before = world.names()
    waiting = [world.store.prepare(FILE, b"two", new=False), world.store.prepare(OTHER, b"new", new=True)]
    assert world.look(FILE) == b"one"
    assert {name for name in world.names() if not name.startswith(".ft-")} == before
    for prepared in waiting:
        prepared.discard()
        prepared.discard()
    assert world.names() == before
    assert world.hidden() == set()


@pytest.mark.parametrize("content", [b"", b"x", bytes(range(256)) * 4096], ids=["empty", "one byte", "1 MiB"])
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "replaced"])
def test_every_byte_arrives(world: LocalWorld, content: bytes, is_new: bool) -> None:
    path = OTHER if is_new else FILE
    displaced = world.store.prepare(path, content, new=is_new).exchange()
    assert (displaced is None) == is_new
    assert world.look(path) == content
    if displaced is not None:
        displaced.discard()
    assert world.hidden() == set()


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o444])
def test_a_mode_can_be_given(world: LocalWorld, mode: int) -> None:
    world.store.prepare(OTHER, b"new", new=True, mode=mode).exchange()
    exchanged_file = world.store.prepare(FILE, b"two", new=False, mode=mode).exchange()
    assert exchanged_file is not None
    assert [facts.mode for path in (OTHER, FILE) if (facts := world.store.stat(path))] == [mode, mode]
