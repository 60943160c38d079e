"""Reads, writes and edits of a workspace with every duty on, beside plain system calls (goals 1 to 6, 20).

Usage: python -m benchmarks.bench_calls [ROUNDS]
"""

from __future__ import annotations

import asyncio
import itertools
from functools import partial
from pathlib import Path
from typing import Final

import filetools
from benchmarks.measure import Durability, against, dose, raw_read, raw_write, text_of, workspace

KB64: Final = 65536
SIZES: Final = {"1 KB": 1024, "64 KB": KB64, "1 MB": 1024 * 1024}
READ_LIMITS: Final = {"1 KB": (1, 6.0), "64 KB": (2, 4.0), "1 MB": (3, 1.5)}
WRITE_LIMITS: Final[dict[Durability, dict[str, float]]] = {
    "relaxed": {"1 KB": 3.2, "64 KB": 3.0, "1 MB": 3.8},
    "commit": {"1 KB": 1.0, "64 KB": 1.2, "1 MB": 1.8},
}
TOGETHER_LIMITS: Final[dict[Durability, float]] = {"relaxed": 2.9, "commit": 3.5}
READERS: Final = 64
WRITERS: Final = 16
_numbers: Final = itertools.count(1)


class Writer:
    """Writes a different text each time, and checks at the end that both disks have the last one."""

    def __init__(self, files: filetools.FileToolsFacade, folder: Path) -> None:
        self._files = files
        self._folder = folder
        self._last: dict[str, str] = {}

    async def write(self, path: str, size: int) -> None:
        text = text_of(size, next(_numbers))
        await self._files.write_file(path, text)
        self._last[path] = text

    def check(self) -> None:
        for path, text in self._last.items():
            assert (self._folder / "root" / path).read_text() == text
            assert (self._folder / "mirror" / path).read_text() == text


async def reads(rounds: int) -> None:
    """Goals 1 to 3, and the reads of 20."""
    async with workspace(durability="commit") as (files, folder):
        for label, size in SIZES.items():
            path, place = f"read/{size}.txt", str(folder / "root" / "read" / f"{size}.txt")
            await files.write_file(path, text_of(size, 0))
            assert (await files.read_file(path)).content == raw_read(place)
            goal, limit = READ_LIMITS[label]
            floor = partial(raw_read, place) if size <= KB64 else partial(asyncio.to_thread, raw_read, place)
            told = f"read {label} / raw" + (" in a hop" if size > KB64 else "")
            calls = 200 if size <= KB64 else 20
            await against(goal, told, limit, partial(files.read_file, path), floor, rounds=rounds, calls=calls)
        paths = [f"many/{number}.txt" for number in range(READERS)]
        for path in paths:
            await files.write_file(path, text_of(KB64, 0))

        async def ours() -> None:
            found = await asyncio.gather(*(files.read_file(path) for path in paths))
            assert len(found) == READERS

        async def hops() -> None:
            await asyncio.gather(*(asyncio.to_thread(raw_read, str(folder / "root" / path)) for path in paths))

        await against(20, "64 reads at once / raw hops", 1.0, ours, hops, rounds=rounds, calls=3)


async def writes(rounds: int, durability: Durability) -> None:
    """Goals 4 and 5, and the writes of 20."""
    async with workspace(durability=durability) as (files, folder):
        writer, is_durable = Writer(files, folder), durability == "commit"
        (folder / "other").mkdir()

        def single(name: str, size: int) -> None:
            raw_write(str(folder / name), text_of(size, next(_numbers)))

        def both(name: str, size: int) -> None:
            text = text_of(size, next(_numbers))
            raw_write(str(folder / name), text, durable=True)
            raw_write(str(folder / "other" / name), text, durable=True)

        goal, by_hand = (5, "two durable raw writes") if is_durable else (4, "one raw write")
        for label, size in SIZES.items():
            ours = partial(writer.write, f"one/two/{size}.txt", size)
            floor = partial(asyncio.to_thread, both if is_durable else single, f"{size}.txt", size)
            await against(
                goal, f"dual write, {durability} / {by_hand}", WRITE_LIMITS[durability][label], ours, floor,
                rounds=rounds, calls=40 if size <= KB64 else 8, case=label,
            )  # fmt: skip

        async def at_once() -> None:
            await asyncio.gather(*(writer.write(f"at-once/{number}.txt", KB64) for number in range(WRITERS)))

        async def hops() -> None:
            await asyncio.gather(*(asyncio.to_thread(single, f"{number}.txt", KB64) for number in range(WRITERS)))

        await against(
            20, "16 dual writes at once / raw hops", TOGETHER_LIMITS[durability], at_once, hops,
            rounds=rounds, calls=6, case=durability,
        )  # fmt: skip
        writer.check()


async def edits(rounds: int) -> None:
    """Goal 6: one line of 64 KB."""
    async with workspace() as (files, folder):
        place, ours_at, raw_at = str(folder / "edited.txt"), itertools.count(1), itertools.count(1)
        await files.write_file("edited.txt", text_of(KB64, 1))
        raw_write(place, text_of(KB64, 1))

        async def ours() -> None:
            number = next(ours_at)
            await files.edit_file("edited.txt", old=f"{number:015d}\n", new=f"{number + 1:015d}\n")

        def by_hand(old: str, new: str) -> None:
            raw_write(place, raw_read(place).replace(old, new))

        async def floor() -> None:
            number = next(raw_at)
            await asyncio.to_thread(by_hand, f"{number:015d}\n", f"{number + 1:015d}\n")

        told = "dual edit of 64 KB / raw read, write"
        await against(6, told, 2.8, ours, floor, rounds=rounds, calls=20)
        for disk in ("root", "mirror"):
            assert (folder / disk / "edited.txt").read_text() == raw_read(place)


async def main(rounds: int) -> None:
    await reads(rounds)
    await writes(rounds, "relaxed")
    await writes(rounds, "commit")
    await edits(rounds)


if __name__ == "__main__":
    asyncio.run(main(dose(11)))
