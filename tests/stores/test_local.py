"""What a store on a disk refuses and hides beyond the contract."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from filetools.errors import (
    FileToolsError,
    NotRegularFileError,
    PathExistsError,
    StateDamagedError,
    SymlinkNotAllowedError,
    WorkspaceGoneError,
)
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.stores import local
from filetools.stores.local import LocalStore
from filetools.stores.local_prepare import refuse_unwritable
from filetools.stores.store import ScanEntry
from tests.support.mirror_worlds import local_store
from tests.support.mounts import CASELESS, caseless
from tests.support.store_worlds import (
    DEEP,
    FILE,
    OTHER,
    LocalWorld,
    exchanged,
    make_world,
)

LINK = WorkspacePath("link")
PIPE = WorkspacePath("pipe")
THROUGH_LINK = WorkspacePath("link/deep.txt")


def plant_private(root: Path, planted: str, kind: str) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    place = root / planted
    place.parent.mkdir(exist_ok=True)
    if kind == "link":
        place.symlink_to(outside)
    elif kind == "dangling":
        place.symlink_to(outside / "missing")
    else:
        place.write_bytes(b"")


@pytest.mark.parametrize("kind", ["link", "dangling", "file"])
@pytest.mark.parametrize("planted", [".filetools", ".filetools/tmp", ".filetools/trash", ".filetools/displaced"])
def test_a_planted_private_folder_is_refused_and_not_followed(tmp_path: Path, planted: str, kind: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    plant_private(root, planted, kind)
    workspace = Workspace.open(root)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(StateDamagedError):
        LocalStore(workspace, private_directory=root / ".filetools")
    assert len(os.listdir("/proc/self/fd")) == before
    assert os.listdir(tmp_path / "outside") == []
    workspace.close()


def test_a_private_directory_that_was_open_is_closed(native: LocalWorld) -> None:
    native.private.chmod(0o755)
    native.reopen()
    assert stat.S_IMODE(native.private.stat().st_mode) == 0o700


def test_a_removed_private_directory_is_reported_and_nothing_written(native: LocalWorld) -> None:
    prepared = native.store.prepare(FILE, b"two", new=False)
    shutil.rmtree(native.private)
    for act in (native.store.probe, prepared.exchange, lambda: native.store.prepare(FILE, b"two", new=False)):
        with pytest.raises(StateDamagedError):
            act()
    assert native.look(FILE) == b"one"


@pytest.mark.parametrize("make", CASELESS)
def test_a_removed_private_directory_is_reported_where_a_driver_cannot_look_at_it(tmp_path: Path, make: str) -> None:
    with caseless(tmp_path, make) as disk:
        store = local_store(disk / "mirror")
        shutil.rmtree(disk / "mirror/.filetools")
        with pytest.raises(StateDamagedError):
            store.probe()
        store.close()


def test_probe_notices_a_replaced_root(native: LocalWorld) -> None:
    native.root.rename(native.root.with_name("moved"))
    native.root.mkdir()
    with pytest.raises(WorkspaceGoneError):
        native.store.probe()


@pytest.mark.parametrize("private", ["root/.filetools", "private"])
def test_a_file_of_a_root_that_was_deleted_is_not_taken_for_a_vanished_one(tmp_path: Path, private: str) -> None:
    world = LocalWorld(tmp_path / "root", private=tmp_path / private)
    world.save(FILE, b"one")
    prepared = world.store.prepare(FILE, b"two", new=False)
    shutil.rmtree(world.root)
    with pytest.raises(WorkspaceGoneError):
        prepared.exchange()
    prepared.discard()
    with pytest.raises(WorkspaceGoneError):
        world.store.prepare(FILE, b"two", new=False)
    world.close()


def test_a_closed_store_acts_nowhere(native: LocalWorld) -> None:
    prepared = native.store.prepare(FILE, b"two", new=False)
    native.store.close()
    for act in (
        prepared.exchange,
        lambda: native.store.remove(FILE),
        lambda: native.store.prepare(FILE, b"", new=False),
    ):
        with pytest.raises(FileToolsError):
            act()
    assert native.look(FILE) == b"one"


@pytest.fixture
def outside(native: LocalWorld) -> Path:
    """A folder outside the root, with a link to it, and one to its file, inside."""
    folder = native.root.parent / "outside"
    folder.mkdir()
    (folder / "deep.txt").write_bytes(b"secret")
    (native.root / LINK).symlink_to(folder)
    (native.root / "file-link").symlink_to(folder / "deep.txt")
    return folder


@pytest.mark.parametrize("path", [THROUGH_LINK, LINK, WorkspacePath("file-link")])
def test_links_are_refused_everywhere(native: LocalWorld, outside: Path, path: WorkspacePath) -> None:
    store = native.store
    for act in (
        lambda: store.read(path),
        lambda: store.open(path),
        lambda: store.set_mode(path, 0o777),
        lambda: store.prepare(path, b"x", new=False),
        lambda: store.make_directory(path),
        lambda: list(store.scan(path)),
    ):
        with pytest.raises(SymlinkNotAllowedError):
            act()
    assert (os.listdir(outside), (outside / "deep.txt").read_bytes()) == (["deep.txt"], b"secret")


def test_nothing_changes_below_a_link(native: LocalWorld, outside: Path) -> None:
    store = native.store
    for act in (
        lambda: store.remove(THROUGH_LINK),
        lambda: store.move(THROUGH_LINK, OTHER),
        lambda: store.move(FILE, WorkspacePath("link/new")),
        lambda: store.prepare(WorkspacePath("link/new"), b"x", new=True),
        lambda: store.trashed(WorkspacePath("link/new"), "1").restore(),
    ):
        with pytest.raises(SymlinkNotAllowedError):
            act()
    assert (os.listdir(outside), (outside / "deep.txt").read_bytes()) == (["deep.txt"], b"secret")


@pytest.mark.parametrize("path", [THROUGH_LINK, WorkspacePath("file/below"), WorkspacePath("gone/below")])
def test_the_absence_of_a_path_can_be_synced_whatever_is_above_it(
    native: LocalWorld, outside: Path, monkeypatch: pytest.MonkeyPatch, path: WorkspacePath
) -> None:
    (native.root / "file").write_bytes(b"")
    synced: list[int] = []
    monkeypatch.setattr(local, "sync_descriptor", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    assert not native.store.sync(path)
    assert synced == [native.root.stat().st_ino]


def test_a_new_file_does_not_go_through_a_dangling_link(native: LocalWorld) -> None:
    (native.root / LINK).symlink_to(native.root.parent / "created")
    prepared = native.store.prepare(LINK, b"x", new=True)
    with pytest.raises(PathExistsError):
        prepared.exchange()
    prepared.discard()
    assert not (native.root.parent / "created").exists()


def test_removing_a_link_leaves_its_target(native: LocalWorld, outside: Path) -> None:
    displaced = native.store.remove(LINK)
    assert displaced.stat.type == "symlink"
    with pytest.raises(SymlinkNotAllowedError):
        displaced.read()
    displaced.discard()
    assert (outside / "deep.txt").read_bytes() == b"secret"
    assert not (native.root / LINK).is_symlink()


@pytest.mark.parametrize("kind", ["local", "fallbacks", "no_links"])
@pytest.mark.parametrize("is_pipe", [False, True])
def test_a_file_that_became_a_link_or_a_pipe_is_not_replaced(tmp_path: Path, kind: str, is_pipe: bool) -> None:
    world, place = make_world(kind, tmp_path), tmp_path / "root" / FILE
    prepared = world.store.prepare(FILE, b"two", new=False)
    world.erase(FILE)
    os.mkfifo(place) if is_pipe else place.symlink_to("folder/deep.txt")
    with pytest.raises(NotRegularFileError if is_pipe else SymlinkNotAllowedError):
        prepared.exchange()
    assert place.is_fifo() if is_pipe else place.readlink() == Path("folder/deep.txt")
    prepared.discard()
    assert world.hidden() == set()
    world.close()


def test_pipes_are_refused_at_once_and_can_be_removed(native: LocalWorld) -> None:
    os.mkfifo(native.root / PIPE)
    store = native.store  # a call that opened the pipe as a file would hang until the time limit of the test
    for act in (
        lambda: store.read(PIPE),
        lambda: store.read_now(PIPE, 10),
        lambda: store.open(PIPE),
        lambda: store.prepare(PIPE, b"x", new=False),
        lambda: store.set_mode(PIPE, 0o600),
    ):
        with pytest.raises(NotRegularFileError):
            act()
    displaced = store.remove(PIPE)
    with pytest.raises(NotRegularFileError):
        displaced.read()
    assert (displaced.stat.type, displaced.is_untouched()) == ("other", True)
    displaced.discard()
    assert native.names() == {"file.txt", "folder"}


def test_scan_gives_every_type_and_names_that_are_not_utf_8(native: LocalWorld, outside: Path) -> None:
    os.mkfifo(native.root / PIPE)
    (Path(os.fsdecode(os.fsencode(native.root) + b"/\xff\xfe"))).touch()
    found = set(native.store.scan(ROOT))
    assert found == {
        ScanEntry("file.txt", "file"),
        ScanEntry("folder", "directory"),
        ScanEntry("link", "symlink"),
        ScanEntry("file-link", "symlink"),
        ScanEntry("pipe", "other"),
        ScanEntry("\udcff\udcfe", "file"),
    }


@pytest.mark.parametrize("hidden", [".filetools", ".FileTools", "folder/.filetools", ".ft-0123456789abcdef"])
def test_scan_hides_what_belongs_to_filetools(native: LocalWorld, hidden: str) -> None:
    (native.root / hidden).mkdir(exist_ok=True)
    names = {entry.name for folder in (ROOT, DEEP.parent) for entry in native.store.scan(folder)}
    assert names == {"file.txt", "folder", "deep.txt"}


def test_a_large_batch_of_new_files_does_not_use_up_the_descriptors(native: LocalWorld) -> None:
    before = len(os.listdir("/proc/self/fd"))
    waiting = [native.store.prepare(ROOT.child(f"new-{number}"), b"x", new=True) for number in range(9)]
    assert len(os.listdir("/proc/self/fd")) == before
    assert [prepared.exchange() for prepared in waiting] == [None] * 9


def test_an_overwriting_move_of_one_of_two_names_of_a_file_removes_the_source(world: LocalWorld) -> None:
    os.link(world.root / FILE, world.root / OTHER)
    displaced = world.store.move(FILE, OTHER, overwrite=True)
    assert displaced is not None
    assert (world.look(FILE), world.look(OTHER), displaced.read()) == (None, b"one", b"one")
    displaced.discard()


def test_a_file_with_two_names_loses_only_the_one_replaced(world: LocalWorld) -> None:
    os.link(world.root / FILE, world.root / OTHER)
    exchanged(world, FILE, b"two").discard()
    assert (world.look(FILE), world.look(OTHER)) == (b"two", b"one")


def test_a_file_that_other_programs_take_away_and_put_back_is_not_called_forbidden(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    code = "import os\nwhile True: os.rename('here', 'away'); os.rename('away', 'here')"
    mover = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(20_000):
            with contextlib.suppress(FileNotFoundError):
                refuse_unwritable(folder, "here")
    finally:
        mover.kill()
        mover.wait()
        os.close(folder)
