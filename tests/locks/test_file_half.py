"""The half of a lock between processes: trying, deleted files, standing back."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from filetools.locks.file_half import FileHalf
from filetools.locks.lock_files import LockFiles


class Clock:
    """A hand-driven `time.monotonic` and `time.monotonic_ns`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def seconds(self) -> float:
        return self.now

    def nanoseconds(self) -> int:
        return round(self.now * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock.seconds)
    monkeypatch.setattr("time.monotonic_ns", clock.nanoseconds)
    return clock


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[list[LockFiles]]:
    """Three openers of one folder, as three processes would be."""
    opened = [LockFiles(tmp_path / "locks") for _ in range(3)]
    yield opened
    for files in opened:
        files.close()


@pytest.fixture
def halves(folders: list[LockFiles]) -> list[FileHalf]:
    return [FileHalf("0001", files) for files in folders]


def test_locked_file_is_refused_to_others(halves: list[FileHalf]) -> None:
    ours, other, _ = halves
    assert ours.lock_now()
    assert not other.lock_now()
    ours.release()
    assert other.lock_now()


def test_lock_on_a_deleted_file_is_not_valid(halves: list[FileHalf], tmp_path: Path) -> None:
    ours, other, third = halves
    assert ours.lock_now()
    assert not other.lock_now()
    (tmp_path / "locks" / "0001").unlink()
    assert third.lock_now()
    assert third.is_valid()
    assert not ours.is_valid()
    ours.release()
    assert not other.lock_now(), "the deleted file is free, but the named one is not"
    third.release()
    assert other.lock_now()
    assert other.is_valid()


def test_damaged_waiting_room_stops_nobody_from_leaving(halves: list[FileHalf], clock: Clock, tmp_path: Path) -> None:
    ours, *_ = halves
    (tmp_path / "locks" / "0001.w").mkdir()
    assert ours.lock_now()
    clock.now += 1
    ours.end_long_tenure()
    ours.release()
    assert not ours.is_locked


@pytest.mark.parametrize("content", [b"\xff" * 512, b"torn", b"\0" * 4096, struct.pack("=qq", 1, 2**62)])
def test_nonsense_in_the_waiting_room_blocks_nobody(halves: list[FileHalf], tmp_path: Path, content: bytes) -> None:
    (tmp_path / "locks" / "0001.w").write_bytes(content)
    seat = halves[0].take_seat()
    assert seat.is_first()
    seat.leave()
