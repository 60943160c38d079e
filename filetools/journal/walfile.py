"""What the write-ahead file says about damage, where SQLite would silently go on without the damaged part.

Source: https://www.sqlite.org/fileformat2.html#walformat and https://www.sqlite.org/walformat.html
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final

from filetools.journal.birth import PAGE_BYTES, PARTS

HEADER_BYTES: Final = 32
FRAME_HEADER_BYTES: Final = 24
FRAME_BYTES: Final = FRAME_HEADER_BYTES + PAGE_BYTES
_FLAGS: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_MAGIC: Final = {0x377F0682: "<", 0x377F0683: ">"}
"""First number of the file, and the byte order of its checksums."""


def is_header_damaged(directory: Path) -> bool:
    """Whether frames were written but the header before them is not valid, so that SQLite would ignore them all.

    The header is synced before the first frame is written; no crash leaves frames without it.
    """
    head, size = _head(directory / PARTS[1], 0, HEADER_BYTES)
    if size < HEADER_BYTES + FRAME_BYTES:
        return False
    order = _MAGIC.get(int.from_bytes(head[:4], "big"))
    if order is None:
        return True
    return _checksum(head[:24], order) != struct.unpack(">II", head[24:32])


def goes_on_after_damage(directory: Path) -> bool:
    """Whether a frame of the running generation is not valid; SQLite ignores it and all that follow.

    True after damage, but also after a crash in the middle of writing a frame: who knows that acknowledged changes are
    missing can tell the two apart. Reads the whole file, a second or less.
    """
    place = directory / PARTS[1]
    head, _ = _head(place, 0, HEADER_BYTES)
    order = _MAGIC.get(int.from_bytes(head[:4], "big"))
    if order is None:
        return False
    running = struct.unpack(">II", head[24:32])
    with place.open("rb") as file:
        file.seek(HEADER_BYTES)
        while len(frame := file.read(FRAME_BYTES)) == FRAME_BYTES and frame[8:16] == head[16:24]:
            running = _checksum(frame[:8] + frame[FRAME_HEADER_BYTES:], order, running)
            if running != struct.unpack(">II", frame[16:24]):
                return True
    return False


def sync_ahead(directory: Path) -> bool:
    """Sync the write-ahead file while others write, so that a checkpoint keeps them waiting for the rest alone.

    A checkpoint syncs this file before all else, and most of its time goes into that. SQLite holds no locks on it that closing
    a descriptor would drop.

    Returns:
        False if that failed; what was written before must not be relied on then.
    """
    try:
        descriptor = os.open(directory / PARTS[1], _FLAGS)
    except OSError:
        return True  # none was written, or the checkpoint meets the same
    try:
        os.fsync(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _head(place: Path, offset: int, count: int) -> tuple[bytes, int]:
    try:
        with place.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(offset)
            return file.read(count), size
    except FileNotFoundError:
        return b"", 0


def _checksum(data: bytes, order: str, start: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    first, second = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
