"""After a kill or power cut, the journal is always a prefix of what was committed, and no number is used twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from filetools.journal.journal import Journal
from tests.support.inside import heads_below
from tests.support.journals import damage, put, rebooted, traced, worker

WAL = "journal.db-wal"
HEADER_BYTES = 32
FRAME_BYTES = 24 + 4096
SEED = 20
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace injects the failures")


def copied(state: Path, name: str) -> Path:
    copy = state.parent / name
    copy.mkdir()
    for part in ("journal.db", WAL):
        shutil.copy(state / part, copy)
    shutil.copytree(state / "blobs", copy / "blobs")
    return copy


def numbers(state: Path) -> list[int]:
    """Open a journal and return its records, each checked with its bytes."""
    journal = Journal(state, durability="relaxed")
    records = journal.records(newest_first=True, limit=10_000)
    for record in records:
        assert record.after is not None
        assert journal.contents.get(record.after)
    found = sorted(record.number for record in records)
    heads = dict(heads_below(journal, ""))
    assert heads == {record.path: record.after for record in reversed(records)}
    assert journal._database.row("PRAGMA integrity_check") == ("ok",)
    journal.close()
    return found


@pytest.mark.parametrize("durability", ["commit", "relaxed"])
def test_a_killed_process_loses_nothing_it_acknowledged(state: Path, durability: str) -> None:
    with worker(state, "commit", durability, "0", "2000") as process:
        assert process.said() == "ready"
        acknowledged = [int(process.said().split()[1]) for _ in range(60)]
        process.signal(signal.SIGKILL)
        while line := process.said():
            acknowledged.append(int(line.split()[1]))
    found = numbers(state)
    assert found[: len(acknowledged)] == acknowledged
    assert len(found) - len(acknowledged) <= 1


def test_a_copy_of_any_moment_is_a_beginning(state: Path) -> None:
    with worker(state, "commit", "relaxed", "0", "2000") as process:
        assert process.said() == "ready"
        for turn in range(3):
            for _ in range(15):
                acknowledged = int(process.said().split()[1])
            found = numbers(copied(state, f"copy{turn}"))
            assert found == list(range(1, len(found) + 1))
            assert len(found) >= acknowledged


def test_any_cut_of_the_write_ahead_file_is_a_beginning(state: Path) -> None:
    journal = Journal(state, durability="relaxed")
    for index in range(30):
        put(journal, f"f{index % 4}", os.urandom(3000))
    choose = random.Random(SEED)
    size = (state / WAL).stat().st_size
    lengths = [0, 10, HEADER_BYTES, HEADER_BYTES + 1, *(choose.randrange(size) for _ in range(12)), size]
    counts = []
    for length in sorted(lengths):
        copy = copied(state, f"cut{length}")
        os.truncate(copy / WAL, length)
        found = numbers(copy)
        assert found == list(range(1, len(found) + 1)), length
        counts.append(len(found))
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, 30)
    journal.close()


def test_flipped_bits_in_the_write_ahead_file_never_show_wrong_records(state: Path) -> None:
    journal = Journal(state, durability="relaxed")
    for index in range(30):
        put(journal, f"f{index % 4}", os.urandom(3000))
    choose = random.Random(SEED)
    size = (state / WAL).stat().st_size
    for turn in range(12):
        copy = copied(state, f"flip{turn}")
        damage(copy / WAL, choose.randrange(HEADER_BYTES, size))
        found = numbers(copy)
        assert found == list(range(1, len(found) + 1))
    journal.close()


def killed_with(state: Path, commits: int) -> None:
    with worker(state, "commit", "commit", "0", "500") as process:
        for _ in range(commits + 1):
            process.said()


@pytest.mark.parametrize("offset", [9, HEADER_BYTES + 12 * FRAME_BYTES + 1000])
def test_damage_of_the_write_ahead_file_that_takes_acknowledged_changes_starts_a_new_epoch(
    state: Path, offset: int
) -> None:
    with closing(Journal(state)) as journal:
        epoch = journal.epoch
    killed_with(state, 20)
    damage(state / WAL, offset)
    with closing(Journal(state)) as journal:
        assert journal.positions().newest < 20
        assert journal.epoch != epoch


def test_a_lost_tail_starts_a_new_epoch(state: Path) -> None:
    journal = Journal(state, durability="relaxed")
    for index in range(10):
        put(journal, f"f{index}", b"1")
    before = copied(state, "before")
    epoch = journal.epoch
    journal.close()
    shutil.copyfile(before / "journal.db", state / "journal.db")
    shutil.copyfile(before / WAL, state / WAL)
    os.truncate(state / WAL, (state / WAL).stat().st_size - 12 * FRAME_BYTES)
    journal = Journal(state, durability="relaxed")
    assert journal.positions().newest < 10
    assert journal.epoch != epoch
    journal.close()


def put_back_by_copies(backup: Path, state: Path) -> None:
    shutil.rmtree(state)
    shutil.copytree(backup, state)


def put_back_in_place(backup: Path, state: Path) -> None:
    for part in backup.iterdir():
        if part.is_file():
            (state / part.name).write_bytes(part.read_bytes())


def put_back_by_moving(backup: Path, state: Path) -> None:
    shutil.rmtree(state)
    backup.rename(state)


@pytest.mark.parametrize("put_back", [put_back_by_copies, put_back_in_place, put_back_by_moving])
@pytest.mark.parametrize("keeps_inode", [False, True])
def test_a_state_directory_that_is_put_back_whole_starts_a_new_epoch(
    state: Path, monkeypatch: pytest.MonkeyPatch, put_back: Callable[[Path, Path], None], keeps_inode: bool
) -> None:
    if keeps_inode:  # as on file systems that reuse an inode number at once
        monkeypatch.setattr("filetools.journal.journal.file_id", lambda _: "7")
    journal = Journal(state)
    put(journal, "a", b"1")
    epoch = journal.epoch
    journal.close()
    backup = state.parent / "backup"
    shutil.copytree(state, backup)
    journal = Journal(state)
    assert journal.epoch == epoch
    put(journal, "a", b"2")
    journal.close()
    put_back(backup, state)
    journal = Journal(state)
    assert journal.epoch != epoch
    second = journal.epoch
    put(journal, "a", b"3")
    journal.close()
    journal = Journal(state)
    assert journal.epoch == second
    journal.close()


def test_processes_that_close_one_after_the_other_and_die_keep_the_epoch(state: Path) -> None:
    first, second = Journal(state), Journal(state)
    epoch = first.epoch
    first.close()
    put(second, "a", b"1")
    second._database.checkpoint(at_least_bytes=0)
    third = Journal(state)
    assert third.epoch == epoch
    third.close()
    second.close()
    with worker(state, "commit", "commit", "0", "5") as process:
        assert process.said() == "ready"
        for _ in range(5):
            assert process.said()
        process.signal(signal.SIGKILL)
        while process.said():
            pass
    last = Journal(state)
    assert last.epoch == epoch
    last.close()


@pytest.mark.parametrize(("durability", "keeps"), [("commit", True), ("relaxed", False)])
def test_a_restart_of_the_machine_ends_the_epoch_of_a_relaxed_journal(
    state: Path, durability: str, keeps: bool
) -> None:
    journal = Journal(state, durability="commit" if durability == "commit" else "relaxed")
    put(journal, "a", b"1")
    epoch = journal.epoch
    journal.close()
    rebooted(state)
    journal = Journal(state)
    assert (journal.epoch == epoch) is keeps
    assert [record.path for record in journal.marks.unfinished("unrestored")] == ["a"]
    journal.close()


def spoken(trace: str) -> list[str]:
    return [line.split('"')[1].removesuffix("\\n") for line in trace.splitlines() if 'write(1, "' in line]


@needs_strace
def test_a_failed_sync_acknowledges_nothing_and_the_next_one_relies_on_nothing(state: Path, tmp_path: Path) -> None:
    trace = traced(state, tmp_path / "trace", "outlive", inject="fdatasync:error=EIO:when=10")
    said = spoken(trace)
    failed = [line for line in said if line.startswith("failed")]
    assert failed == ["failed INTERNAL StorageFailedError"]
    lost = said.index(failed[0]) - 1
    after = trace[trace.index("failed INTERNAL") :]
    following = after[: after.index(f"committed f{lost + 1}\\n")]
    # The write-ahead file, the database it was copied into, and the new one, not only the one that failed.
    assert following.count("fdatasync(") >= 3
    journal = Journal(state)
    kept = {path for path, _ in heads_below(journal, "")}
    assert kept == {"first", *(f"f{turn}" for turn in range(10) if turn != lost)}
    journal.close()


@needs_strace
def test_a_disk_that_keeps_failing_acknowledges_nothing_more(state: Path, tmp_path: Path) -> None:
    trace = traced(state, tmp_path / "trace", "outlive", inject="fdatasync:error=EIO:when=10+")
    said = spoken(trace)[1:]
    assert "committed f0" in said
    first = next(index for index, line in enumerate(said) if line.startswith("failed"))
    assert said[first:] == ["failed INTERNAL StorageFailedError"] * (10 - first)
    journal = Journal(state)
    assert {path for path, _ in heads_below(journal, "")} == {"first", *(f"f{turn}" for turn in range(first))}
    journal.close()


@needs_strace
def test_after_a_failed_sync_in_a_checkpoint_the_write_ahead_file_is_written_anew(state: Path, tmp_path: Path) -> None:
    (tmp_path / "sound").mkdir()
    trace = traced(tmp_path / "sound", tmp_path / "trace", "fold")
    earlier = trace[: trace.index("begin")].count("fdatasync(")
    said = spoken(trace)
    assert said[-2] == "begin"
    assert int(said[-1].split()[1]) > 100_000
    trace = traced(state, tmp_path / "trace", "fold", inject=f"fdatasync:error=EIO:when={earlier + 1}")
    said = spoken(trace)
    assert said[-2] == "failed INTERNAL StorageFailedError"
    assert int(said[-1].split()[1]) < 100_000
    assert numbers(state) == [1, 2]
