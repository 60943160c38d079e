"""Programs that know nothing of filetools and write at the same time: what they save is never lost."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from filetools.errors import ChangedMeanwhileError, DirectoryNotFoundError, FileBusyError
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local_prepare import PreparedReplacement
from filetools.stores.private import HiddenPlace
from filetools.stores.reading import to_file_stat
from filetools.stores.renaming import Spot
from tests.support.store_worlds import FILE, OTHER, LocalWorld, exchanged

IN_ALL_NAMES = 0x0000_0FC0  # moved from, moved to, create, delete, delete self, move self
IN_MODIFY = 0x0000_0002
IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE = 0x40, 0x80, 0x100


def test_a_file_that_somebody_writes_or_has_written_to_is_not_untouched(world: LocalWorld) -> None:
    with (world.root / FILE).open("ab", buffering=0) as writer:
        displaced = exchanged(world, FILE, b"two")
        stop = threading.Event()
        # Without leases only a change tells, so the stranger keeps changing.
        busy = threading.Thread(target=lambda: [writer.write(b".") for _ in iter(stop.is_set, True)])
        busy.start()
        try:
            assert not displaced.is_untouched()
        finally:
            stop.set()
            busy.join()
    assert not displaced.is_untouched()


def test_a_writer_that_only_holds_the_file_open_is_seen_through_the_lease(native: LocalWorld) -> None:
    with (native.root / FILE).open("r+b"):
        displaced = exchanged(native, FILE, b"two")
        assert not displaced.is_untouched()
    assert displaced.is_untouched()


def test_a_reader_is_no_writer(world: LocalWorld) -> None:
    with (world.root / FILE).open("rb"):
        assert exchanged(world, FILE, b"two").is_untouched()


def test_the_last_bytes_of_a_writer_are_in_the_kept_file(native: LocalWorld) -> None:
    with (native.root / FILE).open("r+b", buffering=0) as writer:
        displaced = exchanged(native, FILE, b"ours")
        assert not displaced.is_untouched()
        displaced.keep("5")
        writer.write(b"the last words")
        assert not displaced.is_untouched()
    [left] = native.store.leftovers()
    assert (left.is_untouched(), left.read(), left.temporary) == (True, b"the last words", ".filetools/displaced/5")
    assert native.look(FILE) == b"ours"


def test_a_save_between_exchange_and_put_back_comes_out_whole(native: LocalWorld) -> None:
    displaced = exchanged(native, FILE, b"ours")
    native.save(FILE, b"newest, by a stranger")
    displaced.put_back()
    assert displaced.read() == b"newest, by a stranger"
    displaced.put_back()
    assert native.look(FILE) == b"newest, by a stranger"


class Meddled(PreparedReplacement):
    """Has a stranger save right after the first of its exchanges."""

    __slots__ = ("stranger",)
    stranger: Callable[[], None] | None

    def _exchange(self, place: HiddenPlace, live: Spot, hidden: Spot) -> HiddenPlace:
        came_out = super()._exchange(place, live, hidden)
        stranger, self.stranger = self.stranger, None
        if stranger is not None:
            stranger()
        return came_out


def test_a_save_while_a_link_is_put_back_is_kept_and_never_discarded(native: LocalWorld) -> None:
    name = Path(native.store.prepare(FILE, b"ours", new=False).temporary).name
    disk = native.store._disk
    prepared = Meddled(disk, FILE, disk.hidden("tmp", name), to_file_stat((native.private / "tmp" / name).stat()))
    prepared.stranger = lambda: native.save(FILE, b"stranger")
    native.erase(FILE)
    (native.root / FILE).symlink_to("folder")
    with pytest.raises(ChangedMeanwhileError):
        prepared.exchange()
    prepared.discard()
    [left] = native.store.leftovers()
    assert (left.read(), (native.root / FILE).readlink(), native.hidden()) == (b"stranger", Path("folder"), set())


def test_strangers_and_store_saving_at_full_speed_lose_nothing(native: LocalWorld) -> None:
    """Whatever a stranger saved is either overwritten by the stranger's own next save, live, or in our hands."""
    saved: list[bytes] = []
    stop = threading.Event()

    def save() -> None:
        number = 0
        while not stop.is_set():
            content = f"stranger {number}".encode()
            native.save(FILE, content)
            saved.append(content)
            number += 1

    stranger = threading.Thread(target=save)
    stranger.start()
    came_out: list[bytes] = []
    taken: list[bytes] = []
    deadline = time.monotonic() + 60
    try:
        # Also until both have met, however late the other thread gets the processor.
        while len(came_out) < 100 or (not taken and time.monotonic() < deadline):
            displaced = exchanged(native, FILE, f"ours {len(came_out)}".encode())
            came_out.append(displaced.read())
            displaced.discard()
            taken += [content for content in came_out[-1:] if content.startswith(b"stranger")]
    finally:
        stop.set()
        stranger.join()
    ours = [f"ours {number}".encode() for number in range(len(came_out))]
    # Ours are either taken out by our next exchange or overwritten by the stranger's rename, never half.
    assert set(came_out) <= {b"one", *saved, *ours}
    assert native.look(FILE) in {saved[-1], ours[-1]}
    assert taken
    assert len(set(taken)) == len(taken)


LEASE = """
import fcntl, os, sys
from filetools.stores.system import lease_refused
from filetools.stores.local_prepare import PreparedReplacement
from filetools.stores.reading import to_file_stat
from filetools.stores.renaming import Spot
path, is_careless = sys.argv[1], sys.argv[2] == "careless"
real = fcntl.fcntl

def open_for_writing():
    child = os.fork()
    if child == 0:
        try:
            os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except BlockingIOError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0

def interrupted(descriptor, command, argument):
    if command == fcntl.F_SETSIG and is_careless:
        return
    real(descriptor, command, argument)
    if (command, argument) == (fcntl.F_SETLEASE, fcntl.F_RDLCK):
        open_for_writing()

fcntl.fcntl = interrupted
print(lease_refused(os.open(path, os.O_RDONLY)), flush=True)
"""


def test_who_opens_for_writing_while_a_lease_is_held_does_not_end_the_process(tmp_path: Path) -> None:
    """The kernel signals the holder of a lease; the usual signal would end it."""
    path = tmp_path / "file"
    path.touch()
    ends = {}
    for way in ("careful", "careless"):
        done = subprocess.run([sys.executable, "-c", LEASE, path, way], capture_output=True, check=False, timeout=60)
        ends[way] = (done.returncode, done.stdout)
    assert ends == {"careful": (0, b"False\n"), "careless": (-signal.SIGIO, b"")}


def test_reading_a_file_that_never_holds_still_is_refused_as_busy(
    native: LocalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    pread, reads = os.pread, []
    (native.root / OTHER).write_bytes(b"one")

    def read_beside_a_writer(descriptor: int, count: int, offset: int) -> bytes:
        content = pread(descriptor, count, offset)
        with (native.root / OTHER).open("ab") as writer:
            writer.write(b"x")
        reads.append(count)
        return content

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", read_beside_a_writer)
        with pytest.raises(FileBusyError, match=r"still writing other\.txt"):
            native.store.read(OTHER)
    assert len(reads) == 5
    assert native.store.read(OTHER)[0].endswith(b"x" * 5)


def test_a_folder_removed_after_a_new_file_was_prepared_for_it_is_reported_as_missing(native: LocalWorld) -> None:
    (native.root / "gone").mkdir()
    prepared = native.store.prepare(WorkspacePath("gone/new.txt"), b"new", new=True)
    (native.root / "gone").rmdir()
    with pytest.raises(DirectoryNotFoundError, match="gone"):
        prepared.exchange()


class Watched:
    """What inotify told of one folder."""

    def __init__(self, folder: Path, mask: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(self._descriptor, os.fsencode(folder), mask) > 0

    def events(self) -> list[tuple[int, str]]:
        """Return kind and name of what happened so far; the kernel queues before a change returns."""
        data = os.read(self._descriptor, 65536)
        found, at = [], 0
        while at < len(data):
            _, kind, _, length = struct.unpack_from("iIII", data, at)
            found.append((kind, data[at + 16 : at + 16 + length].rstrip(b"\0").decode()))
            at += 16 + length
        return found

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def watching(folder: Path, mask: int = IN_ALL_NAMES | IN_MODIFY) -> Iterator[Watched]:
    watched = Watched(folder, mask)
    yield watched
    watched.close()


def test_watchers_of_the_folder_see_a_replacement_once_and_the_file_there_at_the_end(native: LocalWorld) -> None:
    with watching(native.root) as watched:
        displaced = exchanged(native, FILE, b"two")
        displaced.discard()
        assert watched.events() == [(IN_MOVED_FROM, FILE), (IN_MOVED_TO, FILE)]


def test_watchers_of_the_folder_see_a_new_file_once_and_complete(native: LocalWorld) -> None:
    with watching(native.root) as watched:
        native.store.prepare(OTHER, b"whole", new=True).exchange()
        assert watched.events() == [(IN_MOVED_TO, OTHER)]
