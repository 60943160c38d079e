"""Catching up: what the mirror lacks is written in time, newest only, and one bad path blocks no other."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import pytest

from filetools.content.version import version_of
from filetools.errors import AccessDeniedError, InvalidPathError, LockTimeoutError, StorageFailedError
from filetools.events.types import SyncError, SyncPaused
from filetools.journal.backlog import BacklogEntry, MirrorRow
from filetools.journal.records import Change
from filetools.journal.tree_rows import TreeRow
from filetools.models.records import Operation
from filetools.stores.local import LocalStore
from filetools.sync import worker
from filetools.sync.comparison import UnsettledError, wanted
from filetools.sync.mirror_files import MARKER
from tests.support.dose import dose
from tests.support.faulty import FaultyStore, Plan
from tests.support.inside import mirror_of
from tests.support.journals import folder
from tests.support.mirror_worlds import FOR_EVER_SECONDS, Hang, World, at, hurry, local_store, scripted, tree, world


class Switch:
    """A mirror that can be down: every call fails until it is up."""

    def __init__(self) -> None:
        self.is_down = False
        self.calls = 0

    def __call__(self, method: str, path: str) -> None:
        self.calls += 1
        if self.is_down:
            raise StorageFailedError(path, "down")


class Exchanges:
    """Notes which version of which path each exchange made live, in order."""

    def __init__(self, opened: World) -> None:
        self._opened = opened
        self.seen: list[tuple[str, bytes]] = []

    def __call__(self, method: str, path: str) -> None:
        if method == "Prepared.exchange":
            assert isinstance(self._opened.mirror, FaultyStore)
            self.seen.append((path, self._opened.mirror.inner.read(at(path))[0]))


def assert_never_older(seen: list[tuple[str, bytes]]) -> None:
    newest: dict[str, int] = {}
    for path, content in seen:
        assert int(content) >= newest.get(path, -1), f"{path} went back to {content!r}"
        newest[path] = int(content)


async def test_a_mirror_down_for_many_writes_never_gets_an_older_version_over_a_newer_one(
    tmp_path: Path,
) -> None:
    switch, inner = Switch(), local_store(tmp_path / "mirror")
    async with world(tmp_path, scripted(inner, before=switch)) as opened:
        exchanges = Exchanges(opened)
        assert isinstance(opened.mirror, FaultyStore)
        opened.mirror.plan.after = exchanges  # type: ignore[attr-defined]
        switch.is_down = True
        chance = random.Random(7)
        paths = [f"d{number % 7}/f{number}" for number in range(25)]
        for number in range(dose(300)):
            assert await opened.write(chance.choice(paths), b"%d" % number) == "pending"
        switch.is_down = False
        # The mirror comes back under fire: calls and catching up meet on the same paths.
        for number in range(dose(300), dose(400)):
            await opened.write(chance.choice(paths), b"%d" % number)
        await opened.until_paid()
        assert tree(inner) == tree(opened.primary)
        assert len(exchanges.seen) >= 25
        assert_never_older(exchanges.seen)


async def test_a_mirror_that_flickers_converges_in_order(tmp_path: Path) -> None:
    switch, inner = Switch(), local_store(tmp_path / "mirror")
    async with world(tmp_path, scripted(inner, before=switch), mirror_probe_seconds=0.01) as opened:
        exchanges = Exchanges(opened)
        opened.mirror.plan.after = exchanges  # type: ignore[attr-defined]
        chance = random.Random(11)
        for number in range(dose(150)):
            switch.is_down = chance.random() < 0.3
            await opened.write(f"f{chance.randrange(5)}", b"%d" % number)
        switch.is_down = False
        await opened.until_paid()
        assert tree(inner) == tree(opened.primary)
        assert_never_older(exchanges.seen)


async def test_a_death_during_catching_up_leaves_the_entries(inner: LocalStore, tmp_path: Path) -> None:
    """Wherever the process dies, the next one finishes, and nothing is paid that is not there."""
    async with world(tmp_path, inner) as opened:
        await opened.write("a", b"old")
        await opened.write("gone", b"old")
        await opened.until_paid()
        opened.manager.pause()
        await opened.write("a", b"new")
        await opened.write("d/b", b"new")
        await opened.delete("gone")
        primary = tree(opened.primary)
    for at_call in range(1, 200):
        plan = Plan.die(at_call, "after" if at_call % 2 else "before")
        async with world(tmp_path, FaultyStore(inner, plan), is_started=False, sync_after_seconds=0) as opened:
            owed = opened.owed()
            if owed == 0:
                break
            await opened.manager.start()
            await opened.until(lambda plan=plan: plan.is_dead or opened.owed() == 0)  # type: ignore[misc]
            for path, content in primary.items():
                if path not in opened.lacking() and path != "d":
                    assert tree(inner)[path] == content
            assert "gone" in opened.lacking() or "gone" not in tree(inner)
    else:
        pytest.fail("it never finished")
    assert tree(inner) == primary


async def test_a_path_refused_five_times_is_reported_and_blocks_no_other(inner: LocalStore, tmp_path: Path) -> None:
    tries: list[str] = []

    def refuse(method: str, path: str) -> None:
        if method == "prepare" and path == "bad":
            tries.append(path)
            raise InvalidPathError(path, "not on this mirror")

    async with world(tmp_path, scripted(inner, before=refuse), mirror_probe_seconds=0.01) as opened:
        opened.manager.pause()
        await opened.write("bad", b"1")
        await opened.write("good", b"2")
        opened.manager.resume()
        await opened.until(lambda: bool(opened.named("sync:error")))
        assert tree(inner) == {"good": b"2"}
        assert opened.named("sync:error") == [
            SyncError(error="Invalid path 'bad': not on this mirror", error_code="INVALID_PATH", file="bad")
        ]
        assert len(tries) == 5
        await opened.until(lambda: opened.owed() == 1)
        assert await opened.write("other", b"3") == "in_sync"
        await opened.until(lambda: opened.owed() == 1)
        await opened.manager.aclose()
        await opened.build(mirror_probe_seconds=0.01).start()
        assert await opened.write("another", b"4") == "in_sync"
        await opened.until(lambda: opened.owed() == 1)
        assert len(tries) == 5
        assert opened.manager.status()["mirror"]["state"] == "ready"


async def test_a_refusal_that_a_probe_explains_counts_against_no_path(inner: LocalStore, tmp_path: Path) -> None:
    read_only = Switch()

    def refuse(method: str, path: str) -> None:
        if read_only.is_down and method in ("prepare", "probe"):
            read_only.calls += 1
            raise AccessDeniedError(path or ".", "read-only")

    async with world(tmp_path, scripted(inner, before=refuse), mirror_probe_seconds=0.001) as opened:
        await opened.until(lambda: opened.manager.standing() == "in_sync")  # it has probed the mirror by then
        read_only.is_down = True
        assert await opened.write("a", b"1") == "pending"
        await opened.until(lambda: read_only.calls >= 8)
        assert not any(entry.tries for entry in opened.journal.backlog.behind("mirror"))
        read_only.is_down = False
        await opened.until_paid()
        assert tree(inner) == {"a": b"1"}


@pytest.mark.parametrize("is_filled", [True, False])
async def test_a_pending_change_waits_until_it_is_settled(tmp_path: Path, inner: LocalStore, is_filled: bool) -> None:
    change = Change(operation=Operation.CREATE, path="a", key="a", after=version_of(b"1"), content=b"1", size=1)
    async with world(tmp_path, inner, is_filled=is_filled, sync_after_seconds=FOR_EVER_SECONDS) as opened:
        (record,) = opened.commit(change)
        await opened.write("b", b"2")
        assert tree(inner) == {"b": b"2"}
        (opened.root / "a").write_bytes(b"1")
        opened.journal.marks.applied([record.number])
        await opened.until(lambda: tree(inner) == {"a": b"1", "b": b"2"})


async def test_a_folder_that_is_about_to_go_is_not_taken_for_one_that_stays(opened: World, inner: LocalStore) -> None:
    await opened.make_directory("d")
    (record,) = opened.commit(folder(Operation.DELETE_DIRECTORY, "d"))
    await opened.write("b", b"2")
    assert tree(inner) == {"b": b"2", "d": None}
    (opened.root / "d").rmdir()
    opened.journal.marks.applied([record.number])
    await opened.until_paid()
    assert tree(inner) == {"b": b"2"}


async def test_a_folder_that_is_made_while_the_mirror_looks_is_made_there(tmp_path: Path, inner: LocalStore) -> None:
    async with world(tmp_path, inner, is_started=False) as opened:
        (record,) = opened.commit(folder(Operation.CREATE_DIRECTORY, "d"))

        def make(method: str, path: str) -> None:
            if (method, path) == ("stat", "d") and not (opened.root / "d").exists():
                (opened.root / "d").mkdir()
                opened.journal.marks.applied([record.number])

        await opened.build(primary=scripted(opened.primary, after=make)).start()
        await opened.until_paid()
        assert tree(inner) == {"d": None}


async def test_a_moved_folder_that_also_differed_leaves_nothing_at_its_former_place(
    tmp_path: Path, inner: LocalStore
) -> None:
    """Another program makes a folder there for an instant, so that the move and the difference wait at the same time."""
    looks: list[str] = []
    async with world(tmp_path, inner) as opened:
        await opened.write("d/a", b"1")
        await opened.until_paid()
        await opened.manager.aclose()
        opened.rename("d", "moved")
        opened.journal.backlog.add("mirror", [BacklogEntry(key="d", path="d", number=0)])

        def come_and_go(method: str, path: str) -> None:
            if (method, path) == ("stat", "d"):
                looks.append(path)
                if len(looks) <= 20:
                    (opened.root / "d").mkdir(exist_ok=True)
                    (opened.root / "d").touch()  # the folder is always young
                elif (opened.root / "d").exists():
                    (opened.root / "d").rmdir()

        await opened.build(primary=scripted(opened.primary, before=come_and_go)).start()
        await opened.until_paid()
        assert tree(inner) == {"moved": None, "moved/a": b"1"}


async def test_a_path_that_is_deferred_before_its_last_copy_was_synced_is_copied_again(
    tmp_path: Path, inner: LocalStore
) -> None:
    async with world(tmp_path, inner) as opened:
        await opened.manager.aclose()
        entry, file = BacklogEntry(key="a", path="a", number=0), opened.root / "a"
        file.write_bytes(b"one")
        opened.journal.backlog.add("mirror", [entry])
        await opened.build(sync_after_seconds=0.6).start()
        await opened.until(lambda: tree(inner) == {"a": b"one"})
        await asyncio.sleep(0.4)
        file.write_bytes(b"two")  # too young to be copied when the first copy is synced
        opened.journal.backlog.add("mirror", [entry])
        opened.manager.wake(is_heard=True)
        await opened.until(lambda: tree(inner) == {"a": b"two"})


async def test_a_file_that_others_have_just_replaced_is_not_copied_before_that_is_seen(
    tmp_path: Path, inner: LocalStore
) -> None:
    """They may put the former one back, and no record would say so."""
    async with world(tmp_path, inner, is_started=False) as opened:

        def see() -> None:
            stat = opened.primary.stat(at("a"))
            assert stat is not None
            row = TreeRow(key="a", path="a", kind="file", file=1, version=None, mode=stat.mode, identity=stat.identity)
            assert opened.journal.observe(str, lambda _, rows: rows.put([row])) == ()

        context, file = opened.manager.context, opened.root / "a"
        file.write_bytes(b"before")
        see()
        assert wanted(context, at("a"), "a").content == b"before"
        file.unlink()
        file.write_bytes(b"between")
        with pytest.raises(UnsettledError):
            wanted(context, at("a"), "a")
        assert wanted(context, at("a"), "a", is_late=True).content == b"between"
        see()
        file.chmod(0o600)
        with pytest.raises(UnsettledError):
            wanted(context, at("a"), "a")
        see()
        assert wanted(context, at("a"), "a").content == b"between"


async def test_a_folder_that_is_made_again_before_its_deletion_is_followed_keeps_nothing(
    opened: World, inner: LocalStore
) -> None:
    await opened.write("d/a", b"1")
    await opened.until_paid()
    shutil.rmtree(opened.root / "d")
    (opened.root / "d").mkdir()
    for operation in (Operation.DELETE_DIRECTORY, Operation.CREATE_DIRECTORY):
        opened.commit(folder(operation, "d", applied=True))
        opened.manager.wake()
        await opened.until_paid()
    assert tree(inner) == {"d": None}


async def test_a_folder_that_was_not_compared_before_a_restart_is_compared_after_it(
    tmp_path: Path, inner: LocalStore
) -> None:
    async with world(tmp_path, inner, is_started=False) as opened:
        record = opened.make("d")
        entry = BacklogEntry(key="d", path="d", number=record.number, below=True)
        opened.journal.backlog.add("mirror", [entry])
        (tmp_path / "mirror" / "d").mkdir()
        (tmp_path / "mirror" / "d" / "former").write_bytes(b"1")
        await opened.manager.start()
        await opened.until_paid()
        assert tree(inner) == {"d": None}


async def test_the_head_counts_where_the_primary_holds_an_unrecorded_change(opened: World, inner: LocalStore) -> None:
    opened.manager.pause()
    await opened.write("a", b"recorded")
    (opened.root / "a").write_bytes(b"not yet recorded")
    opened.manager.resume()
    await opened.until_paid()
    assert tree(inner) == {"a": b"recorded"}


async def test_folders_are_caught_up_with_everything_below(opened: World, inner: LocalStore) -> None:
    for number in range(5):
        await opened.write(f"d/e{number}/f", b"%d" % number)
    await opened.until_paid()
    opened.manager.pause()
    await opened.write("d/e0/f", b"changed before the move")
    await opened.move("d", "moved")
    await opened.write("moved/e1/f", b"changed after the move")
    await opened.delete("moved/e2")
    await opened.make_directory("empty/inside")
    opened.manager.resume()
    await opened.until_paid()
    assert tree(inner) == tree(opened.primary)


async def test_a_moved_folder_is_renamed_and_gets_what_it_lacked(inner: LocalStore, tmp_path: Path) -> None:
    written: list[str] = []

    def note(method: str, path: str) -> None:
        if method == "prepare":
            written.append(path)

    async with world(tmp_path, scripted(inner, before=note)) as opened:
        await opened.write("d/a", b"1")
        await opened.write("d/b", b"1")
        await opened.until_paid()
        opened.manager.pause()
        await opened.write("d/a", b"2")
        await opened.move("d", "moved")
        opened.manager.resume()
        await opened.until_paid()
        assert tree(inner) == tree(opened.primary) == {"moved": None, "moved/a": b"2", "moved/b": b"1"}
        assert "moved/b" not in written


async def test_a_page_that_ends_with_a_full_batch_owes_nothing(
    opened: World, inner: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "MOST_UNSYNCED", 3)
    opened.manager.pause()
    for name in "abc":
        await opened.write(name, b"1")
    opened.manager.resume()
    await opened.until_paid()
    assert sorted(tree(inner)) == ["a", "b", "c"]


async def test_a_file_that_a_mirror_has_already_is_not_written_again_after_a_restart(tmp_path: Path) -> None:
    inner, written = local_store(tmp_path / "mirror"), list[str]()

    def note(method: str, path: str) -> None:
        if (method, path) == ("prepare", "a"):
            written.append(path)

    async with world(tmp_path, scripted(inner, before=note), sync_after_seconds=FOR_EVER_SECONDS) as opened:
        assert await opened.write("a", b"1") == "in_sync"
        first = opened.manager
        first.pause()
        assert opened.owed() == 1
        await opened.build().start()
        await opened.until_paid()
        await first.aclose()
    assert written == ["a"]


async def test_a_sync_that_failed_is_followed_by_new_bytes(tmp_path: Path) -> None:
    """The kernel may have dropped the dirty pages: a second sync of the same file would prove nothing."""
    inner, order = local_store(tmp_path / "mirror"), list[str]()

    def fail_once(method: str, path: str) -> None:
        if method in ("Prepared.exchange", "sync"):
            order.append(method)
        if order == ["Prepared.exchange", "sync"] and method == "sync":
            raise StorageFailedError(path, "EIO")

    async with world(tmp_path, scripted(inner, before=fail_once)) as opened:
        assert await opened.write("a", b"1") == "in_sync"
        await opened.until_paid()
        assert order == ["Prepared.exchange", "sync", "Prepared.exchange", "sync"]


async def test_closing_waits_for_no_hung_mirror(tmp_path: Path) -> None:
    hang = Hang()
    async with world(tmp_path, scripted(local_store(tmp_path / "mirror"), before=hang)) as opened:
        hang.on()
        hurry(opened.manager)
        await opened.write("a", b"1")
        async with asyncio.timeout(30):
            await opened.manager.aclose()
        hang.off()


async def test_an_error_of_the_primary_is_not_blamed_on_the_mirror(opened: World, inner: LocalStore) -> None:

    def fail(method: str, path: str) -> None:
        if method in ("read", "open") and path == "d/unreadable":
            raise StorageFailedError(path, "a bad sector")

    await opened.manager.aclose()
    await opened.build(primary=scripted(opened.primary, before=fail)).start()
    await opened.make_directory("d")
    (opened.root / "d" / "unreadable").write_bytes(b"1")
    result = await opened.manager.sync_all()
    assert [each["error"] for each in result.errors] == ["Storage failed at d/unreadable: a bad sector"]
    assert await opened.write("a", b"2") == "in_sync"
    await opened.until(lambda: opened.owed() == 1)  # only the bad file is owed for good
    assert opened.manager.status()["mirror"] == {"state": "ready", "behind": 1, "last_error": None}
    assert tree(inner) == {"a": b"2", "d": None}


@pytest.mark.parametrize("faults", [0, 1])
async def test_a_mirror_that_was_away_for_longer_than_records_are_kept_is_compared(
    opened: World, inner: LocalStore, monkeypatch: pytest.MonkeyPatch, faults: int
) -> None:
    errors = [StorageFailedError("journal", "a fault of the test")] * faults
    renew = opened.journal.mirrors.renew

    def fail_first(row: MirrorRow) -> None:
        if errors:
            raise errors.pop()
        renew(row)

    monkeypatch.setattr(opened.journal.mirrors, "renew", fail_first)
    for path in ("a", "gone", "same"):
        await opened.write(path, b"old")
    await opened.until_paid()
    await opened.manager.aclose()
    opened.remove("gone")
    opened.make("folder")
    opened.journal.marks.synced(range(1, opened.journal.positions().newest + 1))
    for number in range(3):
        opened.journal.marks.synced([opened.put("last", b"%d" % number).number])
    assert opened.journal.retention.collect(retention_bytes=0, retention_records=1) > 0
    assert opened.journal.positions().forgotten > opened.journal.mirrors.register("mirror").position
    await opened.build().start()
    await opened.until(lambda: tree(inner) == tree(opened.primary))
    await opened.until_paid()
    assert opened.journal.mirrors.register("mirror").is_filled
    await opened.until(lambda: opened.manager.standing() == "in_sync")  # a round says so at its end


async def test_a_mirror_is_filled_after_the_first_look_at_the_tree(tmp_path: Path, inner: LocalStore) -> None:
    """What comes and goes before is in no record, and nobody would follow it."""
    begun, ended = asyncio.Event(), asyncio.Event()
    async with world(tmp_path, inner, is_looked=False, is_filled=False, is_started=False) as opened:

        async def look() -> None:
            begun.set()
            await ended.wait()

        (opened.root / "goes").write_bytes(b"1")
        (tmp_path / "mirror" / "theirs").write_bytes(b"a stranger's")
        await opened.begin(look)
        async with asyncio.timeout(60):
            await begun.wait()
        await opened.write("ours", b"2")
        await opened.until(lambda: "ours" in tree(inner))
        assert "goes" not in tree(inner)
        (opened.root / "goes").unlink()
        (opened.root / "comes").write_bytes(b"3")
        ended.set()
        await opened.until(lambda: tree(inner) == {"comes": b"3", "ours": b"2", "theirs": b"a stranger's"})


async def test_a_look_that_fails_is_tried_again_before_a_mirror_is_filled(tmp_path: Path, inner: LocalStore) -> None:
    states = list[tuple[str, bool]]()

    async def look() -> None:
        status = opened.manager.status()["mirror"]
        states.append((status["state"], "the tree could not be looked at" in (status["last_error"] or "")))
        if len(states) < 3:
            raise LockTimeoutError("the tree", 1.0, "somebody")

    async with world(tmp_path, inner, is_looked=False, is_filled=False, is_started=False) as opened:
        (opened.root / "a").write_bytes(b"1")
        await opened.begin(look)
        await opened.until(lambda: tree(inner) == {"a": b"1"})
        assert not [event for event in opened.events if isinstance(event, SyncError | SyncPaused)]
    assert states == [("filling", False), ("filling", True), ("filling", True)]


async def test_the_tree_is_looked_at_once_for_a_mirror_that_pauses_before_it_is_filled(
    tmp_path: Path, inner: LocalStore
) -> None:
    looks: list[int] = []

    async def look() -> None:
        opened.manager.pause()
        looks.append(1)

    async with world(tmp_path, inner, is_looked=False, is_filled=False, is_started=False) as opened:
        (opened.root / "a").write_bytes(b"1")
        await opened.begin(look)
        await opened.until(lambda: looks == [1])
        await asyncio.sleep(0.5)  # ten times as long as the mirror's probing takes
        assert looks == [1]
        opened.manager.resume()
        await opened.until(lambda: tree(inner) == {"a": b"1"})


async def test_what_is_gone_from_a_busy_folder_is_waited_for_only_so_long(
    opened: World, inner: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_PATIENCE_SECONDS", 0.3)
    (tmp_path / "mirror" / "goes").write_bytes(b"1")
    opened.journal.contents.keep(b"1", version_of(b"1"))
    opened.journal.tree_index.note_opened("goes", "goes", version_of(b"1"))

    async def work() -> None:
        while True:
            (opened.root / "lock").touch()
            (opened.root / "lock").unlink()
            await asyncio.sleep(0.02)

    busy = asyncio.create_task(work())
    async with asyncio.timeout(60):
        await opened.manager.sync_all()
    busy.cancel()
    await asyncio.gather(busy, return_exceptions=True)
    assert tree(inner) == {}


async def test_files_leave_the_backlog_while_a_mirror_is_being_filled(
    tmp_path: Path, inner: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "MOST_UNSYNCED", 3)
    owed: list[int] = []

    def note(method: str, path: str) -> None:
        if (method, path) == ("prepare", "f5"):
            owed.append(opened.owed())

    async with world(tmp_path, scripted(inner, before=note), is_filled=False, is_started=False) as opened:
        for number in range(6):
            opened.journal.tree_index.note_opened(f"f{number}", f"f{number}", version_of(b"1"))
            (tmp_path / "primary" / f"f{number}").write_bytes(b"1")
        await opened.manager.start()
        await opened.until(lambda: "f5" in tree(inner))
        assert owed == [3]


async def test_a_known_file_that_was_away_for_an_instant_is_filled_in(tmp_path: Path, inner: LocalStore) -> None:
    def come_back(method: str, path: str) -> None:
        if (method, path) == ("Prepared.exchange", MARKER):  # the trees are compared by then
            (tmp_path / "primary" / "a").write_bytes(b"1")

    async with world(tmp_path, scripted(inner, before=come_back), is_filled=False, is_started=False) as opened:
        opened.journal.tree_index.note_opened("a", "a", version_of(b"1"))
        (tmp_path / "mirror" / "b").write_bytes(b"theirs")
        await opened.manager.start()
        await opened.until(lambda: tree(inner) == {"a": b"1", "b": b"theirs"})


async def test_a_change_that_waits_after_a_difference_of_its_path_has_waited_is_followed(
    opened: World, inner: LocalStore
) -> None:
    file, mirror = opened.root / "a", mirror_of(opened.manager)
    opened.journal.backlog.add("mirror", [BacklogEntry(key="a", path="a", number=0)])
    file.write_bytes(b"1")  # too young to be copied at once
    await opened.run(lambda: mirror.wait_for_round(60))
    (gone,) = opened.commit(Change(operation=Operation.DELETE, path="a", key="a"))
    opened.manager.wake(is_heard=True)
    await opened.until(lambda: mirror.progress.retried == {"a": False})
    file.unlink()
    opened.journal.marks.applied([gone.number])
    await opened.until(lambda: opened.journal.backlog.behind("mirror") == [])
    change = Change(operation=Operation.CREATE, path="a", key="a", after=version_of(b"2"), content=b"2", size=1)
    (made,) = opened.commit(change)
    await opened.write("b", b"3")
    await opened.until(lambda: opened.journal.mirrors.register("mirror").position > made.number)
    file.write_bytes(b"2")
    opened.journal.marks.applied([made.number])
    await opened.until(lambda: tree(inner) == {"a": b"2", "b": b"3"})
