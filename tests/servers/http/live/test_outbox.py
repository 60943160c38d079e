"""Frames on their way to a client that reads slowly, or not at all."""

from __future__ import annotations

import asyncio

from filetools.servers.http.live.outbox import Outbox


async def test_what_nobody_asked_for_is_dropped_when_there_is_no_room() -> None:
    outbox = Outbox(most_frames=3)
    outbox.put_now("answer")
    assert [outbox.offer(text) for text in ("one", "two", "three")] == [True, True, False]
    assert (len(outbox), outbox.characters) == (1, len("answer"))
    assert outbox.offer("four")
    assert [await outbox.take(), await outbox.take()] == ["answer", "four"]


async def test_one_frame_may_exceed_the_characters_and_no_second_one() -> None:
    outbox = Outbox(most_characters=10)
    outbox.put_now("x" * 100)
    assert not outbox.has_room
    putting = asyncio.create_task(outbox.put("answer"))
    await asyncio.sleep(0)
    assert (putting.done(), len(outbox)) == (False, 1)
    await outbox.take()
    await putting
    assert await outbox.take() == "answer"


async def test_closing_ends_all_waiting_and_what_waits_is_still_sent() -> None:
    outbox = Outbox(most_frames=1)
    outbox.put_now("last")
    waiting = [asyncio.create_task(each) for each in (outbox.put("never"), outbox.room(), outbox.drained())]
    await asyncio.sleep(0)
    outbox.close()
    outbox.close()
    await asyncio.gather(*waiting)
    assert outbox.offer("after")
    assert [await outbox.take(), await outbox.take(), await outbox.take()] == ["last", None, None]


async def test_drained_waits_until_nothing_waits() -> None:
    outbox = Outbox()
    outbox.put_now("one")
    draining = asyncio.create_task(outbox.drained())
    await asyncio.sleep(0)
    assert not draining.done()
    await outbox.take()
    await draining
