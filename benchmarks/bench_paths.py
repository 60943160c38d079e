"""What safe opening costs: `python benchmarks/bench_paths.py` prints ratios to a plain open and close, and µs of resolve.

Contenders run in turn within each round; figures are medians over the rounds, with the 95th percentile beside them.
"""

from __future__ import annotations

import functools
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from filetools.paths import Workspace

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


def p95(figures: list[float]) -> float:
    return statistics.quantiles(figures, n=20)[-1]


def realpath_and_open(root: str, name: str) -> None:
    real = os.path.realpath(name)
    assert os.path.commonpath((real, root)) == root
    os.close(os.open(real, os.O_RDONLY))


def close_now(workspace: Workspace) -> None:
    descriptor = workspace.open_file_now(workspace.resolve(PATH))
    assert descriptor is not None
    os.close(descriptor)


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
        print(f"{label:26} {statistics.median(figures):7.2f} µs  p95 {p95(figures):7.2f}  {ratio:5.2f} x plain")
    fast.close()
    walk.close()


def print_resolving(root: Path) -> None:
    workspace = Workspace.open(root)
    contenders: dict[str, Callable[[], object]] = {
        raw_path: functools.partial(workspace.resolve, raw_path) for raw_path in RAW_PATHS
    }
    for label, figures in measure(contenders).items():
        print(
            f"resolve {label!r:36} {statistics.median(figures):6.2f} µs  p95 {p95(figures):6.2f}  (goal 1.5 where clean)"
        )
    workspace.close()


def main() -> None:
    print(
        f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / PATH).parent.mkdir(parents=True)
        (root / PATH).write_bytes(b"text")
        print_opening(root)
        print_resolving(root)


if __name__ == "__main__":
    main()
