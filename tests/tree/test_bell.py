"""The bell: heard by every listener, in every process, whatever happens to its file."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from filetools.tree.bell import POLL_SECONDS, Bell
from tests.support.watching import run_child, until

RING = "import sys, pathlib; from filetools.tree.bell import Bell; Bell(pathlib.Path(sys.argv[1])).ring()"

both_methods = pytest.mark.parametrize("use_inotify", [True, False])


class Ear:
    """Counts rings."""

    def __init__(self) -> None:
        self.rings = 0

    def __call__(self) -> None:
        self.rings += 1


async def test_without_a_ring_nothing_is_heard_and_a_closed_ear_hears_nothing(tmp_path: Path) -> None:
    first, second, closed, open_one = Bell(tmp_path / "bell"), Bell(tmp_path / "bell"), Ear(), Ear()
    first.listen(closed)
    second.listen(open_one)
    await asyncio.sleep(2 * POLL_SECONDS)
    assert (closed.rings, open_one.rings) == (0, 0)
    first.close()
    first.close()
    first.ring()
    await until(lambda: open_one.rings > 0)
    second.close()
    assert closed.rings == 0


def test_a_ring_without_a_state_directory_is_logged_not_raised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        Bell(tmp_path / "missing" / "bell").ring()
    assert "Cannot ring" in caplog.text


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_a_planted_file_is_neither_followed_nor_waited_for(
    tmp_path: Path, kind: Literal["link", "fifo", "directory"]
) -> None:
    target, path = tmp_path / "target", tmp_path / "bell"
    target.write_bytes(b"")
    os.utime(target, ns=(1, 1))
    if kind == "link":
        path.symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    Bell(path).ring()
    assert target.stat().st_mtime_ns == 1


@both_methods
async def test_a_ring_of_another_process_is_heard(tmp_path: Path, use_inotify: bool) -> None:
    bell, ear = Bell(tmp_path / "bell", use_inotify=use_inotify), Ear()
    bell.listen(ear)
    assert bell.is_polling is not use_inotify
    await asyncio.to_thread(run_child, RING, tmp_path / "bell")
    await until(lambda: ear.rings > 0)
    bell.close()


@both_methods
async def test_rings_of_one_clock_tick_are_told_apart(tmp_path: Path, use_inotify: bool) -> None:
    bell, ear = Bell(tmp_path / "bell", use_inotify=use_inotify), Ear()
    marks = set()
    for _ in range(200):
        bell.ring()
        marks.add(bell.mark())
    assert len(marks) == 200
    bell.listen(ear)
    for heard in range(20):
        bell.ring()
        await until(lambda heard=heard: ear.rings > heard)  # type: ignore[misc] # mypy cannot infer the default
    bell.close()


@both_methods
@pytest.mark.parametrize("how", ["deleted", "replaced", "moved away", "directory gone"])
async def test_a_lost_file_does_not_make_deaf(tmp_path: Path, use_inotify: bool, how: str) -> None:
    state = tmp_path / "state"
    state.mkdir()
    path = state / "bell"
    bell, ear = Bell(path, use_inotify=use_inotify), Ear()
    bell.listen(ear)
    bell.ring()
    await until(lambda: ear.rings > 0)
    if how == "deleted":
        path.unlink()
    elif how == "replaced":
        other = state / "other"
        other.write_bytes(b"")
        other.replace(path)
    elif how == "moved away":
        path.rename(state / "elsewhere")
    else:
        path.unlink()
        state.rmdir()
        await until(lambda: bell.is_polling)
        state.mkdir()
    heard = ear.rings
    await until(lambda: ear.rings > heard or not use_inotify)
    for _ in range(3):
        await asyncio.sleep(2 * POLL_SECONDS)  # whatever the loss itself made heard is over
        heard = ear.rings
        bell.ring()
        await until(lambda heard=heard: ear.rings > heard)  # type: ignore[misc] # mypy cannot infer the default
    assert bell.is_polling is not use_inotify
    bell.close()


async def test_without_an_inotify_instance_it_polls_until_there_is_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bell, ear = Bell(tmp_path / "bell"), Ear()
    bell.ring()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        bell.listen(ear)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert bell.is_polling
    assert caplog.text.count("looking for them in turns") == 1
    bell.ring()
    await until(lambda: ear.rings > 0)
    await until(lambda: not bell.is_polling)
    heard = ear.rings
    bell.ring()
    await until(lambda: ear.rings > heard)
    bell.close()


async def test_a_failing_callback_is_logged_and_called_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bell, ear = Bell(tmp_path / "bell"), Ear()

    def fails() -> None:
        ear()
        raise ZeroDivisionError

    bell.listen(fails)
    bell.ring()
    await until(lambda: ear.rings > 0)
    heard = ear.rings
    bell.ring()
    await until(lambda: ear.rings > heard)
    bell.close()
    assert "ZeroDivisionError" in caplog.text


@pytest.fixture
def rung(tmp_path: Path) -> Callable[[], bool]:
    """Whether somebody has rung since the last time it was asked."""
    marks = [Bell(tmp_path / "bell").mark()]

    def has_rung() -> bool:
        marks.append(Bell(tmp_path / "bell").mark())
        return marks[-1] != marks[-2]

    return has_rung


async def test_who_listens_alone_rings_for_nobody(tmp_path: Path, rung: Callable[[], bool]) -> None:
    bell = Bell(tmp_path / "bell")
    bell.listen(Ear())
    rung()
    bell.ring_for_others()
    assert not rung()
    bell.close()


async def test_while_another_listens_in_the_same_or_another_process_the_bell_rings(
    tmp_path: Path, rung: Callable[[], bool]
) -> None:
    bell = Bell(tmp_path / "bell")
    bell.listen(Ear())
    other = Bell(tmp_path / "bell")
    other.listen(Ear())
    rung()
    bell.ring_for_others()
    assert rung()
    other.close()
    bell.ring_for_others()
    assert not rung()
    with listening_child(tmp_path / "bell") as child:
        bell.ring_for_others()
        assert rung()
        child.kill()
        child.wait()
        bell.ring_for_others()
        assert not rung()
    bell.close()


async def test_where_it_cannot_be_told_who_listens_the_bell_rings(tmp_path: Path, rung: Callable[[], bool]) -> None:
    bell = Bell(tmp_path / "bell")
    bell.ring_for_others()  # listens to nothing itself
    assert rung()
    bell.listen(Ear())
    (tmp_path / "bell").unlink()  # others who come will meet on another file
    rung()
    bell.ring_for_others()
    assert rung()
    bell.close()


LISTEN = """
import asyncio, pathlib, sys
from filetools.tree.bell import Bell

async def main():
    Bell(pathlib.Path(sys.argv[1])).listen(lambda: None)
    print("listening", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@contextmanager
def listening_child(path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", LISTEN, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "listening\n"
        try:
            yield child
        finally:
            child.kill()
