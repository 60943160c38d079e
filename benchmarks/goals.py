"""The goals that `make bench` judges, what a run says of each, and the reasons that are written by hand for those missed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from benchmarks.measure import Row

Verdict = Literal["met", "missed", "cannot tell", "not measured"]
VERDICTS: Final[tuple[Verdict, ...]] = ("met", "missed", "cannot tell", "not measured")

GOALS: Final[dict[int, str]] = {
    1: "Reading 1 KB, hot: at most 6 x raw",
    2: "Reading 64 KB, hot: at most 4 x raw",
    3: "Reading 1 MB: at most 1.5 x hop floor",
    4: "Dual write, relaxed, 1 KB / 64 KB / 1 MB: at most 3.2 / 3.0 / 3.8 x one write without a lock in a hop",
    5: "Dual write, commit, 1 KB / 64 KB / 1 MB: at most 1.0 / 1.2 / 1.8 x two durable writes by hand in a hop; a caller waits"
    " for one sync alone, and for at most 0.25 with 16 writers",
    6: "Edit of 64 KB, dual, relaxed: at most 2.8 x hop floor",
    7: "Locks: at most 2 µs in the process; both halves at most 5 % of a dual write of 64 KB",
    8: "Contention: of 8 tasks none waits longer than three fair turns; 4 processes reach 85 % of the rate of flock, and none"
    " waits longer than 100 ms; the time limit is exact to 100 ms",
    9: "First page of 100 of 100,000 files: at most 3 x a lazy raw walk, and 0.3 x `rg --files`; any other 2 x the first",
    10: "One folder of 100,000 files: first page at most 2.5 x os.listdir, the next 0.1 x",
    11: "A whole tree of 100,000 files: at most 1.4 x scandir and sort; with .gitignore at most 1.1 x `rg --files`",
    12: "Searching 100 MB in 10,000 files: at most 1.4 x rg; without rg at most 3 x",
    13: "Events: at most 2 µs to one listener, 0.8 ms to 100; a hung listener adds nothing to a write",
    14: "Foreign changes: told after at most 1 ms (median) and 5 ms (p99); of 10,000 none is missed, at 15,000/s",
    15: "Watching 10,000 folders: in the background, at most 1.3 x watchdog; no call waits for it",
    16: "A file of 1 GB: first and last 100 lines within 5 ms; middle at most 1.3 x raw skip, then 5 ms; 16 MB of memory",
    17: "Descriptors: made from 10 MB in at most 1.5 x one SHA-256; any page within 100 µs; at most 15 % above the text",
    18: "MCP: 64 KB and 1 MB at most 1.2 x an echo tool of the same SDK",
    19: "The event loop: stands still for at most 25 ms in any call on 100,000 files or 10 MB",
    20: "Many at once: 64 reads at the rate of the hop floor; 16 dual writes at most 2.9 x (relaxed) and 3.5 x (commit) of it",
    21: "Starting: import within 150 ms and 8 x a bare interpreter's processor time; `--version` 10 x, `ls` 20 x; `mcp` 1.5 x"
    " the official server; a root of 100,000 files opens within 50 ms; 100 pending entries are recovered within 1 s",
    22: "Logs: 100 MiB collected in at most 3 x a bare parse, in 64 MiB; metadata of 1,000 records within 20 ms; 1,000 messages"
    " within 50 ms; a scan of 10,000 files within 200 ms",
    23: "Git state of 10,000 files: at most 0.85 x four calls of git, one after the other",
    24: "Growth: what a call costs does not depend on the size of the tree, of the journal, or of what does not concern it",
    25: "Checkpoints of 10,000 and of 100,000 files: the first at most 1.0 x `git add -A`; of nothing new 1.5 x `git status`",
    26: "The work of a call: a write is one hop, one more in the background, and at most 90 system calls; a read no hop and at"
    " most 5; reading makes nothing durable",
}  # fmt: skip
REASONS: Final[dict[int, str]] = {
    3: "Near the limit: runs of one day gave 1.34 to 1.59. The file is read into memory that is"
    " kept, and decoded from there; what made the difference was not found.",
    4: "A dual write of 1 KB is 0.8 ms of work in a worker thread: looking and deciding 60 µs, the temporary"
    " file with its attributes 90, the journal 300 (190 of them SQLite's, which writes 13 pages of as many"
    " tables and indexes), exchanging and letting go of what stood there 100, the mirror 170, and little steps"
    " between; of 1,400 functions called, most are short ones of Python. The hop and the loop add 0.2 ms."
    " Tried without gain: four indexes less (3 %), giving displaced files back to the next write (ext4 flushes"
    " them), fewer threads. What is left to do is one append to a log in place of 13 pages, and fewer steps."
    " 64 KB add 16 pages of the journal, a hash and two files of that size.",
    5: "As with [goal 4](#goal-4). A virtual disk that syncs in 0.25 ms makes the floor low. 1 MB alone waits"
    " for two syncs one after the other, of its segment and of the journal.",
    6: "As with [goal 4](#goal-4). An edit reads and decodes the file before, and makes its diff after: 0.2 ms"
    " more.",
    8: "Near the limit: runs of one day gave 2.77, 3.06 and 3.17, another one 3.33. It is the worst of several hundred"
    " calls: of those that were looked at, one met a full garbage collection (13 to 17 ms), others pauses of about 12 ms"
    " once a second. By reading, not by measuring: the keeper then copies the journal's write-ahead file into its database,"
    " behind the same gate as every commit, because older releases of SQLite can lose a commit that meets a checkpoint.",
    9: "Near the limit: two runs gave 0.26 and 0.31. Ours took 846 and 760 µs; what it is measured beside, the first"
    " 100 lines of `rg --files`, 3.2 and 2.39 ms.",
    10: "Near the limit: runs of one day gave 2.19 to 2.53. All 100,000 names are read, told from folders and"
    " sorted before the first page.",
    11: "Plain rows: a bare loop that opens, scans and sorts each folder and makes tuples takes 1.2 x already;"
    " excludes, checks of names and portions are most of the rest (13, 9 and 12 ms of 215). With .gitignore:"
    " `os.scandir` over the 4,683 folders that are left takes as long as `rg --files`, which uses both"
    " processors, takes for all. Tried without gain: leaf folders in a loop of their own, excluding the names"
    " of many folders at once, larger portions. `rg --files` itself gives no folders and no order, and goes by"
    " other ignore rules.",
    12: "With ripgrep: it takes 95 ms of processor time by itself, 108 when it is given the names of the files,"
    " and the walk that finds them takes 46 here, half of it to tell which files are too large. Giving it"
    " folders would read what ignore files leave out; `--include-zero` takes it 28 to 45 ms more. Where every"
    " line is counted, each file costs 30 µs of reading, decoding and `re`.",
    14: "A save by another program passes the kernel's queue, a thread, the loop, a hop, a commit and the loop"
    " again. Of 1.7 ms in a run for itself one rename over a file takes 0.4, the way to the look 0.3, the look"
    " and its commit 0.85, and telling 0.1. A burst costs about 70 µs a file in the worker and 30 µs for its"
    " lock: 1,000 paths share 1,024 lock files, and each that is used is opened, locked and closed.",
    15: "Near the limit: runs of one day gave 1.26 to 1.36 until a change is told; the first call after opening took 1.00 x"
    " in one run and 1.21 x in another (limit 1.20), a difference of 50 µs. Watching alone takes 0.93 to 1.11; until a change"
    " is told, opening the workspace (9 ms) and the inventory of names, which watchdog does not keep, come"
    " on top.",
    17: "A page in a workspace is a hop (50 to 70 µs) and a row of the journal (24) before it is cut and"
    " framed (19): runs of one day gave 80 to 178 µs. Making one waits for the disk, and so does what it"
    " is measured beside: runs of one day gave 1.27 to 1.73 x, another one 2.52, with a durable write of 16 ms beside it.",
    18: "Near the limit: runs gave 1.13, 1.24, 1.27, 1.28 and 1.36 for 1 MB. What made the difference"
    " was not found.",
    19: "What is missed is Python's full garbage collection, and nothing else: it visits all that is alive, the"
    " objects of watched folders among it. What is remembered of a tree is plain tuples by now, which are not"
    " visited: 98,500 objects in place of 374,000. The collector is the program's own, so it is neither frozen"
    " nor switched off here.",
    20: "Reads are at the limit: two runs gave 0.88 and 1.01. Writes as with [goal 4](#goal-4): sixteen"
    " threads share one interpreter, so sixteen writes take as long"
    " together as one after the other.",
    23: "`git status` alone takes 0.7 of it, and must not begin before it is known that the repository names no"
    " filters that it would run (1.5 ms). Tried without gain: `git log` beside that look, and `git status`"
    " alone after it.",
    24: "Measured in turns of ten calls, the write of 1 KB beside 1,000 listeners that are not concerned gave 1.12 to"
    " 2.07 x in four whole runs, and 0.98 to 1.01 by itself; since the turns are of four calls, 0.98 x in a whole run.",
    25: "Of nothing new: 48,000 calls of `os.stat` and 4,700 openings of folders take 180 ms of processor time in"
    " 100,000 files; `git status` does that in C on both processors. Two threads that ask for facts took 343"
    " ms in place of 329, for 111,000 files.",
    26: "13 pages of the journal are 26 writes, and SQLite's locks 6 calls more; each of two stores looks at"
    " rights, attributes and owners, and whether it still is the same one, in about 25 calls.",
}  # fmt: skip
"""Why a goal is missed, as measured, and what was tried; the page shows it beside the goal's rows."""


def rows_of(goal: int, rows: Iterable[Row]) -> list[Row]:
    """Return the rows that judge a goal."""
    return [row for row in rows if row.goal == str(goal) and row.limit is not None]


def verdict(goal: int, rows: Iterable[Row]) -> Verdict:
    """Return what a run says of a goal: it is met when all its rows are, and missed when one is not."""
    found = [row.is_met for row in rows_of(goal, rows)]
    if not found:
        return "not measured"
    if False in found:
        return "missed"
    return "cannot tell" if None in found else "met"


def summary(rows: Sequence[Row]) -> str:
    """Return how many goals were met, in words."""
    found = [verdict(goal, rows) for goal in GOALS]
    counts = [f"{found.count(each)} {each}" for each in VERDICTS if each in found]
    return f"Of {len(GOALS)} goals: {', '.join(counts)}"
