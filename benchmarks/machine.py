"""The machine that figures were taken on: its facts, nothing that names it, and whether other programs kept it busy."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT_VARIABLE: Final = "BENCH_PROCESS"
"""Variable with the number of the process that started all benchmarks; it and its children are no "other programs"."""
BUSY_SHARE: Final = 0.1
"""Part of the processors from which others disturb absolute times."""
SHORTEST_LOOK_SECONDS: Final = 0.5
_KERNEL_THREADS: Final = 2


class Others:
    """What other programs take of the processors. Lives as long as the process."""

    def __init__(self) -> None:
        self._root = int(os.environ.get(ROOT_VARIABLE, os.getpid()))
        self._began = self._looked = (time.monotonic(), self._seconds())
        self._share = 0.0

    def share(self) -> float:
        """Return their part of all processors since the last look, 0 to 1; a look so soon again returns the same."""
        now = time.monotonic(), self._seconds()
        if now[0] - self._looked[0] >= SHORTEST_LOOK_SECONDS:
            self._share, self._looked = _share(self._looked, now), now
        return self._share

    def share_of_all(self) -> float:
        """Return their part of all processors since this began."""
        return _share(self._began, (time.monotonic(), self._seconds()))

    def _seconds(self) -> float:
        """Return the processor time of all others so far, with what a hypervisor withheld; 0 where the system is silent."""
        ticks, parents = {}, {}
        for place in Path("/proc").glob("[0-9]*/stat"):
            try:
                text = place.read_text(encoding="utf-8", errors="replace")
            except OSError:  # it has ended
                continue
            fields, pid = text.rpartition(") ")[2].split(), int(place.parent.name)
            parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
        if not ticks:
            return 0.0
        # Kernel threads work for everybody, above all for whoever writes.
        used = sum(ticks[pid] for pid in ticks if not self._is_ours(pid, parents))
        return (used + _stolen_ticks()) / os.sysconf("SC_CLK_TCK")

    def _is_ours(self, pid: int, parents: dict[int, int]) -> bool:
        while pid and pid not in (self._root, _KERNEL_THREADS):
            pid = parents.get(pid, 0)
        return pid != 0


def is_busy() -> bool:
    """Return whether other programs took so much since the last look that absolute times say little."""
    return _others.share() > BUSY_SHARE


def share_of_others() -> float:
    """Return the part of the processors that other programs took since this process began."""
    return _others.share_of_all()


def facts() -> dict[str, str]:
    """Return the facts of this machine that figures depend on; nothing that names it."""
    return {
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "cores": str(os.cpu_count()),
        "memory": f"{_memory_gib():.0f} GiB",
        "file system": file_system_of(Path(tempfile.gettempdir())),
    }


def file_system_of(place: Path) -> str:
    """Return the type of the file system a place is on, "unknown" where the system does not tell."""
    try:
        mounts = [entry.split()[1:3] for entry in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    at = [(len(point), kind) for point, kind in mounts if place.is_relative_to(point)]
    return max(at)[1] if at else "unknown"


def _share(before: tuple[float, float], now: tuple[float, float]) -> float:
    seconds = (now[0] - before[0]) * (os.cpu_count() or 1)
    return max(0.0, now[1] - before[1]) / seconds if seconds else 0.0


def _stolen_ticks() -> int:
    """Source: proc(5), /proc/stat: the eighth figure of the line of all processors."""
    try:
        first = Path("/proc/stat").read_text(encoding="utf-8").partition("\n")[0]
    except OSError:
        return 0
    return int(first.split()[8])


def _memory_gib() -> float:
    if not hasattr(os, "sysconf"):
        return 0.0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


_others: Final = Others()
