"""What a power cut leaves of a file whose bytes were not synced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SECTOR_BYTES: Final = 512
"""What a disk writes whole or not at all."""


def is_left_by_power_cut(found: bytes, versions: Iterable[bytes]) -> bool:
    """Whether bytes are what a power cut leaves of a file: sectors of its versions, in any mixture, and zeros.

    Args:
        found: The bytes.
        versions: All that the file may have held since it was last synced.
    """
    starts = [start for start in range(0, len(found), SECTOR_BYTES) if found[start : start + SECTOR_BYTES].strip(b"\0")]
    for version in versions:
        if not starts:
            break
        starts = [start for start in starts if not _is_sector_of(found, version, start)]
    return not starts


def _is_sector_of(found: bytes, version: bytes, start: int) -> bool:
    """Whether a sector is that of a version, as far as its file had grown, and zeros behind."""
    sector, wanted = found[start : start + SECTOR_BYTES], version[start : start + SECTOR_BYTES]
    return sector == wanted or wanted.startswith(sector.rstrip(b"\0"))
