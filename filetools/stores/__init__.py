"""Stores: trees of files behind one interface, on a local disk or in memory."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.stores.capabilities import Capabilities
    from filetools.stores.examination import examine_folder, left_behind
    from filetools.stores.folder import FolderStore
    from filetools.stores.late import LateStore
    from filetools.stores.local import LocalStore
    from filetools.stores.memory import MemoryStore
    from filetools.stores.processes import is_alive, process_mark
    from filetools.stores.reading import facts_of, stat_of
    from filetools.stores.store import Displaced, Facts, FileStat, Prepared, Reader, ScanEntry, Store, Take
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.stores.capabilities": "Capabilities",
            "filetools.stores.examination": "examine_folder, left_behind",
            "filetools.stores.folder": "FolderStore",
            "filetools.stores.late": "LateStore",
            "filetools.stores.local": "LocalStore",
            "filetools.stores.memory": "MemoryStore",
            "filetools.stores.processes": "is_alive, process_mark",
            "filetools.stores.reading": "facts_of, stat_of",
            "filetools.stores.store": "Displaced, Facts, FileStat, Prepared, Reader, ScanEntry, Store, Take",
        },
    )

__all__ = [
    "Capabilities",
    "Displaced",
    "Facts",
    "FileStat",
    "FolderStore",
    "LateStore",
    "LocalStore",
    "MemoryStore",
    "Prepared",
    "Reader",
    "ScanEntry",
    "Store",
    "Take",
    "examine_folder",
    "facts_of",
    "is_alive",
    "left_behind",
    "process_mark",
    "stat_of",
]
