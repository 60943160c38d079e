"""What safe opening costs: `python -m benchmarks.bench_paths` prints ratios to a plain open and close, and µs of resolve.

Contenders run in turn within each round; figures are medians over the rounds, with the 95th percentile beside them.
"""

from __future__ import annotations

import functools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.measure import Row, percentile, print_heading, publish
from filetools.paths.workspace import Workspace

ROUNDS: Final = 60
CALLS: Final = 500
PATH: Final = "one/two/file.txt"
RAW_PATHS: Final = (
    PATH,
    "src/package/module/file_name.py",
    ".github/workflows/a b.yml",
    "./one//two/f.txt",
    "\u00fcn\u00ef/c\u00f6d\u00e9",
)


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - start) / CALLS / 1000


def measure(contenders: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(ROUNDS):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            taken[name].append(timed(contenders[name]))
    return taken


def realpath_and_open(root: str, name: str) -> None:
    real = os.path.realpath(name)
    assert os.path.commonpath((real, root)) == root
    os.close(os.open(real, os.O_RDONLY))


def close_now(workspace: Workspace) -> None:
    found = workspace.open_file_now(workspace.resolve(PATH))
    assert found is not None
    os.close(found[0])


def print_opening(root: Path) -> None:
    fast, walk = Workspace.open(root, resolver="auto"), Workspace.open(root, resolver="walk")
    path, name, real_root = fast.resolve(PATH), str(root / PATH), os.path.realpath(root)
    contenders: dict[str, Callable[[], object]] = {
        "plain open": lambda: os.close(os.open(name, os.O_RDONLY)),
        "open_file, openat2": lambda: os.close(fast.open_file(path)),
        "resolve + open_file_now": lambda: close_now(fast),
        "open_file, walk": lambda: os.close(walk.open_file(path)),
        "realpath and open": lambda: realpath_and_open(real_root, name),
        "stat, openat2": lambda: fast.stat(path),
        "stat, walk": lambda: walk.stat(path),
    }
    taken = measure(contenders)
    plain = taken["plain open"]
    for label, figures in taken.items():
        ratio = statistics.median(one / base for one, base in zip(figures, plain, strict=True))
        if label == "plain open":
            continue
        publish(
            Row(goal="-", name=f"{label} / plain open and close", value=ratio, ours=statistics.median(figures) / 1e6,
                ours_p99=percentile(figures, 0.99) / 1e6, floor=statistics.median(plain) / 1e6)
        )  # fmt: skip
    fast.close()
    walk.close()


def print_resolving(root: Path) -> None:
    workspace = Workspace.open(root)
    contenders: dict[str, Callable[[], object]] = {
        raw_path: functools.partial(workspace.resolve, raw_path) for raw_path in RAW_PATHS
    }
    for label, figures in measure(contenders).items():
        middle = statistics.median(figures) / 1e6
        publish(
            Row(goal="-", name=f"resolve {label!r}", value=middle, unit="s", ours=middle,
                ours_p99=percentile(figures, 0.99) / 1e6)
        )  # fmt: skip
    workspace.close()


def main() -> None:
    print_heading()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / PATH).parent.mkdir(parents=True)
        (root / PATH).write_bytes(b"text")
        print_opening(root)
        print_resolving(root)


if __name__ == "__main__":
    main()
