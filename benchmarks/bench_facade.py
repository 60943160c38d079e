"""What a call of the facade costs, with every duty on, beside raw system calls of the same run (goals 1 to 6, 20).

raw: one synchronous pass of system calls without any duty. hop floor: the same inside one `asyncio.to_thread`.
Validation, locks, journal, mirror, watching and events stay on; a listener hears every change. What is timed is what
the caller awaits, and what was read or written is compared at the end.

Usage: python -m benchmarks.bench_facade [ROUNDS]
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final

import filetools
from benchmarks import raw
from benchmarks.measure import Act, as_act, compared, dose, interleaved, print_heading, publish, settle, text_of
from filetools.models.words import Durability

SIZES: Final = {"1 KB": 1024, "64 KB": 65536, "1 MB": 1024 * 1024}
READ_GOALS: Final = {"1 KB": ("1", "raw", 6.0), "64 KB": ("2", "raw", 4.0), "1 MB": ("3", "hop", 1.5)}
DUAL_GOALS: Final[dict[Durability, dict[str, float]]] = {
    "relaxed": {"1 KB": 3.2, "64 KB": 3.0, "1 MB": 3.8},
    "commit": {"1 KB": 1.0, "64 KB": 1.2, "1 MB": 1.8},
}
TOGETHER_GOALS: Final[dict[Durability, float]] = {"relaxed": 2.9, "commit": 3.5}
FILE: Final = "one/two/file.txt"
READERS: Final = 64
WRITERS: Final = 16


class Bench:
    """One opened workspace, its mirror, and a folder for the raw contender. Lives for one set of rows."""

    def __init__(self, files: filetools.FileToolsFacade, root: Path, mirror: Path, aside: Path) -> None:
        self.files = files
        self.root = root
        self.mirror = mirror
        self.aside = aside
        self._numbers = itertools.count(1)
        self.last: dict[str, str] = {}

    def next_text(self, size: int) -> str:
        """Return text that no file holds yet."""
        return text_of(size, next(self._numbers))

    async def write(self, path: str, size: int) -> None:
        """Write through the facade."""
        text = self.next_text(size)
        await self.files.write_file(path, text)
        self.last[path] = text

    def check(self) -> None:
        """Compare what was written last with both disks."""
        for path, text in self.last.items():
            assert (self.root / path).read_text() == (self.mirror / path).read_text() == text


async def opened(measure: Callable[[Bench, int], Awaitable[None]], rounds: int, durability: Durability) -> None:
    """Open a workspace with a mirror and measure in it."""
    with tempfile.TemporaryDirectory(prefix="bench-facade-") as folder:
        root, mirror, aside = (Path(folder, name) for name in ("root", "mirror", "aside"))
        root.mkdir()
        (aside / "other").mkdir(parents=True)
        async with filetools.open(root, mirror=mirror, durability=durability) as files:
            heard = files.on("file:*", lambda event: None)
            bench = Bench(files, root, mirror, aside)
            await settle()
            await measure(bench, rounds)
            bench.check()
            heard.unsubscribe()


async def reads(bench: Bench, rounds: int) -> None:
    """Goals 1 to 3 and the first half of 20."""
    for label, size in SIZES.items():
        path = f"read/{size}.txt"
        await bench.write(path, size)
        where = str(bench.root / path)
        assert (await bench.files.read_file(path)).content == raw.read(where) == bench.last[path]
        contenders: dict[str, Act] = {
            "ours": partial(bench.files.read_file, path),
            "raw": as_act(partial(raw.read, where)),
            "bytes": as_act(partial(raw.read_bytes, where, size)),
            "hop": partial(asyncio.to_thread, raw.read, where),
        }
        times = await interleaved(contenders, rounds=rounds, calls=200 if size < 100_000 else 20)
        goal, against, limit = READ_GOALS[label]
        for floor, name in (("raw", "raw"), ("hop", "hop floor"), ("bytes", "raw without decoding")):
            publish(
                compared(
                    goal if floor == against else "-", f"read {label}, hot / {name}", times["ours"], times[floor],
                    limit=limit if floor == against else None, floor_name=name,
                    series=f"read, {name}" if floor != "bytes" else "", at=size,
                )
            )  # fmt: skip
    await reads_at_once(bench, rounds)


async def reads_at_once(bench: Bench, rounds: int) -> None:
    """64 files, all asked for in the same step of the loop."""
    paths = [f"many/{number}.txt" for number in range(READERS)]
    for path in paths:
        await bench.write(path, 65536)

    async def ours() -> None:
        found = await asyncio.gather(*(bench.files.read_file(path) for path in paths))
        assert len(found) == READERS

    async def hop() -> None:
        await asyncio.gather(*(asyncio.to_thread(raw.read, str(bench.root / path)) for path in paths))

    times = await interleaved({"ours": ours, "hop": hop}, rounds=rounds, calls=3)
    publish(
        compared("20", "64 reads of 64 KB at once / hop floor", times["ours"], times["hop"], limit=1.0,
                 floor_name="hop floor")
    )  # fmt: skip


async def writes(bench: Bench, rounds: int, *, durability: Durability) -> None:
    """Goals 4 and 5."""
    for label, size in SIZES.items():
        path = f"one/two/{size}.txt"
        floor = _floor(bench, size, durability)
        contenders: dict[str, Act] = {"ours": partial(bench.write, path, size), "floor": floor}
        calls = 40 if size < 100_000 else 8
        times = await interleaved(contenders, rounds=rounds, calls=calls)
        name = "two durable writes" if durability == "commit" else "one write"
        publish(
            compared(
                {"relaxed": "4", "commit": "5"}[durability],
                f"dual write {label}, {durability} / {name} in a hop", times["ours"], times["floor"],
                limit=DUAL_GOALS[durability][label], floor_name=f"{name} in one hop",
                series=f"dual write, {durability}", at=size,
            )
        )  # fmt: skip


def _floor(bench: Bench, size: int, durability: Durability) -> Act:
    where, other = str(bench.aside / f"{size}.txt"), str(bench.aside / "other" / f"{size}.txt")

    async def single() -> None:
        await asyncio.to_thread(raw.write, where, bench.next_text(size))

    async def both() -> None:
        await asyncio.to_thread(raw.write_both_durably, where, other, bench.next_text(size))

    return both if durability == "commit" else single


async def kinds_of_writes(bench: Bench, rounds: int) -> None:
    """Appending, conditional writing and creating, against a single write of the same size in one hop."""
    size = SIZES["64 KB"]
    await bench.write(FILE, size)
    floor = _floor(bench, size, "relaxed")

    async def conditional() -> None:
        before = await bench.files.read_file(FILE)
        text = bench.next_text(size)
        after = await bench.files.write_file(FILE, text, expected_version=before.version)
        assert after.replaced_version == before.version
        bench.last[FILE] = text

    async def append() -> None:
        await bench.files.append_file("log.txt", "one more line\n")

    new = itertools.count()

    async def create() -> None:
        await bench.files.create_file(f"new/{next(new)}.txt", bench.next_text(size))

    await bench.files.create_file("new/first.txt", "")
    await bench.files.write_file("log.txt", bench.next_text(size))
    acts: dict[str, Act] = {
        "read, then write 64 KB with expected_version": conditional,
        "append a line to 64 KB": append,
        "create 64 KB": create,
    }
    times = await interleaved({**acts, "floor": floor}, rounds=rounds, calls=10)
    for name in acts:
        publish(
            compared("-", f"{name}, dual, relaxed / one write in a hop", times[name], times["floor"], limit=None,
                     floor_name="one write in one hop")
        )  # fmt: skip
    await edits(bench, rounds)


async def edits(bench: Bench, rounds: int) -> None:
    """Goal 6: one line of 64 KB, back and forth."""
    size, where = SIZES["64 KB"], str(bench.aside / "edited.txt")
    await bench.files.write_file("edited.txt", text_of(size, 1))
    raw.write(where, text_of(size, 1))
    numbers, raw_numbers = itertools.count(1), itertools.count(1)

    async def ours() -> None:
        number = next(numbers)
        old, new = f"{number:015d}\n", f"{number + 1:015d}\n"
        await bench.files.edit_file("edited.txt", [filetools.Edit(old=old, new=new)])
        bench.last["edited.txt"] = text_of(size, number + 1)

    async def hop() -> None:
        number = next(raw_numbers)
        await asyncio.to_thread(raw.edit, where, f"{number:015d}\n", f"{number + 1:015d}\n")

    times = await interleaved({"ours": ours, "hop": hop}, rounds=rounds, calls=20)
    publish(
        compared("6", "edit 64 KB, dual, relaxed / read, replace, write in a hop", times["ours"], times["hop"],
                 limit=2.8, floor_name="hop floor")
    )  # fmt: skip


async def writes_at_once(bench: Bench, rounds: int, *, durability: Durability) -> None:
    """The second half of goal 20: different files, so that no lock is shared."""
    paths = [f"at-once/{number}.txt" for number in range(WRITERS)]
    size = SIZES["64 KB"]

    async def ours() -> None:
        await asyncio.gather(*(bench.write(path, size) for path in paths))

    async def hop() -> None:
        await asyncio.gather(
            *(
                asyncio.to_thread(raw.write, str(bench.aside / f"{number}.txt"), bench.next_text(size))
                for number in range(WRITERS)
            )
        )

    times = await interleaved({"ours": ours, "hop": hop}, rounds=rounds, calls=6)
    publish(
        compared("20", f"16 dual writes of 64 KB at once, {durability} / hop floor", times["ours"], times["hop"],
                 limit=TOGETHER_GOALS[durability], floor_name="hop floor")
    )  # fmt: skip


async def main(rounds: int) -> None:
    """Measure everything."""
    print_heading()
    await opened(reads, rounds, "commit")
    durabilities: tuple[Durability, ...] = ("relaxed", "commit")
    for durability in durabilities:
        await opened(partial(writes, durability=durability), rounds, durability)
        await opened(partial(writes_at_once, durability=durability), rounds, durability)
    await opened(kinds_of_writes, rounds, "relaxed")


if __name__ == "__main__":
    asyncio.run(main(dose(11)))
