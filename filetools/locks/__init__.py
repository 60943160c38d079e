"""Locks of paths: first come, first served among tasks, exclusive among processes, freed by the death of the holder."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.locks.held import HeldLocks
    from filetools.locks.holder import LockInfo
    from filetools.locks.table import LockTable
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.locks.held": "HeldLocks",
            "filetools.locks.holder": "LockInfo",
            "filetools.locks.table": "LockTable",
        },
    )

__all__ = ["HeldLocks", "LockInfo", "LockTable"]
