"""Goals 9, 10 and 11: pages of a tree and of one wide folder, against raw scans of the same run.

Usage: python -m benchmarks.bench_listing [FILES]
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Row, percentile, print_heading, publish
from filetools.paths import ROOT, Workspace
from filetools.search import ListOptions, list_page, walk_tree
from filetools.search.folder import FolderCache
from filetools.search.ignores import IgnoreCache
from filetools.search.source import Source
from filetools.search.walk import OrderedWalk
from tests.support.direct_store import DirectStore

FILES_A_FOLDER = 9
IGNORE = """*.pyc
build/
*.so
dist/
*.egg-info/
.env
*.log
node_modules/
*.tmp
/target
*.py[cod]
Dir07/
dir08/
dir09/
"""


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print_heading()
    root = Path(tempfile.mkdtemp(prefix="bench-listing-"))
    workspace = Workspace.open(root)
    store = DirectStore(workspace)
    try:
        grow(root / "tree", files)
        bench_tree(store, root / "tree")
        shutil.rmtree(root / "tree")
        bench_flat(store, root / "flat", files)
    finally:
        store.close()
        workspace.close()
        shutil.rmtree(root)


def grow(root: Path, files: int) -> None:
    """Make folders of nine files and up to ten folders, in mixed case."""
    made, level = 0, [root]
    root.mkdir()
    (root / ".gitignore").write_text(IGNORE)
    while made < files:
        below = []
        for folder in level:
            for number in range(10):
                if made >= files:
                    return
                inner = folder / f"{'Dir' if number % 2 else 'dir'}{number:02}"
                inner.mkdir()
                below.append(inner)
                for index in range(FILES_A_FOLDER):
                    (inner / f"{'File' if index % 3 else 'file'}{index:03}.py").touch()
                made += FILES_A_FOLDER
        level = below


def interleaved(
    ours: Callable[[], object], floor: Callable[[], object], rounds: int
) -> tuple[list[float], list[float]]:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, kept in zip((ours, floor), times, strict=True):
            started = time.perf_counter()
            work()
            kept.append((time.perf_counter() - started) * 1000)
    return times


def row(what: str, ours: Callable[[], object], floor: Callable[[], object], goal: float, rounds: int = 7) -> None:
    mine, raw = interleaved(ours, floor, rounds)
    number, name = what[:2].strip(), what[3:]
    ratio = statistics.median(one / base for one, base in zip(mine, raw, strict=True))
    publish(
        Row(goal=number, name=name, value=ratio, limit=goal, ours=statistics.median(mine) / 1000,
            ours_p99=percentile(mine, 0.99) / 1000, floor=statistics.median(raw) / 1000)
    )  # fmt: skip


def raw_sorted(root: Path) -> list[str]:
    found, pending = [], [str(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                found.append(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    found.sort()
    return found


def raw_lazy(root: Path, count: int) -> Iterator[os.stat_result]:
    def read(folder: str) -> Iterator[os.DirEntry[str]]:
        with os.scandir(folder) as entries:
            return iter(sorted(entries, key=lambda e: (not e.is_dir(follow_symlinks=False), e.name.casefold(), e.name)))

    levels = [read(str(root))]
    while levels and count:
        entry = next(levels[-1], None)
        if entry is None:
            levels.pop()
            continue
        count -= 1
        yield entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            levels.append(read(entry.path))


def pages(store: DirectStore, options: ListOptions) -> int:
    cursor, entries = None, 0
    while True:
        page = list_page(store, ROOT.child("tree"), options, cursor)
        entries += len(page.entries)
        cursor = page.next_cursor
        if cursor is None:
            return entries


def rows_only(store: DirectStore, options: ListOptions) -> int:
    source = Source(store, FolderCache(), None, "Listing")
    with OrderedWalk(source, ROOT.child("tree"), options, options.rules(), IgnoreCache()) as walk:
        return len(walk.take(10**9))


def bench_tree(store: DirectStore, root: Path) -> None:
    tree = ROOT.child("tree")
    first = ListOptions(recursive=True, limit=100)
    row(
        "9  first page of 100, with details",
        lambda: list_page(store, tree, first),
        lambda: list(raw_lazy(root, 100)),
        3,
        51,
    )
    whole = ListOptions(recursive=True, details=False)
    cursor = None
    for _ in range(40):
        cursor = list_page(store, tree, whole, cursor).next_cursor
    row(
        "9  page of 100 behind 40,000 by cursor",
        lambda: list_page(store, tree, first, cursor),
        lambda: list_page(store, tree, first),
        2,
        51,
    )
    expected = len(raw_sorted(root))
    assert pages(store, whole) == rows_only(store, whole) == expected, "a listing lost or repeated entries"
    row("11 whole tree, ordered rows", lambda: rows_only(store, whole), lambda: raw_sorted(root), 1.4)
    row("11 whole tree, unordered walk", lambda: sum(1 for _ in walk_tree(store, tree)), lambda: raw_sorted(root), 1.4)
    row("11 whole tree, in pages of 1,000 models", lambda: pages(store, whole), lambda: raw_sorted(root), 1.4)
    ignoring = ListOptions(recursive=True, details=False, use_gitignore=True)
    if shutil.which("rg") is None:
        print("   rg is not installed: its rows compare with the raw scan of everything")
        row("11 with .gitignore, ordered rows", lambda: rows_only(store, ignoring), lambda: raw_sorted(root), 1.1)
        row("11 with .gitignore, in pages", lambda: pages(store, ignoring), lambda: raw_sorted(root), 1.1)
        return
    command = ["rg", "--no-config", "--files", "--hidden", "--no-require-git", str(root)]

    def ripgrep() -> None:
        subprocess.run(command, stdout=subprocess.PIPE, check=False)

    def ripgrep_first() -> None:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            for _ in range(100):
                child.stdout.readline()
            child.kill()

    row("9  first page against rg's first 100", lambda: list_page(store, tree, first), ripgrep_first, 0.3)
    row("11 with .gitignore, ordered rows", lambda: rows_only(store, ignoring), ripgrep, 1.1)
    row("11 with .gitignore, in pages", lambda: pages(store, ignoring), ripgrep, 1.1)


def bench_flat(store: DirectStore, root: Path, files: int) -> None:
    root.mkdir()
    for number in range(files):
        (root / f"file{number}.txt").touch()
    folder, options = ROOT.child("flat"), ListOptions(limit=100)
    extra = root / "last.txt"

    def changed() -> None:
        # The change makes whatever is remembered useless, so that the page is a first one.
        extra.touch() if not extra.exists() else extra.unlink()
        list_page(store, folder, options)

    row("10 one folder, first page of 100", changed, lambda: os.listdir(root), 2.5)
    os.utime(root, (1_700_000_000, 1_700_000_000))
    deadline = time.monotonic() + 0.1
    while time.monotonic() < deadline:
        cursor = list_page(store, folder, options).next_cursor
    row(
        "10 one folder, next page of 100",
        lambda: list_page(store, folder, options, cursor),
        lambda: os.listdir(root),
        0.1,
        21,
    )


if __name__ == "__main__":
    main()
