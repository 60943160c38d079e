"""The half of a lock between processes: trying, deleted files, standing back."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from filetools.locks.file_half import FileHalf
from filetools.locks.lock_files import LockFiles
from filetools.locks.waiting_room import Seat


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


def test_short_tenure_goes_on_though_others_wait(halves: list[FileHalf], clock: Clock) -> None:
    ours, other, _ = halves
    assert ours.lock_now()
    seat = other.take_seat()
    seat.is_first()
    clock.now += 0.009
    seat.is_first()
    ours.end_long_tenure()
    assert ours.is_locked
    assert not ours.is_standing_back


def test_long_tenure_ends_for_who_waits(halves: list[FileHalf], clock: Clock) -> None:
    ours, other, _ = halves
    assert ours.lock_now()
    clock.now += 0.011
    seat = other.take_seat()
    seat.is_first()
    ours.end_long_tenure()
    assert not ours.is_locked
    assert ours.is_standing_back
    assert other.lock_now()


def test_tenure_counts_over_short_pauses_only(halves: list[FileHalf], clock: Clock) -> None:
    ours, other, _ = halves
    for pause, is_standing_back in ((0.0005, True), (0.002, False)):
        assert ours.lock_now()
        clock.now += 0.008
        ours.release()
        clock.now += pause
        assert ours.lock_now()
        clock.now += 0.008
        seat = other.take_seat()
        seat.is_first()
        ours.end_long_tenure()
        assert ours.is_standing_back is is_standing_back
        seat.leave()
        ours.release()
        clock.now += 1


def test_long_tenure_goes_on_while_nobody_waits(halves: list[FileHalf], clock: Clock) -> None:
    ours, other, _ = halves
    seat = other.take_seat()
    seat.is_first()
    seat.leave()
    assert ours.lock_now()
    clock.now += 60
    ours.end_long_tenure()
    assert ours.is_locked


def test_waiter_that_was_stopped_is_overlooked(halves: list[FileHalf], clock: Clock) -> None:
    ours, stopped, waiting = halves
    seat = stopped.take_seat()
    assert seat.is_first()
    clock.now += 0.005
    later = waiting.take_seat()
    assert not later.is_first()
    clock.now += 0.011
    assert later.is_first()
    clock.now += 0.011
    assert ours.lock_now()
    clock.now += 0.011
    ours.end_long_tenure()
    assert ours.is_locked


def test_longest_waiter_is_first(halves: list[FileHalf], clock: Clock) -> None:
    seats: list[Seat] = []
    for half in halves:
        seats.append(half.take_seat())
        seats[-1].is_first()
        clock.now += 0.001
    assert [seat.is_first() for seat in seats] == [True, False, False]
    seats[0].leave()
    assert [seat.is_first() for seat in seats[1:]] == [True, False]


def test_full_waiting_room_lets_everybody_try(folders: list[LockFiles], clock: Clock) -> None:
    files = folders[0]
    seats = []
    for _ in range(33):
        seats.append(Seat(files, "0001.w"))
        seats[-1].is_first()
        clock.now += 0.0001
    assert not seats[31].is_first()
    assert seats[32].is_first()
    for seat in seats:
        seat.leave()


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
