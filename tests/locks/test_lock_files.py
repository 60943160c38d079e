"""Opening lock files: what is planted is refused, what is idle is bounded."""

from __future__ import annotations

import os
import resource
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from filetools.errors import AccessDeniedError, StateDamagedError, WorkspaceGoneError
from filetools.locks.lock_files import LockFiles


def plant_link(place: Path, outside: Path) -> None:
    place.symlink_to(outside)


def plant_dangling_link(place: Path, outside: Path) -> None:
    place.symlink_to(outside.with_name("not there"))


def plant_hard_link(place: Path, outside: Path) -> None:
    place.hardlink_to(outside)


def plant_pipe(place: Path, outside: Path) -> None:
    os.mkfifo(place)


def plant_directory(place: Path, outside: Path) -> None:
    place.mkdir()


def plant_socket(place: Path, outside: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))


PLANTED = [
    (plant_link, "a symbolic link"),
    (plant_dangling_link, "a symbolic link"),
    (plant_hard_link, "a file with several names"),
    (plant_pipe, "a pipe"),
    (plant_directory, "a directory"),
    (plant_socket, "a socket"),
]


def open_below(directory: Path) -> list[str]:
    """Return what this process has open in a folder, the folder included."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            continue
        if target == str(directory) or target.startswith(f"{directory}/"):
            found.append(target)
    return found


@contextmanager
def no_more_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fillers = [os.open("/dev/null", os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1, hard))
    try:
        try:
            while True:
                fillers.append(os.dup(fillers[0]))
        except OSError:
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for filler in fillers:
            os.close(filler)


@pytest.mark.parametrize(("plant", "kind"), PLANTED)
def test_planted_file_is_refused_and_left_alone(tmp_path: Path, plant: Callable[[Path, Path], None], kind: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("text")
    files = LockFiles(tmp_path / "locks")
    plant(tmp_path / "locks" / "0007", outside)
    for attempt in (files.take, files.find):
        with pytest.raises(StateDamagedError, match=f"locks/0007 is {kind} instead of a lock file"):
            attempt("0007")
    assert outside.read_text() == "text"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["locks", "outside"]
    files.close()
    assert open_below(tmp_path) == []


@pytest.mark.parametrize("plant", [plant_link, plant_dangling_link, plant_pipe])
def test_planted_folder_is_refused(tmp_path: Path, plant: Callable[[Path, Path], None]) -> None:
    (tmp_path / "outside").mkdir()
    plant(tmp_path / "locks", tmp_path / "outside")
    with pytest.raises(StateDamagedError, match="in the place of the folder"):
        LockFiles(tmp_path / "locks")
    assert list((tmp_path / "outside").iterdir()) == []
    assert open_below(tmp_path) == []


def test_removed_folder_is_refused(tmp_path: Path) -> None:
    files = LockFiles(tmp_path / "locks")
    (tmp_path / "locks").rmdir()
    with pytest.raises(StateDamagedError, match="the folder of the locks was removed"):
        files.take("0001")
    files.close()


def test_closed_files_are_refused(tmp_path: Path) -> None:
    files = LockFiles(tmp_path / "locks")
    files.close()
    files.close()
    with pytest.raises(WorkspaceGoneError):
        files.take("0001")
    with pytest.raises(WorkspaceGoneError):
        files.find("0001")
    assert open_below(tmp_path) == []


def test_too_many_open_files_is_an_error_when_nothing_can_be_spared(tmp_path: Path) -> None:
    files = LockFiles(tmp_path / "locks")
    with no_more_descriptors(), pytest.raises(AccessDeniedError, match="Too many open files"):
        files.take("0001")
    files.close()


def test_folder_and_files_are_private_and_not_inherited(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir(mode=0o755)
    files = LockFiles(tmp_path / "locks")
    file = files.take("0001")
    assert stat.S_IMODE((tmp_path / "locks").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "locks" / "0001").stat().st_mode) == 0o600
    assert not os.get_inheritable(file.descriptor)
    files.discard(file)
    files.close()
