"""Changes of other processes on this process's bus: each once, and those of one path in their order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import filetools
from tests.support.facade_worker import RELAXED
from tests.support.opened import clerk_of, steps_until, told


def numbers(events: list[Any]) -> list[tuple[str, int]]:
    return [(event.path, event.seq) for event in events]


async def test_what_another_process_did_before_is_told_before_an_own_change_of_the_path(tmp_path: Path) -> None:
    async with (
        filetools.open(tmp_path, settings=RELAXED) as here,
        filetools.open(tmp_path, settings=RELAXED) as there,
    ):
        events: list[Any] = told(here, "file:*")
        clerk_of(here)._listening.close()  # never woken: only its own changes lead it to those of others
        await there.write_file("other.txt", "x")
        made = [await there.write_file("a.txt", "start\n")]
        made += [await side.append_file("a.txt", "x\n") for side in (here, there, there, here)]
        assert numbers(events)[1:] == [("a.txt", one.number) for one in made]
        await there.write_file("other.txt", "y")

        def is_told() -> bool:
            clerk_of(here)._rung.set()  # again and again: the mark that the file is written comes a moment later
            return len(events) >= 7

        await steps_until(is_told)
        assert [path for path, _ in numbers(events)[6:]] == ["other.txt"]


async def test_two_writers_hear_of_a_file_in_one_order(tmp_path: Path) -> None:
    async with (
        filetools.open(tmp_path, settings=RELAXED) as one,
        filetools.open(tmp_path, settings=RELAXED) as two,
    ):
        heard = [told(files, "file:*") for files in (one, two)]
        await one.write_file("a.txt", "start\n")

        async def write(files: filetools.FileToolsFacade) -> None:
            for number in range(20):
                await files.append_file("a.txt", f"{number}\n")

        await asyncio.gather(write(one), write(two))
        await steps_until(lambda: all(len(events) >= 41 for events in heard))
        for events in heard:
            assert numbers(events) == sorted(set(numbers(events)), key=lambda each: each[1])
