"""Merges beside `git merge-file`, diffs beside difflib, and edits beside `str.replace`.

Usage: python -m benchmarks.bench_merge
"""

from __future__ import annotations

import difflib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.measure import Row, print_heading, publish
from filetools.content.diff import diff_lines, minimal_edits
from filetools.content.edits import Edit, apply_edits_to_bytes
from filetools.content.ends import split_lines
from filetools.content.formats import TextFormat
from filetools.content.merging import merge

UTF8 = TextFormat(encoding="utf-8", bom=b"")
GOAL_MS = 20


def timed(calls: Sequence[Callable[[], object]], rounds: int) -> list[tuple[float, float]]:
    """Median and 95th percentile of each call in milliseconds, the calls taking turns."""
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, times in zip(calls, found, strict=True):
            start = time.perf_counter_ns()
            call()
            times.append((time.perf_counter_ns() - start) / 1e6)
    return [(statistics.median(times), sorted(times)[round(0.95 * (rounds - 1))]) for times in found]


def show(name: str, times: tuple[float, float], limit: float | None = None, git: float | None = None) -> None:
    """Publish a median in milliseconds, beside git's; for p99 stands the 95th percentile."""
    seconds = times[0] / 1000
    floor = None if git is None else git / 1000
    publish(
        Row(goal="-", name=name, value=seconds, unit="s", limit=limit, ours=seconds, ours_p99=times[1] / 1000,
            floor=floor, floor_name="" if git is None else "git merge-file, process and all")
    )  # fmt: skip


def numbered_text(lines: int) -> str:
    return "".join(f"line {number} of the file\n" for number in range(lines))


def scattered(text: str, changes: int, first: int) -> str:
    """Change every so-manieth line, so that the changes of two starts do not touch."""
    lines = split_lines(text)
    step = len(lines) // changes
    for number in range(changes):
        lines[number * step + first] = f"changed {first} {number}\n"
    return "".join(lines)


def noisy(text: str, random: Random) -> str:
    lines = split_lines(text)
    for _ in range(len(lines) // 10):
        at = random.randrange(len(lines))
        lines[at : at + 2] = [f"line {random.randrange(len(lines))} of the file\n"]
    return "".join(lines)


def cases() -> list[tuple[str, tuple[str, str, str]]]:
    hundred, equal, large = numbered_text(5_000), "same\n" * 6_000, numbered_text(100_000)
    blocks = "if x:\n    y\n\n" * 2_000
    random = Random(1)
    return [
        ("5,000 lines, 100 hunks on each side", (hundred, scattered(hundred, 100, 10), scattered(hundred, 100, 35))),
        ("6,000 equal lines, 2 edits", (equal, scattered(equal, 1, 1_000), scattered(equal, 1, 5_000))),
        (
            "6,000 lines of one block, 50 hunks on each side",
            (blocks, scattered(blocks, 50, 10), scattered(blocks, 50, 70)),
        ),
        ("100,000 lines, 2 edits", (large, scattered(large, 1, 1_000), scattered(large, 1, 90_000))),
        ("100,000 lines, 1,000 hunks", (large, scattered(large, 500, 10), scattered(large, 500, 110))),
        ("100,000 lines, a tenth replaced by others", (large, noisy(large, random), scattered(large, 1, 50_000))),
    ]


def git_merge(paths: Sequence[Path]) -> str:
    done = subprocess.run(
        ["git", "merge-file", "-p", "--diff3", *map(str, paths)], capture_output=True, check=False, text=True
    )
    return done.stdout if done.returncode == 0 else ""


def difflib_blocks(old: list[str], new: list[str]) -> int:
    return len(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes())


def measure(name: str, texts: tuple[str, str, str], folder: Path) -> None:
    base, ours, theirs = texts
    paths = [folder / part for part in ("ours", "base", "theirs")]
    for path, text in zip(paths, (ours, base, theirs), strict=True):
        path.write_text(text)
    merged, its = merge(base, ours, theirs, by_words=False), git_merge(paths)
    assert merged.text is None or not its or merged.text == its
    old, new = split_lines(base), split_lines(ours)
    rounds = 11 if len(old) < 10_000 else 3
    calls: list[Callable[[], object]] = [
        partial(diff_lines, old, new),
        partial(merge, base, ours, theirs),
        partial(git_merge, paths),
        partial(minimal_edits, base, ours),
    ]
    diffing, merging, git, editing = timed(calls, rounds)
    goal = GOAL_MS / 1000 if "equal" in name else None
    show(f"merge / git merge-file: {name}", merging, goal, git=git[0])
    show(f"diff_lines: {name}", diffing)
    show(f"minimal_edits: {name}", editing)
    if "block" not in name and (len(old) < 10_000 or len(diff_lines(old, new)) < 10):
        show(f"difflib, diff only: {name}", timed([partial(difflib_blocks, old, new)], 1)[0])


def measure_edits() -> None:
    content = (numbered_text(2_400).encode())[:65_536]
    text = content.decode()
    edit = Edit(old="line 1200 of the file", new="line 1200 changed")
    assert apply_edits_to_bytes(content, UTF8, [edit], path="f").content.count(b"changed") == 1
    floor, ours = timed(
        [
            lambda: content.decode().replace(edit.old, edit.new).encode(),
            partial(apply_edits_to_bytes, content, UTF8, [edit], path="f"),
        ],
        101,
    )
    publish(
        Row(goal="-", name=f"edit of {len(text)} characters / decode, replace, encode", value=ours[0] / floor[0],
            ours=ours[0] / 1000, ours_p99=ours[1] / 1000, floor=floor[0] / 1000)
    )  # fmt: skip


def main() -> None:
    print_heading()
    with tempfile.TemporaryDirectory() as folder:
        for name, texts in cases():
            measure(name, texts, Path(folder))
    measure_edits()


if __name__ == "__main__":
    main()
