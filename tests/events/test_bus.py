"""The bus: who gets what, in which order, and that nobody disturbs anybody."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import AsyncIterator, Awaitable

import pytest

from filetools.errors import InternalError, InvalidArgumentError
from filetools.events.bus import EventBus
from filetools.events.types import Event, FileCreated, FileDeleted, Resync, SyncResumed
from filetools.models.records import SYSTEM
from tests.support.loops import VirtualTimeLoop


@pytest.fixture
async def bus() -> AsyncIterator[EventBus]:
    made = EventBus(queue_limit=10)
    yield made
    await made.aclose(0.2)


def created(number: int) -> FileCreated:
    return FileCreated(path=f"f{number}", actor=SYSTEM, seq=number)


async def until_idle() -> None:
    """Let every callback and task step that is ready run, a few times over."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "pattern", ["", "error", "new_listener", "file", "*:created", "file:*:x", "file:**", " file:*"]
)
async def test_a_pattern_that_matches_nothing_is_refused(bus: EventBus, pattern: str) -> None:
    with pytest.raises(InvalidArgumentError, match="No event is named"):
        bus.subscribe(pattern, lambda event: None)
    with pytest.raises(InvalidArgumentError, match="No event is named"):
        bus.batch(pattern, lambda events: None)


@pytest.mark.parametrize(("wait", "max_wait"), [(-0.1, 1.0), (2.0, 1.0)])
async def test_a_batch_with_impossible_times_is_refused(bus: EventBus, wait: float, max_wait: float) -> None:
    with pytest.raises(InvalidArgumentError, match="max_wait"):
        bus.batch("*", lambda events: None, wait=wait, max_wait=max_wait)


async def test_another_thread_is_refused(bus: EventBus) -> None:
    got: list[Event] = []
    bus.subscribe("*", got.append)
    refused: list[str] = []

    def misuse() -> None:
        for call in (
            lambda: bus.publish(created(1)),
            lambda: bus.subscribe("*", got.append),
            lambda: bus.answer("q", lambda payload: 1),
        ):
            try:
                call()
            except InternalError as exc:
                refused.append(str(exc))

    thread = threading.Thread(target=misuse)
    thread.start()
    thread.join()
    assert len(refused) == 3
    assert "thread" in refused[0]
    assert got == []


async def test_a_closed_bus_takes_no_subscribers_and_publishes_nothing(bus: EventBus) -> None:
    got: list[Event] = []
    bus.subscribe("*", got.append)
    await bus.aclose()
    await bus.aclose()
    bus.publish(created(1))
    assert got == []
    with pytest.raises(InternalError, match="closed"):
        bus.subscribe("*", got.append)
    with pytest.raises(InternalError, match="closed"):
        bus.answer("q", lambda payload: 1)


async def test_patterns_choose_by_name(bus: EventBus) -> None:
    got: dict[str, list[str]] = {"exact": [], "topic": [], "all": [], "other": []}
    bus.subscribe("file:created", lambda event: got["exact"].append(event.name))
    bus.subscribe("file:*", lambda event: got["topic"].append(event.name))
    bus.subscribe("*", lambda event: got["all"].append(event.name))
    bus.subscribe("sync:started", lambda event: got["other"].append(event.name))
    for event in (created(1), FileDeleted(path="a", actor=SYSTEM), SyncResumed()):
        bus.publish(event)
    assert got == {
        "exact": ["file:created"],
        "topic": ["file:created", "file:deleted"],
        "all": ["file:created", "file:deleted", "sync:resumed"],
        "other": [],
    }


async def test_plain_listeners_run_inside_publish_in_the_order_they_came(bus: EventBus) -> None:
    order: list[str] = []
    bus.subscribe("*", lambda event: order.append("first"))
    bus.publish(created(0))
    bus.subscribe("file:created", lambda event: order.append("second"))
    bus.subscribe("file:*", lambda event: order.append("third"))
    bus.subscribe("*", lambda event: order.append("fourth"))
    order.clear()
    bus.publish(created(1))
    assert order == ["first", "second", "third", "fourth"]


async def test_a_raising_listener_is_logged_and_disturbs_nobody(
    bus: EventBus, caplog: pytest.LogCaptureFixture
) -> None:
    got: list[str] = []

    def broken_plain(event: Event) -> None:
        raise ZeroDivisionError("plain")

    async def broken_async(event: Event) -> None:
        raise ZeroDivisionError("async")

    def cancelled(event: Event) -> None:
        raise asyncio.CancelledError

    async def awaits_cancelled(event: Event) -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    async def good_async(event: Event) -> None:
        got.append("async")

    for listener in (broken_plain, broken_async, cancelled, awaits_cancelled, good_async):
        bus.subscribe("*", listener)
    bus.subscribe("*", lambda event: got.append("plain"))
    with caplog.at_level(logging.ERROR):
        bus.publish(created(1))
        bus.publish(created(2))
        await until_idle()
    assert sorted(got) == ["async", "async", "plain", "plain"]
    assert caplog.text.count("Event listener") == 8
    assert sum("ZeroDivisionError" in (record.exc_text or "") for record in caplog.records) == 4


async def test_a_hung_listener_costs_nothing_and_its_memory_is_bounded(bus: EventBus) -> None:
    release = asyncio.Event()
    slow_got: list[Event] = []
    fast_got: list[Event] = []

    async def hung(event: Event) -> None:
        slow_got.append(event)
        await release.wait()

    async def fast(event: Event) -> None:
        fast_got.append(event)

    bus.subscribe("file:created", hung)
    bus.subscribe("*", fast)
    for number in range(1, 36):
        bus.publish(created(number))
        await until_idle()
    assert slow_got == [created(1)]
    assert fast_got == [created(number) for number in range(1, 36)]
    release.set()
    await until_idle()
    # 2 to 12 gave way to one Resync; with it nine more fitted, then 13 to 22 gave way with it, and so on.
    missing_after = [event.position for event in slow_got if isinstance(event, Resync)]
    assert missing_after == [1]
    kept = [event.seq for event in slow_got if isinstance(event, FileCreated)]
    assert kept == [1, *range(36 - len(kept) + 1, 36)]


async def test_an_overflow_of_unnumbered_events_asks_for_everything(bus: EventBus) -> None:
    got: list[Event] = []

    async def listener(event: Event) -> None:
        got.append(event)

    bus.subscribe("*", listener)
    for _ in range(11):
        bus.publish(SyncResumed())
    await until_idle()
    assert got == [Resync(position=None, reason="overflow")]


async def test_unsubscribe_may_be_called_twice_and_drops_what_is_queued(bus: EventBus) -> None:
    got: list[Event] = []

    async def listener(event: Event) -> None:
        got.append(event)

    subscription = bus.subscribe("*", listener)
    bus.publish(created(1))
    subscription.unsubscribe()
    subscription.unsubscribe()
    bus.publish(created(2))
    await until_idle()
    assert got == []
    assert not subscription.is_active
    assert not bus.has_listeners("file:created")


async def test_a_one_time_listener_gets_one_event(bus: EventBus) -> None:
    plain: list[Event] = []
    later: list[Event] = []

    async def listener(event: Event) -> None:
        later.append(event)

    def again(event: Event) -> None:
        plain.append(event)
        bus.publish(event)

    subscriptions = [bus.subscribe("file:*", again, once=True), bus.subscribe("file:*", listener, once=True)]
    bus.publish(created(1))
    bus.publish(created(2))
    await until_idle()
    assert (plain, later) == ([created(1)], [created(1)])
    assert not any(subscription.is_active for subscription in subscriptions)


async def test_callables_that_turn_out_async_are_awaited(bus: EventBus) -> None:
    got: list[tuple[str, Event]] = []

    async def note(kind: str, event: Event) -> None:
        await asyncio.sleep(0)
        got.append((kind, event))

    class Callable:
        async def __call__(self, event: Event) -> None:
            await note("object", event)

    def returns_coroutine(event: Event) -> Awaitable[None]:
        return note("plain", event)

    bus.subscribe("*", functools.partial(note, "partial"))
    bus.subscribe("*", Callable())
    bus.subscribe("*", returns_coroutine)
    bus.subscribe("*", returns_coroutine, once=True)
    bus.publish(created(1))
    bus.publish(created(2))
    await until_idle()
    kinds = sorted((kind, event.path) for kind, event in got if isinstance(event, FileCreated))
    assert kinds == [
        ("object", "f1"), ("object", "f2"), ("partial", "f1"), ("partial", "f2"),
        ("plain", "f1"), ("plain", "f1"), ("plain", "f2"),
    ]  # fmt: skip


async def test_async_listeners_get_events_in_order_one_at_a_time(bus: EventBus) -> None:
    got: list[str] = []

    async def listener(event: FileCreated) -> None:
        got.append(f"begin {event.seq}")
        await asyncio.sleep(0)
        got.append(f"end {event.seq}")

    bus.subscribe("*", listener)
    for number in (1, 2):
        bus.publish(created(number))
    await until_idle()
    assert got == ["begin 1", "end 1", "begin 2", "end 2"]


async def test_closing_delivers_what_is_queued(bus: EventBus) -> None:
    got: list[Event] = []
    batches: list[list[Event]] = []

    async def listener(event: Event) -> None:
        await asyncio.sleep(0)
        got.append(event)

    bus.subscribe("*", listener)
    bus.batch("*", batches.append, wait=60, max_wait=60)
    for number in range(5):
        bus.publish(created(number))
    await bus.aclose()
    assert got == [created(number) for number in range(5)]
    assert batches == [got]


async def test_closing_ends_hung_listeners_within_the_bound(bus: EventBus, caplog: pytest.LogCaptureFixture) -> None:
    stubborn_may_end = asyncio.Event()
    ended: list[str] = []

    async def hung(event: Event) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hung")

    async def stubborn(event: Event) -> None:
        while not stubborn_may_end.is_set():
            try:
                await stubborn_may_end.wait()
            except asyncio.CancelledError:
                ended.append("stubborn refused")

    bus.subscribe("*", hung)
    bus.subscribe("*", stubborn)
    bus.publish(created(1))
    await until_idle()
    async with asyncio.timeout(30):
        await bus.aclose(0.2)
    assert sorted(ended) == ["hung", "stubborn refused"]
    assert "does not end" in caplog.text
    stubborn_may_end.set()
    await until_idle()


async def test_a_listener_may_close_the_bus(bus: EventBus) -> None:
    closed = asyncio.Event()

    async def listener(event: Event) -> None:
        await bus.aclose()
        closed.set()

    bus.subscribe("*", listener)
    bus.publish(created(1))
    async with asyncio.timeout(60):
        await closed.wait()


async def test_a_batch_delivers_every_event_once_in_order() -> None:
    bus = EventBus()
    lists: list[list[FileCreated]] = []
    done = asyncio.Event()

    async def listener(events: list[FileCreated]) -> None:
        lists.append(events)
        if events[-1].seq == 5_999:
            done.set()

    bus.batch("file:*", listener, wait=0.01, max_wait=0.05)
    for number in range(6_000):
        bus.publish(created(number))
        if number % 200 == 0:
            await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await done.wait()
    assert [event.seq for events in lists for event in events] == list(range(6_000))
    assert len(lists) < 200
    await bus.aclose()


def test_a_batch_that_never_gets_quiet_is_delivered_after_max_wait() -> None:
    async def main() -> None:
        bus = EventBus()  # with room for more than is published here, since a half full queue is delivered at once
        delivered = asyncio.Event()
        bus.batch("*", lambda events: delivered.set(), wait=0.04, max_wait=0.1)
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not delivered.is_set():
            bus.publish(SyncResumed())
            await asyncio.sleep(0.005)
        assert 0.09 <= loop.time() - began <= 0.11
        await bus.aclose()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())


async def test_a_batch_listener_that_hangs_gets_a_resync(bus: EventBus) -> None:
    release = asyncio.Event()
    lists: list[list[Event]] = []

    async def hung(events: list[Event]) -> None:
        lists.append(events)
        await release.wait()

    bus.batch("*", hung, wait=0, max_wait=0)
    bus.publish(created(0))
    await until_idle()
    for number in range(1, 102):
        bus.publish(created(number))
    release.set()
    await until_idle()
    assert lists == [[created(0)], [Resync(position=0, reason="overflow")]]


async def test_a_batch_ended_while_it_waits_delivers_no_empty_list(bus: EventBus) -> None:
    lists: list[list[Event]] = []
    subscription = bus.batch("*", lists.append, wait=60, max_wait=60)
    bus.publish(created(1))
    await until_idle()
    subscription.unsubscribe()
    await bus.aclose()
    assert lists == []
