"""Descriptors over long texts: making one beside a hash of its bytes, any page, and the memory above the text (goal 17).

llmproc's descriptors stand beside ours where they are installed (the extra `dev`): they walk the text character by character.

Usage: python -m benchmarks.bench_descriptors [ROUNDS]
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import tempfile
import tracemalloc
from collections.abc import Iterator
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Final

import filetools
from benchmarks import raw
from benchmarks.measure import (
    Row,
    Times,
    as_act,
    compared,
    dose,
    interleaved,
    print_heading,
    publish,
    settle,
    timed,
)
from filetools.content.paging import PagedText
from filetools.descriptors.descriptors import Descriptors

SIZE: Final = 10_000_000
PAGE: Final = 4000
SHARE: Final = 0.15
TEXTS: Final = {
    "lines of 80": ("x" * 79 + "\n") * (SIZE // 80),
    "one line": "x" * SIZE,
    "words, not ASCII": "".join(random.Random(1).choices(["Wörter ", "lang ", "und ", "breit\n"], k=SIZE // 5))[:SIZE],
}


def main() -> None:
    """Measure and report."""
    print_heading()
    rounds = dose(5)
    asyncio.run(creating(rounds))
    asyncio.run(reading(rounds))
    asyncio.run(kept(rounds))
    for name, text in TEXTS.items():
        memory(name, text)
    beside_llmproc(min(rounds, 3))


async def creating(rounds: int) -> None:
    """Make a descriptor from each text, beside one SHA-256 of the same bytes."""
    for name, text in TEXTS.items():
        content = text.encode()
        descriptors = Descriptors()
        times = await interleaved(
            {
                "ours": as_act(partial(descriptors.create, text)),
                "hash": as_act(partial(hashlib.sha256, content)),
            },
            rounds=rounds,
            calls=3,
        )
        publish(
            compared(
                "17",
                f"create from 10 MB, {name}, in memory alone / one SHA-256",
                times["ours"],
                times["hash"],
                limit=1.5,
                floor_name="one SHA-256",
            )
        )


async def reading(rounds: int) -> None:
    """Read pages all over a text."""
    for name, text in TEXTS.items():
        descriptors = Descriptors()
        pages = int(descriptors.create(text).attributes["pages"])
        places = [random.Random(2).randint(1, pages) for _ in range(200)]
        turn = iter(places * (rounds + 1))
        times = await interleaved(
            {"page": as_act(partial(_next_page, descriptors, turn))},
            rounds=rounds,
            calls=200,
        )
        publish(timed("17", f"any page of 10 MB, {name}, in memory alone", times["page"], limit=100e-6))


def _next_page(descriptors: Descriptors, places: Iterator[int]) -> object:
    return descriptors.read("fd:1", start=next(places))


async def kept(rounds: int) -> None:
    """Make one in a workspace, whose journal keeps it over a restart, beside hashing the bytes and writing a file of them."""
    text = TEXTS["lines of 80"]
    numbers, raw_numbers = count(), count()
    with tempfile.TemporaryDirectory(prefix="bench-descriptors-") as folder:
        (Path(folder) / "root").mkdir()
        async with filetools.open(Path(folder) / "root", mirror=Path(folder) / "mirror") as files:
            await settle()
            descriptors = files.descriptors()

            async def ours() -> object:
                marked = f"{next(numbers)}\n{text}"  # no two alike: the same bytes are kept once
                return await descriptors.run(partial(Descriptors.create, text=marked))

            async def hashed() -> None:
                marked = f"{next(raw_numbers)}\n{text}"
                hashlib.sha256(marked.encode()).digest()
                raw.write_durably(f"{folder}/raw", marked)

            times = await interleaved({"ours": ours, "hash": hashed}, rounds=rounds, calls=2)
            publish(
                compared("17", "create from 10 MB in a workspace / one SHA-256 and a durable write", times["ours"],
                         times["hash"], limit=1.5, floor_name="one SHA-256 and a durable write")
            )  # fmt: skip
            places = cycle(random.Random(2).sample(range(1, SIZE // PAGE), 50))
            page = await interleaved(
                {"page": lambda: descriptors.run(partial(Descriptors.read, fd="fd:1", start=next(places)))},
                rounds=rounds,
                calls=50,
            )
            publish(timed("17", "any page of 10 MB in a workspace", page["page"], limit=100e-6))


def memory(name: str, text: str) -> None:
    """Count what a paged text holds beside the text."""
    tracemalloc.start()
    try:
        paged = PagedText(text, PAGE)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert paged.total_pages > 1
    publish(Row(goal="17", name=f"memory above the text, {name}", value=held / len(text.encode()), limit=SHARE))


def beside_llmproc(rounds: int) -> None:
    """Time both on a text of 1 MB, of which llmproc takes half a second."""
    try:
        from llmproc.file_descriptors.manager import FileDescriptorManager
    except ImportError:
        print("llmproc is not installed: pip install 'agent-filetools[dev]'")
        return
    text = TEXTS["lines of 80"][: SIZE // 10]
    theirs, ours = FileDescriptorManager(), Descriptors()
    times: dict[str, Times] = asyncio.run(
        interleaved(
            {"theirs": as_act(partial(theirs.create_fd_content, text)), "ours": as_act(partial(ours.create, text))},
            rounds=rounds,
            calls=1,
        )
    )
    publish(compared("-", "create from 1 MB", times["ours"], times["theirs"], limit=None, floor_name="llmproc"))
    theirs.create_fd_content(text)
    ours.create(text)
    times = asyncio.run(
        interleaved(
            {
                "theirs": as_act(partial(theirs.read_fd_content, "fd:1", start=120)),
                "ours": as_act(partial(ours.read, "fd:1", start=120)),
            },
            rounds=rounds,
            calls=20,
        )
    )
    publish(compared("-", "a page of 1 MB", times["ours"], times["theirs"], limit=None, floor_name="llmproc"))


if __name__ == "__main__":
    main()
