"""Stores: what replacing, making and reading a file costs, beside the raw system calls of the same run.

Replacing has two floors, each with a temporary file and neither with attributes or a look at what came out:
`exchange` renames with RENAME_EXCHANGE and unlinks what came out, the calls that a store makes too; `os.replace` renames
over the file. On ext4 the latter also starts writing the bytes to the disk (mount option auto_da_alloc), so that a
ratio to it below 1 there says nothing of our code. A row of `read_now` is left out where the file system gives no bytes
that way, as tmpfs: what would be timed is the refusal.

Usage: python -m benchmarks.bench_stores [CALLS_A_ROUND]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.measure import Row, percentile, print_heading, publish
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.linux import RENAME_EXCHANGE, rename_with_flags
from filetools.stores.local import LocalStore
from filetools.stores.store import Store

_ROUNDS: Final = 15
_SIZES: Final = {"1 KB": 1024, "64 KB": 65536, "1 MB": 1024 * 1024}
_FOLDER: Final = WorkspacePath("one/two")
_FILE: Final = _FOLDER.child("file.txt")

Act = Callable[[], object]


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print_heading()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / _FOLDER).mkdir(parents=True)
        workspace = Workspace.open(root)
        store = LocalStore(workspace, private_directory=root / ".filetools")
        for label, size in _SIZES.items():
            measure(store, root, label, bytes(os.urandom(size)), max(20, calls * 1024 // (1024 + size // 64)))
        store.close()
        workspace.close()


def measure(store: LocalStore, root: Path, label: str, content: bytes, calls: int) -> None:
    """Print the rows of one size."""
    live = root / _FILE
    live.write_bytes(content)
    folder = os.open(live.parent, os.O_RDONLY)
    rows: list[tuple[str, Act, Act]] = [
        ("replace / exchange", lambda: replace(store, content), lambda: raw_exchange(folder, content)),
        ("replace / os.replace", lambda: replace(store, content), lambda: raw_replace(live, content)),
        ("create and remove", lambda: create(store, content), lambda: raw_create(live.with_name("new"), content)),
        ("read", lambda: store.read(_FILE), lambda: raw_read(live, len(content))),
    ]
    if all(store.read_now(_FILE, len(content), lambda taken, _: len(taken)) is not None for _ in range(100)):
        rows.append(("read_now", lambda: read_now(store, content), lambda: raw_read(live, len(content))))
    for name, ours, raw in rows:
        report(f"{name} {label}", *interleaved(ours, raw, calls))
    os.close(folder)
    assert live.read_bytes() == store.read(_FILE)[0] == content


def replace(store: Store, content: bytes) -> None:
    """Replace the file and throw away what came out."""
    displaced = store.prepare(_FILE, content, new=False).exchange()
    assert displaced is not None
    displaced.discard()


def create(store: LocalStore, content: bytes) -> None:
    """Make a new file and remove it."""
    path = _FOLDER.child("new")
    store.prepare(path, content, new=True).exchange()
    store.remove(path).discard()


def read_now(store: LocalStore, content: bytes) -> None:
    """Read from memory; anything but the whole file voids the row."""
    found = store.read_now(_FILE, len(content), lambda taken, _: len(taken))
    assert found == len(content)


def raw_exchange(folder: int, content: bytes) -> None:
    descriptor = os.open("raw.tmp", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=folder)
    os.write(descriptor, content)
    os.close(descriptor)
    rename_with_flags((folder, _FILE.name), (folder, "raw.tmp"), RENAME_EXCHANGE)
    os.unlink("raw.tmp", dir_fd=folder)


def raw_replace(live: Path, content: bytes) -> None:
    temporary = f"{live}.tmp"
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    os.write(descriptor, content)
    os.close(descriptor)
    os.replace(temporary, live)


def raw_create(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    os.write(descriptor, content)
    os.close(descriptor)
    os.unlink(path)


def raw_read(path: Path, size: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    content = os.read(descriptor, size)
    os.close(descriptor)
    return content


def interleaved(ours: Act, raw: Act, calls: int) -> tuple[list[float], list[float]]:
    """Return the mean seconds a call of each round, the two taken in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for act, into in ((ours, times[0]), (raw, times[1])):
            begin = time.perf_counter()
            for _ in range(calls):
                act()
            into.append((time.perf_counter() - begin) / calls)
    return times


def report(name: str, ours: list[float], raw: list[float]) -> None:
    # The ratio of each round's pair: what disturbs the machine disturbs both.
    ratio = statistics.median(mine / floor for mine, floor in zip(ours, raw, strict=True))
    publish(
        Row(goal="-", name=f"store: {name}", value=ratio, ours=statistics.median(ours),
            ours_p99=percentile(ours, 0.99), floor=statistics.median(raw), floor_name="raw")
    )  # fmt: skip


if __name__ == "__main__":
    main()
