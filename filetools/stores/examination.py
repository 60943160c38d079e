"""Looking at the temporary folder of a local store that need not be open."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from filetools.stores.capabilities import Capabilities, probe_capabilities
from filetools.stores.owners import Owner, is_left_behind

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def examine_folder(folder: Path) -> Capabilities | None:
    """Return what the file system under a temporary folder can do; None if there is none, or nothing can be made there."""
    owner = Owner()
    try:
        descriptor = os.open(folder, _FLAGS)
    except OSError:
        return None
    try:
        return probe_capabilities(descriptor, owner.new_name)
    except OSError:
        return None
    finally:
        owner.close()
        os.close(descriptor)


def left_behind(folder: Path) -> int:
    """Return how many files in a temporary folder belong to processes that have ended."""
    count = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                count += is_left_behind(entry.name, entry.stat(follow_symlinks=False).st_ctime_ns)
    return count
