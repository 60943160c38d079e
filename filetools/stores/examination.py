"""Looking at the temporary folder of a local store that need not be open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from filetools.stores.capabilities import Capabilities, probe_capabilities
from filetools.stores.owners import Owner

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
