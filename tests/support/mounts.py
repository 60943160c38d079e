"""What tests mount, where that is permitted: small disks, and folders that cannot be written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

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


CASELESS: Final = (
    "mkntfs -F -Q image && lowntfs-3g image disk -o ignore_case",
    "mkfs.exfat image && mount.exfat-fuse $(losetup -f --show image) disk",
)
"""Commands that make a disk which ignores case."""


@contextmanager
def caseless(folder: Path, make: str) -> Iterator[Path]:
    """Mount a small disk of `CASELESS` in a folder until the block ends; skips as `mounted`."""
    make = f"mkdir disk && truncate -s 64M image && {make}"
    if os.geteuid() or subprocess.run(make, shell=True, cwd=folder, check=False, capture_output=True).returncode:
        pytest.skip(f"{make} is not possible here")
    try:
        yield folder / "disk"
    finally:
        subprocess.run(["umount", "-l", folder / "disk"], check=True)
        subprocess.run("losetup -n -O NAME -j image | xargs -r losetup -d", shell=True, cwd=folder, check=True)


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
