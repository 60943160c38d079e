"""Processes die at every step of keeping large contents: acknowledged contents survive, and nothing is torn."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

from filetools.journal.journal import Journal
from filetools.journal.storage.contents import LARGEST_ROW_BYTES
from tests.support.dose import sampled
from tests.support.inside import database_of, heads_below
from tests.support.journals import ALICE, draft, put
from tests.support.journals import version as v

SIZE = LARGEST_ROW_BYTES + 1
FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH = (bytes([number]) * SIZE for number in range(6))
STAGES: list[dict[str, bytes | None]] = [
    {"a": FIRST},
    {"b": SECOND, "c": THIRD},
    {"a": FOURTH},
    {"b": THIRD},
    {"d": FIFTH},
    {"b": None, "c": None, "d": None},
]
"""Contents committed together; the first ones before any process dies."""
STEPS = ("open", "fsync", "replace", "unlink")
"""System calls for keeping and removing contents."""


class Steps:
    """Counts changes of content files and commits of the database, and dies at one of them."""

    def __init__(self, state: Path, dies_at: int, *, half: bool) -> None:
        self.names: list[str] = []
        self._place = str(state / "blobs")
        self._dies_at = dies_at
        self._half = half
        for name in STEPS:
            setattr(os, name, self._stepping(getattr(os, name), name))

    def watch(self, journal: Journal) -> None:
        connection = database_of(journal).connection
        connection.set_trace_callback(lambda statement: self._step("commit") if statement == "COMMIT" else None)

    def _stepping(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def stepping(target: Any, *arguments: Any, **options: Any) -> Any:
            path = os.readlink(f"/proc/self/fd/{target}") if isinstance(target, int) else str(target)
            if path.startswith(self._place):
                is_half = self._half and "/.filetools-" in path and name == "fsync"
                self._step(name, (lambda: os.ftruncate(target, SIZE // 2)) if is_half else None)
            return call(target, *arguments, **options)

        return stepping

    def _step(self, name: str, before: Callable[[], object] | None = None) -> None:
        self.names.append(name)
        if len(self.names) == self._dies_at:
            if before is not None:
                before()
            os._exit(0)


def work(state: Path, steps: Callable[[], Steps], say: Callable[[str], object]) -> None:
    """Commit, let retention remove what it may, and report what was done."""
    watching = steps()
    journal = Journal(state)
    watching.watch(journal)
    for stage in STAGES[1:]:
        journal.commit([draft(journal, path, content) for path, content in stage.items()], ALICE)
        say("committed")
    tidy(journal)
    say(",".join(watching.names))


def tidy(journal: Journal) -> None:
    """Let retention remove everything that it may."""
    journal.marks.applied(record.number for record in journal.marks.unfinished("pending"))
    journal.marks.synced(record.number for record in journal.marks.unfinished("unsynced"))
    journal.retention.collect(retention_bytes=0, retention_records=10**9)


def heads(journal: Journal) -> dict[str, bytes]:
    return {path: journal.contents.get(version) for path, version in heads_below(journal, "")}


def after(stages: int) -> dict[str, bytes]:
    """Return the files after this many stages."""
    files: dict[str, bytes | None] = {}
    for stage in STAGES[:stages]:
        files |= stage
    return {path: content for path, content in files.items() if content is not None}


def die(state: Path, dies_at: int, half: bool, writing: int) -> NoReturn:
    signal.alarm(60)
    try:
        work(state, lambda: Steps(state, dies_at, half=half), lambda said: os.write(writing, f"{said}\n".encode()))
    finally:
        os._exit(0)


def said_before_dying(state: Path, dies_at: int, *, half: bool = False) -> list[str]:
    """Let another process work on a copy of the prepared journal and die; returns its output."""
    shutil.copytree(state.parent / "prepared", state)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        die(state, dies_at, half, writing)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read().split()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory if there is one: for the death of a process, syncs make no difference."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="filetools-", dir=memory if memory.is_dir() else None) as made:
        yield Path(made)


def test_whenever_a_process_dies_acknowledged_contents_are_whole_and_the_journal_is_usable(folder: Path) -> None:
    (folder / "prepared").mkdir()
    with closing(Journal(folder / "prepared")) as journal:
        put(journal, "a", FIRST)
    steps = said_before_dying(folder / "whole", 0)[-1].split(",")
    assert {*steps} == {*STEPS, "commit"}
    moments = [(at, False) for at, _ in enumerate(steps, 1)]
    moments += [(at, True) for at, name in enumerate(steps, 1) if name == "fsync"]
    for dies_at, half in sampled(moments, 30, "contents"):
        state = folder / f"{dies_at}-{half}"
        said = said_before_dying(state, dies_at, half=half)
        for place in (state / "blobs").iterdir():
            os.utime(place, (0, 0))  # leftovers of dead processes are removed once they are old
        with closing(Journal(state, durability="relaxed")) as journal:
            found = heads(journal)
            committed = said.count("committed")
            assert found in (after(1 + committed), after(2 + committed)), (steps[dies_at - 1], dies_at, half)
            put(journal, "e", SIXTH)
            tidy(journal)
            assert heads(journal) == {**found, "e": SIXTH}
        kept = {v(content).removeprefix("sha256:") for content in (*found.values(), SIXTH)}
        assert {place.name for place in (state / "blobs").iterdir()} == kept, (steps[dies_at - 1], dies_at, half)
        shutil.rmtree(state)
