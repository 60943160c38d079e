"""The notifier: heard by every listener, in every process, whatever happens to its file."""

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

from filetools.events.notifier import POLL_SECONDS, Notifier
from tests.support.inside import is_polling
from tests.support.opened import steps_until as until

NOTIFY = (
    "import sys, pathlib; from filetools.events.notifier import Notifier; Notifier(pathlib.Path(sys.argv[1])).notify()"
)

both_methods = pytest.mark.parametrize("use_inotify", [True, False])


class Ear:
    """Counts notifications."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


async def test_without_a_ring_nothing_is_heard_and_a_closed_ear_hears_nothing(tmp_path: Path) -> None:
    first, second, closed, open_one = Notifier(tmp_path / "notify"), Notifier(tmp_path / "notify"), Ear(), Ear()
    first.listen(closed)
    second.listen(open_one)
    await asyncio.sleep(2 * POLL_SECONDS)
    assert (closed.count, open_one.count) == (0, 0)
    first.close()
    first.close()
    first.notify()
    await until(lambda: open_one.count > 0)
    second.close()
    assert closed.count == 0


def test_a_ring_without_a_state_directory_is_logged_not_raised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        Notifier(tmp_path / "missing" / "notify").notify()
    assert "Cannot notify" in caplog.text


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_a_planted_file_is_neither_followed_nor_waited_for(
    tmp_path: Path, kind: Literal["link", "fifo", "directory"]
) -> None:
    target, path = tmp_path / "target", tmp_path / "notify"
    target.write_bytes(b"")
    os.utime(target, ns=(1, 1))
    if kind == "link":
        path.symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    Notifier(path).notify()
    assert target.stat().st_mtime_ns == 1


@both_methods
async def test_a_ring_of_another_process_is_heard(tmp_path: Path, use_inotify: bool) -> None:
    notifier, ear = Notifier(tmp_path / "notify", use_inotify=use_inotify), Ear()
    notifier.listen(ear)
    assert is_polling(notifier) is not use_inotify
    await asyncio.to_thread(lambda: subprocess.run([sys.executable, "-c", NOTIFY, tmp_path / "notify"], check=True))
    await until(lambda: ear.count > 0)
    notifier.close()


@both_methods
async def test_rings_of_one_clock_tick_are_told_apart(tmp_path: Path, use_inotify: bool) -> None:
    notifier, ear = Notifier(tmp_path / "notify", use_inotify=use_inotify), Ear()
    marks = set()
    for _ in range(200):
        notifier.notify()
        marks.add(notifier.mark())
    assert len(marks) == 200
    notifier.listen(ear)
    for heard in range(20):
        notifier.notify()
        await until(lambda heard=heard: ear.count > heard)  # type: ignore[misc] # mypy cannot infer the default
    notifier.close()


@both_methods
@pytest.mark.parametrize("how", ["deleted", "replaced", "moved away", "directory gone"])
async def test_a_lost_file_does_not_make_deaf(tmp_path: Path, use_inotify: bool, how: str) -> None:
    state = tmp_path / "state"
    state.mkdir()
    path = state / "notify"
    notifier, ear = Notifier(path, use_inotify=use_inotify), Ear()
    notifier.listen(ear)
    notifier.notify()
    await until(lambda: ear.count > 0)
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
        await until(lambda: is_polling(notifier))
        state.mkdir()
    heard = ear.count
    await until(lambda: ear.count > heard or not use_inotify)
    for _ in range(3):
        await asyncio.sleep(2 * POLL_SECONDS)  # whatever the loss itself made heard is over
        heard = ear.count
        notifier.notify()
        await until(lambda heard=heard: ear.count > heard)  # type: ignore[misc] # mypy cannot infer the default
    assert is_polling(notifier) is not use_inotify
    notifier.close()


async def test_without_an_inotify_instance_it_polls_until_there_is_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notifier, ear = Notifier(tmp_path / "notify"), Ear()
    notifier.notify()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        notifier.listen(ear)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert is_polling(notifier)
    assert caplog.text.count("looking for them in turns") == 1
    notifier.notify()
    await until(lambda: ear.count > 0)
    await until(lambda: not is_polling(notifier))
    heard = ear.count
    notifier.notify()
    await until(lambda: ear.count > heard)
    notifier.close()


async def test_a_failing_callback_is_logged_and_called_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    notifier, ear = Notifier(tmp_path / "notify"), Ear()

    def fails() -> None:
        ear()
        raise ZeroDivisionError

    notifier.listen(fails)
    notifier.notify()
    await until(lambda: ear.count > 0)
    heard = ear.count
    notifier.notify()
    await until(lambda: ear.count > heard)
    notifier.close()
    assert "ZeroDivisionError" in caplog.text


@pytest.fixture
def notified(tmp_path: Path) -> Callable[[], bool]:
    """Whether somebody has notified since the last time it was asked."""
    marks = [Notifier(tmp_path / "notify").mark()]

    def has_rung() -> bool:
        marks.append(Notifier(tmp_path / "notify").mark())
        return marks[-1] != marks[-2]

    return has_rung


async def test_everybody_is_notified_only_while_another_listens_in_the_same_or_another_process(
    tmp_path: Path, notified: Callable[[], bool]
) -> None:
    notifier = Notifier(tmp_path / "notify")
    notifier.listen(Ear())
    notified()
    notifier.notify_others()
    assert not notified()
    other = Notifier(tmp_path / "notify")
    other.listen(Ear())
    notifier.notify_others()
    assert notified()
    other.close()
    notifier.notify_others()
    assert not notified()
    with listening_child(tmp_path / "notify") as child:
        notifier.notify_others()
        assert notified()
        child.kill()
        child.wait()
        notifier.notify_others()
        assert not notified()
    notifier.close()


async def test_where_it_cannot_be_told_who_listens_everybody_is_notified(
    tmp_path: Path, notified: Callable[[], bool]
) -> None:
    notifier = Notifier(tmp_path / "notify")
    notifier.notify_others()  # listens to nothing itself
    assert notified()
    notifier.listen(Ear())
    (tmp_path / "notify").unlink()  # others who come will meet on another file
    notified()
    notifier.notify_others()
    assert notified()
    notifier.close()


LISTEN = """
import asyncio, pathlib, sys
from filetools.events.notifier import Notifier

async def main():
    Notifier(pathlib.Path(sys.argv[1])).listen(lambda: None)
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
