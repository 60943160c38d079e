"""The strict policy: both or neither."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from filetools.content.version import version_of
from filetools.errors import DiskFullError, SyncFailedError
from filetools.stores.local import LocalStore
from filetools.sync.actions import MakeDirectory, MirrorAction, MirrorMove, MirrorPut, MirrorRemove
from filetools.sync.strict import RETRIES
from tests.support.mirror_worlds import (
    LIMIT_SECONDS,
    Hang,
    World,
    at,
    local_store,
    scripted,
    tree,
    world,
)


def put(path: str, content: bytes) -> MirrorPut:
    return MirrorPut(path=at(path), key=path, number=0, content=content)


class Refuse:
    """Fails some calls of one path, so many times."""

    def __init__(self, method: str, path: str, times: int = 1000) -> None:
        self._at = (method, path)
        self.left = times
        self.seen = 0

    def __call__(self, method: str, path: str) -> None:
        if (method, path) == self._at:
            self.seen += 1
            if self.left:
                self.left -= 1
                raise DiskFullError(path)


async def strictly(opened: World, actions: Sequence[MirrorAction]) -> None:
    """The mirror's part of a strict call, without its primary."""

    def call() -> None:
        ticket = opened.manager.prepare_strict(actions)
        ticket.exchange()

    await opened.run(call)
    await opened.manager._mirrors[0].front.perform(lambda job: None, silence_seconds=LIMIT_SECONDS)


async def test_a_mirror_that_cannot_prepare_refuses_before_anything_is_recorded(
    inner: LocalStore, tmp_path: Path
) -> None:
    refuse = Refuse("prepare", "d/b")
    async with world(tmp_path, scripted(inner, before=refuse), policy="strict") as opened:
        assert opened.manager.is_strict
        with pytest.raises(SyncFailedError, match="mirror 'mirror' refused: No space left for d/b") as caught:
            await strictly(opened, [put("a", b"1"), put("d/b", b"2")])
        assert (caught.value.retryable, caught.value.suggested_action) == (True, "Wait 5 seconds and retry")
        assert opened.journal.position() == 0
        assert tree(inner) == {}
        assert list(inner.leftovers()) == []


async def test_a_mirror_that_is_not_ready_refuses_at_once(tmp_path: Path) -> None:
    hang = Hang()
    async with world(
        tmp_path, scripted(local_store(tmp_path / "mirror"), before=hang), strict_wait_seconds=0.05
    ) as opened:
        hang.on()
        with pytest.raises(SyncFailedError, match=r"did not answer in 0\.05 s"):
            await strictly(opened, [put("a", b"1")])
        # The words tell that nothing was waited for: else it would not have answered in time again.
        with pytest.raises(SyncFailedError, match="is not ready"):
            await strictly(opened, [put("a", b"1")])
        hang.off()


async def test_a_paused_mirror_refuses(tmp_path: Path) -> None:
    async with world(tmp_path, local_store(tmp_path / "mirror")) as opened:
        opened.manager.pause()
        with pytest.raises(SyncFailedError, match="is paused"):
            await strictly(opened, [put("a", b"1")])


async def test_something_else_in_the_way_refuses(opened: World, inner: LocalStore) -> None:
    inner.make_directory(at("a"))
    with pytest.raises(SyncFailedError, match="out of step at 'a'"):
        await strictly(opened, [put("a", b"1")])
    with pytest.raises(SyncFailedError, match="out of step at 'b'"):
        await strictly(opened, [MirrorMove(path=at("c"), key="c", source=at("b"), source_key="b", number=0)])
    assert tree(inner) == {"a": None}
    assert opened.manager.status()["mirror"]["state"] == "ready"


@pytest.mark.parametrize("method", ["move", "prepare"])
async def test_folders_made_for_a_move_that_is_not_made_go_again(
    inner: LocalStore, tmp_path: Path, method: str
) -> None:
    refuse = Refuse(method, {"move": "b", "prepare": "d/x"}[method])
    async with world(tmp_path, scripted(inner, before=refuse)) as opened:
        await strictly(opened, [put("b", b"1")])
        action = MirrorMove(
            path=at("d/e/c"), key="d/e/c", source=at("b"), source_key="b", number=0, version=version_of(b"1")
        )
        with pytest.raises(SyncFailedError, match="refused: No space left"):
            await strictly(opened, [action, put("d/x", b"2")])
        assert tree(inner) == {"b": b"1"}
        refuse.left = 0
        await strictly(opened, [action])
        assert tree(inner) == {"d": None, "d/e": None, "d/e/c": b"1"}


async def test_an_exchange_that_fails_is_tried_again(inner: LocalStore, tmp_path: Path) -> None:
    refuse = Refuse("Prepared.exchange", "a", RETRIES)
    async with world(tmp_path, scripted(inner, before=refuse)) as opened:
        await strictly(opened, [put("a", b"1")])
        assert tree(inner) == {"a": b"1"}
        assert refuse.seen == 1 + RETRIES


async def test_an_exchange_that_fails_for_good_sets_everything_back(inner: LocalStore, tmp_path: Path) -> None:
    refuse = Refuse("Prepared.exchange", "last")
    async with world(tmp_path, scripted(inner, before=refuse)) as opened:
        for path, content in {"a": b"a", "b": b"b", "c": b"c", "d/e": b"e", "f/g": b"g"}.items():
            await opened.write(path, content)
        before = tree(inner)
        actions: list[MirrorAction] = [
            put("a", b"changed"),
            put("new/file", b"new"),
            MirrorRemove(path=at("d"), key="d", number=0),
            MirrorMove(path=at("b"), key="b", source=at("c"), source_key="c", number=0),
            MirrorMove(path=at("moved"), key="moved", source=at("f"), source_key="f", number=0),
            MakeDirectory(path=at("x/y"), key="x/y", number=0),
            put("last", b"refused"),
        ]
        with pytest.raises(SyncFailedError, match="No space left for last"):
            await strictly(opened, actions)
        assert refuse.seen == 1 + RETRIES
        assert tree(inner) == before
        assert opened.kept == []


async def test_both_or_neither_through_the_whole_way(inner: LocalStore, tmp_path: Path) -> None:
    """Commit, primary, mirror: the entry is paid where both have it, and a refusal leaves both as they were."""
    refuse = Refuse("Prepared.exchange", "b")
    async with world(tmp_path, scripted(inner, before=refuse)) as opened:
        await opened.manager.start()

        def write(path: str, content: bytes) -> None:
            ticket = opened.manager.prepare_strict([put(path, content)])
            opened.put(path, content)
            ticket.exchange()

        await opened.locked(("a",), lambda: write("a", b"1"))
        await opened.until_paid()
        with pytest.raises(SyncFailedError):
            await opened.locked(("b",), lambda: write("b", b"1"))
        refuse.left = 0
        # The facade's compensating record, and its primary set back.
        await opened.locked(("b",), lambda: opened.remove("b"))
        await opened.until_paid()
        assert tree(inner) == tree(opened.primary) == {"a": b"1"}


async def test_a_discarded_ticket_leaves_nothing(opened: World, inner: LocalStore) -> None:
    def call() -> None:
        ticket = opened.manager.prepare_strict([put("d/a", b"1")])
        ticket.discard()
        ticket.discard()

    await opened.run(call)
    assert tree(inner) == {}


async def test_an_exchange_that_hangs_is_not_set_back_late_but_caught_up(tmp_path: Path) -> None:
    inner, hang = local_store(tmp_path / "mirror"), Hang("Prepared.exchange")
    async with world(tmp_path, scripted(inner, before=hang), strict_wait_seconds=0.5) as opened:
        await opened.write("a", b"old")
        hang.on()

        def write() -> None:
            ticket = opened.manager.prepare_strict([put("a", b"refused")])
            opened.put("a", b"refused")
            try:
                ticket.exchange()
            finally:
                opened.put("a", b"old")  # the facade's compensating record, and its primary set back

        with pytest.raises(SyncFailedError, match="did not answer"):
            await opened.locked(("a",), write)
        hang.off()
        await opened.manager.start()
        await opened.until_paid()
        assert tree(inner) == tree(opened.primary) == {"a": b"old"}


async def test_a_strangers_text_is_kept_here_too(opened: World, inner: LocalStore, tmp_path: Path) -> None:
    await opened.write("a", b"old")
    (tmp_path / "mirror" / "a").write_bytes(b"theirs")
    await strictly(opened, [put("a", b"new")])
    assert opened.kept == [("a", b"theirs")]
    assert tree(inner) == {"a": b"new"}
