"""What tests mount, where that is permitted: small disks, and folders that cannot be written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def mounted(place: Path, *arguments: str | Path, read_only: bool = False) -> Iterator[Path]:
    """Mount something at a folder until the block ends; the test is skipped where that is not permitted."""
    place.mkdir(exist_ok=True)
    _mount(*arguments, place)
    try:
        if read_only:
            _mount("-o", "remount,bind,ro", place)
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def _mount(*arguments: str | Path) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mounting is not permitted here: {done.stderr.decode().strip()}")


def fill(disk: Path, leave: int = 0) -> None:
    """Fill a small disk with one file, but for some bytes."""
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    if leave:
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - leave)
