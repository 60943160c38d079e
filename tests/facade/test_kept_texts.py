"""Retention keeps its limit whatever actors have seen: of each actor and path only the base is kept."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.errors import VersionMismatchError
from filetools.facade.facade import FileToolsFacade
from filetools.writer.file_sync import sync_files
from tests.support.facade_worker import RELAXED
from tests.support.opened import steps_until

ALICE = Actor(kind="agent", id="alice", session="s")
BOB = Actor(kind="agent", id="bob", session="s")
LIMIT = 50_000


def text(number: int) -> str:
    """Return a text of about 2 KB."""
    return f"first\n{f'line of {number}' * 150}\nlast\n"


async def kept_bytes(files: FileToolsFacade) -> int:
    """Run retention with `LIMIT`, and return the bytes of contents kept afterwards."""
    parts = files._parts
    await parts.workers.run(parts.tracker.save)
    await parts.workers.run(partial(sync_files, parts.workspace, parts.store, parts.journal))
    database, unsynced = parts.journal._database, "SELECT count(*) FROM records WHERE synced = 0"
    await steps_until(lambda: database.row(unsynced) == (0,))  # the leader may be running it
    for _ in range(3):  # a round may coincide with the leader's first one, and leave the rest to the next
        await parts.workers.run(partial(parts.journal.retention.collect, retention_bytes=LIMIT, retention_records=20))
    return (await parts.workers.run(parts.journal.retention.retained)).bytes


async def test_texts_that_one_actor_wrote_one_after_the_other_come_down_to_the_limit(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        for number in range(100):
            await files.for_actor(ALICE).write_file("a.txt", text(number))
        assert await kept_bytes(files) <= LIMIT


async def test_texts_of_openings_that_are_over_are_not_kept_for_their_actors(tmp_path: Path) -> None:
    for number in range(12):
        async with filetools.open(tmp_path, settings=RELAXED) as files:
            await files.write_file("a.txt", 5 * text(number))
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        assert await kept_bytes(files) <= LIMIT


@pytest.mark.parametrize("ephemeral", [False, True])
async def test_the_base_of_an_actor_outlives_all_that_others_write_and_is_merged_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ephemeral: bool
) -> None:
    monkeypatch.setattr(
        "filetools.changes.read_tracker.MOST_HELD_BYTES", 0
    )  # an ephemeral actor's texts stay in memory
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        alice, bob = files.for_actor(ALICE), files.for_actor(BOB, ephemeral=ephemeral)
        await alice.write_file("a.txt", text(0))
        known = str((await bob.read_file("a.txt")).content)
        for number in range(60):
            await alice.edit_file(
                "a.txt", [Edit(old=f"line of {number}", new=f"line of {number + 1}", replace_all=True)]
            )
        assert await kept_bytes(files) <= LIMIT + len(known)
        written = await bob.write_file("a.txt", known + "bob's\n")
        assert written.merged
    assert "line of 60" in (tmp_path / "a.txt").read_text()
    assert (tmp_path / "a.txt").read_text().endswith("last\nbob's\n")


async def test_a_seen_version_whose_text_is_gone_is_refused_and_covers_nothing(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        alice, bob = files.for_actor(ALICE), files.for_actor(BOB)
        first = await bob.write_file("a.txt", text(0))
        await bob.write_file("a.txt", text(1))
        for number in range(2, 60):
            await alice.write_file("a.txt", text(number), expected_version=(await alice.read_file("a.txt")).version)
        await kept_bytes(files)
        with pytest.raises(VersionMismatchError):
            await bob.write_file("a.txt", "bob's\n", expected_version=first.version, on_stale="merge")
    assert (tmp_path / "a.txt").read_text() == text(59)
