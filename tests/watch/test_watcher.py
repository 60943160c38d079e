"""Foreign changes: all are hinted at, whatever watches, and trouble is told as a resync."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from filetools.watch.hints import Hint
from filetools.watch.watcher import ForeignWatcher, Method
from tests.support.watching import (
    Watched,
    excludes_nothing,
    make_deep_tree,
    remove_deep_tree,
    run_child,
    until,
    watching,
)

LINUX_ONLY = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify exists on Linux only")
INOTIFY = pytest.param("inotify", marks=LINUX_ONLY)
# watchdog's own observer warns in its thread when folders are made faster than it registers them.
OBSERVER = pytest.param("observer", marks=pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning"))
every_method = pytest.mark.parametrize("method", [INOTIFY, OBSERVER, "polling"])
quick_methods = pytest.mark.parametrize("method", [INOTIFY, OBSERVER])

WRITE_MANY = """
import os, sys
root, count = sys.argv[1], int(sys.argv[2])
for number in range(count):
    name = f"{root}/f{number}"
    with open(name, "wb") as file:
        file.write(b"content")
"""

IN_NAMESPACE_WITH_FEW_WATCHES = """
import asyncio, pathlib, sys
pathlib.Path("/proc/sys/user", sys.argv[2]).write_text("20")
from tests.support.watching import until, watching

async def main(root):
    async with watching(root) as (watcher, told):
        await until(lambda: told.resyncs != [])
        (root / "d30" / "new").write_text("x")
        await until(lambda: "d30/new" in told.paths)
        print(watcher.method, told.resyncs)

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def kernel_watches() -> int:
    """Return how many paths this process has the kernel watch."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if "inotify" in os.readlink(f"/proc/self/fd/{name}"):
                count += Path(f"/proc/self/fdinfo/{name}").read_text().count("inotify wd:")
    return count


def watch_threads() -> int:
    return sum(thread.name == "filetools watch" for thread in threading.enumerate())


@pytest.fixture
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polls more often, for tests in which no look can come in the middle of a change."""
    monkeypatch.setattr("filetools.watch.polling.INTERVAL_SECONDS", 0.02)


@every_method
@pytest.mark.usefixtures("quick_looks")
async def test_a_root_that_is_not_there_is_gone(tmp_path: Path, method: Method) -> None:
    async with watching(tmp_path / "missing", method=method) as (_, told):
        await until(lambda: told.resyncs == ["gone"])


@quick_methods
async def test_excluded_and_own_names_are_not_told(tmp_path: Path, method: Method) -> None:
    def excluded(path: str, is_directory: bool) -> bool:
        return (is_directory and path.endswith("node_modules")) or path.endswith(".swp")

    (tmp_path / "node_modules" / "x").mkdir(parents=True)
    (tmp_path / ".filetools" / "tmp").mkdir(parents=True)
    async with watching(tmp_path, excluded=excluded, method=method) as (_, told):
        (tmp_path / "node_modules" / "x" / "a").write_bytes(b"")
        (tmp_path / "sub" / "node_modules").mkdir(parents=True)
        (tmp_path / "sub" / "node_modules" / "a").write_bytes(b"")
        (tmp_path / "a.swp").write_bytes(b"")
        (tmp_path / ".filetools" / "tmp" / "a").write_bytes(b"")
        (tmp_path / ".ft-0123456789abcdef").write_bytes(b"")
        assert {hint.path for hint in await told.quiet_after(tmp_path / "zz")} == {"sub"}


@LINUX_ONLY
async def test_excluded_folders_are_not_even_watched(tmp_path: Path) -> None:
    for name in ("kept", "node_modules"):
        for number in range(10):
            (tmp_path / name / str(number)).mkdir(parents=True)

    before = kernel_watches()
    async with watching(tmp_path, excluded=lambda path, is_directory: path == "node_modules"):
        during = kernel_watches()
    assert during - before == 11 + 2  # the root and its parent too


@quick_methods
async def test_links_to_directories_are_not_followed(tmp_path: Path, method: Method) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (root / "early").symlink_to(outside)
    async with watching(root, method=method) as (_, told):
        (root / "late").symlink_to(outside)
        (outside / "secret").write_bytes(b"")
        assert await told.quiet_after(root / "zz") == [Hint("changed", "late")]


@every_method
async def test_plain_changes_are_told(tmp_path: Path, method: Method) -> None:
    (tmp_path / "old").write_bytes(b"1")
    (tmp_path / "doomed").write_bytes(b"1")
    (tmp_path / "sub").mkdir()
    async with watching(tmp_path, method=method) as (watcher, told):
        assert watcher.method == method
        (tmp_path / "new").write_bytes(b"1")
        (tmp_path / "sub" / "new").write_bytes(b"1")
        (tmp_path / "old").write_bytes(b"12")
        (tmp_path / "doomed").unlink()
        hints = {hint.path: hint.kind for hint in await told.quiet_after(tmp_path / "zz")}
    if method == "polling" and hints.get("doomed") is None:
        hints["doomed"] = "deleted"  # a new file was given its inode, so that it counts as moved
    assert hints.keys() == {"new", "sub/new", "old", "doomed"}
    assert hints["doomed"] == "deleted"


@every_method
async def test_renames_are_paired(tmp_path: Path, method: Method) -> None:
    for number in range(20):
        (tmp_path / f"a{number}").write_bytes(b"1")
    (tmp_path / "d").mkdir()
    async with watching(tmp_path, method=method) as (_, told):
        for number in range(20):
            (tmp_path / f"a{number}").rename(tmp_path / "d" / f"b{number}")
        hints = await told.quiet_after(tmp_path / "zz")
    assert sorted(hints, key=lambda hint: hint.path) == sorted(
        (Hint("moved", f"d/b{number}", f"a{number}") for number in range(20)), key=lambda hint: hint.path
    )


@quick_methods
async def test_an_atomic_replace_through_our_temporary_names_is_one_change(tmp_path: Path, method: Method) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / ".filetools").mkdir()
    async with watching(tmp_path, method=method) as (_, told):
        (tmp_path / ".ft-0123456789abcdef").write_bytes(b"2")
        (tmp_path / ".ft-0123456789abcdef").replace(tmp_path / "a")
        assert await told.quiet_after(tmp_path / "yy") == [Hint("changed", "a")]
        (tmp_path / ".filetools" / "t").write_bytes(b"3")
        (tmp_path / ".filetools" / "t").replace(tmp_path / "a")
        assert {hint.path for hint in await told.quiet_after(tmp_path / "zz")} == {"a", "yy"}


@LINUX_ONLY
async def test_a_folder_that_leaves_is_deleted_and_one_that_enters_is_changed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "d" / "e").mkdir(parents=True)
    async with watching(root) as (_, told):
        (root / "d").rename(tmp_path / "outside")
        await until(lambda: told.hints != [])
        assert told.hints[0] == Hint("deleted", "d", is_directory=True)
        (tmp_path / "outside" / "e" / "unseen").write_bytes(b"")
        (root / "w").write_bytes(b"")
        await until(lambda: "w" in told.paths)
        (tmp_path / "outside" / "e" / "unseen2").write_bytes(b"")
        hints = await told.quiet_after(root / "zz")
        assert {hint.path for hint in hints} - {"d/e/unseen"} == {"d", "w"}
        (tmp_path / "outside").rename(root / "back")
        await until(lambda: {"back", "back/e", "back/e/unseen", "back/e/unseen2"} <= told.paths)
        (root / "back" / "e" / "later").write_bytes(b"")
        await until(lambda: "back/e/later" in told.paths)


@quick_methods
async def test_a_renamed_folder_is_watched_at_its_new_place(tmp_path: Path, method: Method) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "f").write_bytes(b"")
    async with watching(tmp_path, method=method) as (_, told):
        (tmp_path / "a").rename(tmp_path / "z")
        await until(lambda: "z/b/f" in told.paths)
        assert Hint("moved", "z", "a", is_directory=True) in told.hints
        (tmp_path / "z" / "b" / "g").write_bytes(b"")
        await until(lambda: "z/b/g" in told.paths)
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "h").write_bytes(b"")
        await until(lambda: "a/h" in told.paths)
        assert "a/b/g" not in told.paths


@LINUX_ONLY
async def test_a_folder_renamed_twice_and_moved_out_is_watched_no_more(tmp_path: Path) -> None:
    stalled, go_on = threading.Event(), threading.Event()
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)

    def stalls(path: str, is_directory: bool) -> bool:
        if path == "stall":
            stalled.set()
            go_on.wait(60)
        return False

    async with watching(root, excluded=stalls) as (_, told):
        (root / "stall").write_bytes(b"")
        await until(stalled.is_set)
        (root / "a").rename(root / "z")
        (root / "z").rename(tmp_path / "outside")
        go_on.set()
        # That it came may be told before it is known that it went on.
        await until(lambda: any((hint.kind, hint.path) == ("deleted", "z") for hint in told.hints))
        await told.quiet_after(root / "y")  # its watches are given back after it is told
        (tmp_path / "outside" / "f").write_bytes(b"")
        hints = await told.quiet_after(root / "zz")
    assert {hint.path for hint in hints} | {hint.old_path for hint in hints} == {"stall", "a", "z", "y", None}


@LINUX_ONLY
async def test_a_tree_deeper_than_python_recurses(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    try:
        await asyncio.to_thread(make_deep_tree, root, 1100)
        async with watching(root) as (_, told):
            (root / "d" / "new").write_bytes(b"")
            await until(lambda: "d/new" in told.paths)
            (root / "d").rename(root / "e")
            deepest = "e" + 1099 * "/d" + "/f"
            await until(lambda: deepest in told.paths)
    finally:
        await asyncio.to_thread(remove_deep_tree, root)


@LINUX_ONLY
async def test_names_that_are_not_utf8_are_told_with_surrogates(tmp_path: Path) -> None:
    async with watching(tmp_path) as (_, told):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")).write_bytes(b"")
        await until(lambda: "bad\udcff" in told.paths)


FITTING = 1000
"""Files that one program may write while nobody reads: three events each, of the 16,384 that the kernel holds."""


@LINUX_ONLY
async def test_a_burst_of_another_process_is_complete(tmp_path: Path) -> None:
    async with watching(tmp_path) as (_, told):
        await asyncio.to_thread(run_child, WRITE_MANY, tmp_path, str(FITTING))
        expected = {f"f{number}" for number in range(FITTING)}
        await until(lambda: bool(told.resyncs) or expected <= told.paths, 30)
    assert told.resyncs == []
    assert max(map(len, told.portions)) <= 2_000


@LINUX_ONLY
async def test_an_overflow_is_one_resync_after_which_changes_are_told_again(tmp_path: Path) -> None:
    stalled, go_on = threading.Event(), threading.Event()
    (tmp_path / "sub").mkdir()

    def stalls(path: str, is_directory: bool) -> bool:
        if path == "stall":
            stalled.set()
            go_on.wait(60)
        return False

    async with watching(tmp_path, excluded=stalls) as (_, told):
        (tmp_path / "stall").write_bytes(b"")
        await until(stalled.is_set)
        (tmp_path / "made unseen").mkdir()
        await asyncio.to_thread(run_child, WRITE_MANY, tmp_path / "sub", "5500")
        (tmp_path / "sub").rename(tmp_path / "renamed unseen")
        (tmp_path / "made unseen" / "inner").mkdir()
        go_on.set()
        await until(lambda: told.resyncs != [])
        for path in ("made unseen/inner/a", "renamed unseen/a", "a"):
            (tmp_path / path).write_bytes(b"")
        await until(lambda: {"made unseen/inner/a", "renamed unseen/a", "a"} <= told.paths)
        assert "sub/a" not in told.paths
    assert told.resyncs == ["overflow"]


@LINUX_ONLY
@pytest.mark.parametrize("limit", ["max_inotify_watches", "max_inotify_instances"])
def test_a_watch_limit_leads_to_polling(tmp_path: Path, limit: str) -> None:
    for number in range(40):
        (tmp_path / f"d{number}").mkdir()
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-Ur", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespaces here, and the limits of this one are other people's too")
    program = IN_NAMESPACE_WITH_FEW_WATCHES
    if limit == "max_inotify_instances":
        program = program.replace('"20"', '"0"')
    done = subprocess.run(
        [unshare, "-Ur", sys.executable, "-c", program, str(tmp_path), limit],
        check=False, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert done.stdout.strip() == "polling ['limit']", done.stderr
    assert "instead" in done.stderr


@LINUX_ONLY
async def test_without_a_descriptor_left_it_polls(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told = Watched()
    watcher = ForeignWatcher(tmp_path, excluded=excludes_nothing, on_hints=told.take, on_resync=told.resyncs.append)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        with caplog.at_level(logging.WARNING):
            await watcher.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    await until(lambda: told.resyncs == ["limit"])
    assert watcher.method == "polling"
    assert "inotify instance" in caplog.text
    await watcher.aclose()


@every_method
@pytest.mark.usefixtures("quick_looks")
@pytest.mark.parametrize("how", ["deleted", "moved"])
async def test_a_lost_root_is_gone(tmp_path: Path, method: Method, how: str) -> None:
    if method == "observer" and how == "moved":
        pytest.skip("watchdog's observer does not tell that its root was moved")
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    held = os.open(root, os.O_PATH)  # as the workspace does; the kernel then sends no IN_DELETE_SELF
    if method == "observer":
        os.close(held)
    async with watching(root, method=method) as (watcher, told):
        if how == "deleted":
            await asyncio.to_thread(shutil.rmtree, root)
        else:
            root.rename(tmp_path / "elsewhere")
        await until(lambda: told.resyncs == ["gone"])
        await watcher.aclose()
    if method != "observer":
        os.close(held)


@every_method
async def test_closing_ends_the_thread_and_releases_everything(tmp_path: Path, method: Method) -> None:
    (tmp_path / "d").mkdir()
    before = open_descriptors()
    async with watching(tmp_path, method=method) as (watcher, _):
        assert watch_threads() == 1
        await watcher.aclose()
        await watcher.aclose()
    await until(lambda: watch_threads() == 0)
    assert open_descriptors() == before


@every_method
async def test_closing_at_once_leaks_nothing(tmp_path: Path, method: Method) -> None:
    for number in range(50):
        (tmp_path / str(number)).mkdir()
    before = open_descriptors()
    for _ in range(10):
        watcher = ForeignWatcher(tmp_path, excluded=excludes_nothing, on_hints=print, on_resync=print, method=method)
        await watcher.start()
        await watcher.aclose()
        await watcher.ready()
    await until(lambda: watch_threads() == 0)
    assert open_descriptors() == before


@LINUX_ONLY
@pytest.mark.usefixtures("quick_looks")
async def test_a_failing_rule_leads_to_polling(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    failed: list[str] = []

    def fails_once(path: str, is_directory: bool) -> bool:
        if path == "a" and not failed:
            failed.append(path)
            raise ZeroDivisionError
        return False

    async with watching(tmp_path, excluded=fails_once) as (watcher, told):
        (tmp_path / "a").write_bytes(b"")
        await until(lambda: told.resyncs == ["failed"])
        assert watcher.method == "polling"
        (tmp_path / "b").write_bytes(b"")
        await until(lambda: "b" in told.paths)
    assert "ZeroDivisionError" in caplog.text
