"""How long the event loop stands still while something is done (goal 19)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from benchmarks.measure import Row, publish

TICK_SECONDS: Final = 0.001
LIMIT_SECONDS: Final = 0.025


async def worst_stall(work: Callable[[], Awaitable[Any]]) -> float:
    """Return the longest time by which a ticker of the loop was late while work was done."""
    late: list[float] = [0.0]

    async def tick() -> None:
        due = time.perf_counter() + TICK_SECONDS
        while True:
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            now = time.perf_counter()
            late.append(now - due)
            due = now + TICK_SECONDS

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0.01)
    late.clear()
    await work()
    await asyncio.sleep(0)
    ticker.cancel()
    return max(late, default=0.0)


async def publish_worst(name: str, work: Callable[[], Awaitable[Any]], *, rounds: int, is_judged: bool = True) -> None:
    """Publish the worst stall of all rounds."""
    stalls = sorted([await worst_stall(work) for _ in range(rounds)])
    publish(
        Row(goal="19" if is_judged else "-", name=f"worst stall of the loop: {name}", value=stalls[-1], unit="s",
            limit=LIMIT_SECONDS if is_judged else None, ours=stalls[rounds // 2], ours_p99=stalls[-1])
    )  # fmt: skip
