"""Goal 12: searching the contents of 10,000 files, against ripgrep in the same run.

Usage: python -m benchmarks.bench_grep [FILES [BYTES_A_FILE]]; a tenth of 10,000 files of 10,000 bytes by default.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench_listing import interleaved
from benchmarks.measure import Row, percentile, print_heading, publish
from filetools.paths import ROOT, Workspace
from filetools.search import GrepOptions, grep_page
from filetools.search.contents.candidates import Candidates, Ripgrep
from filetools.search.contents.matcher import Matcher
from tests.support.direct_store import DirectStore

FOLDERS = 100
WORDS = ("import", "return", "value", "handler", "self", "config", "error", "result", "items", "async", "def", "None")
CASES = (
    ("rare text", GrepOptions(pattern="needle_in_hay", literal=True)),
    ("rare expression", GrepOptions(pattern=r"needle_\w+ = \d+")),
    ("rare, any case", GrepOptions(pattern="NEEDLE_IN_HAY", ignore_case=True)),
    ("a sign to go by", GrepOptions(pattern=r"[0-9]{4}-[0-9]{2}")),
    ("no text to go by", GrepOptions(pattern=r"[0-9]{4}\W[0-9]{2}\W")),
    ("in every file, first page", GrepOptions(pattern="handler")),
    ("in every file, all counted", GrepOptions(pattern="handler", output_mode="count", limit=1000)),
)


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    print_heading()
    root = Path(tempfile.mkdtemp(prefix="bench-grep-"))
    try:
        grow(root, files, size)
        workspace = Workspace.open(root)
        store = DirectStore(workspace)
        for name, options in CASES:
            bench(store, root, name, options)
        store.close()
        workspace.close()
    finally:
        shutil.rmtree(root)


def grow(root: Path, files: int, size: int) -> None:
    """Make files of words in lines, one in a hundred with a line that is looked for."""
    chance = random.Random(12)
    lines = [" ".join(chance.choices(WORDS, k=9)) for _ in range(997)]
    for number in range(files):
        folder = root / f"dir{number % FOLDERS:02}"
        folder.mkdir(exist_ok=True)
        start = chance.randrange(len(lines))
        text = "\n".join((lines[start:] + lines) * (1 + size // (len(lines) * 50)))[:size]
        mark = f"\nneedle_in_hay = {number} # 2024-05-06\n" if number % 100 == 0 else "\n"
        (folder / f"file{number:05}.py").write_text(text + mark)


def whole(store: DirectStore, options: GrepOptions, candidates: Callable[[], Candidates]) -> int:
    """Return how many matches all pages have, or the first one where the case says so."""
    cursor, total = None, 0
    while True:
        page = grep_page(store, ROOT, options, cursor, candidates=candidates())
        total, cursor = page.total, page.next_cursor
        if cursor is None or options.output_mode == "content":
            return total


def bench(store: DirectStore, root: Path, name: str, options: GrepOptions) -> None:
    program = shutil.which("rg")
    if program is None:
        print("rg is not installed: there is nothing to compare with")
        return
    flags = [*(["-F"] if options.literal else []), *(["-i"] if options.ignore_case else [])]
    flags += ["--count"] if options.output_mode == "count" else ["-n"]
    command = [program, "--no-config", *flags, "-e", options.pattern, str(root)]

    def ripgrep() -> None:
        subprocess.run(command, stdout=subprocess.PIPE, check=False)

    for label, candidates, goal in (("without rg", Candidates, 3.0), ("with rg", lambda: Ripgrep(program, root), 1.4)):
        if label == "with rg" and Matcher(options.checked()).needles:
            continue  # it is not asked then
        total = whole(store, options, Candidates)
        assert whole(store, options, candidates) == total > 0, "the engines differ"
        ours, floor = interleaved(lambda candidates=candidates: whole(store, options, candidates), ripgrep, 7)  # type: ignore[misc]
        publish(
            Row(
                goal="12", name=f"grep, {name}, {label}", limit=goal,
                value=sorted(one / base for one, base in zip(ours, floor, strict=True))[len(ours) // 2],
                ours=percentile(ours, 0.5) / 1000, ours_p99=percentile(ours, 0.99) / 1000,
                floor=percentile(floor, 0.5) / 1000, floor_name="rg",
            )
        )  # fmt: skip


if __name__ == "__main__":
    main()
