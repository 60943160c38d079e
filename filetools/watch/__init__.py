"""Noticing what others do: foreign changes of the tree, and the bell that other filetools processes ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.watch.bell import Bell, BellListener
    from filetools.watch.exclusion import Excluded
    from filetools.watch.hints import Hint, HintKind
    from filetools.watch.inventory import Inventory, Known
    from filetools.watch.watcher import ForeignWatcher
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.watch.bell": "Bell, BellListener",
            "filetools.watch.exclusion": "Excluded",
            "filetools.watch.hints": "Hint, HintKind",
            "filetools.watch.inventory": "Inventory, Known",
            "filetools.watch.watcher": "ForeignWatcher",
        },
    )

__all__ = ["Bell", "BellListener", "Excluded", "ForeignWatcher", "Hint", "HintKind", "Inventory", "Known"]
