"""Locks of paths: first come, first served among tasks, exclusive among processes, freed by the death of the holder."""

from filetools.locks.held import HeldLocks
from filetools.locks.holder import LockInfo
from filetools.locks.table import LockTable

__all__ = ["HeldLocks", "LockInfo", "LockTable"]
