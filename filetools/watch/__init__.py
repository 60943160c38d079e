"""Noticing what others do: foreign changes of the tree, and the bell that other filetools processes ring."""

from __future__ import annotations

from filetools.watch.bell import Bell, BellListener
from filetools.watch.exclusion import Excluded
from filetools.watch.hints import Hint, HintKind
from filetools.watch.inventory import Inventory, Known
from filetools.watch.watcher import ForeignWatcher

__all__ = ["Bell", "BellListener", "Excluded", "ForeignWatcher", "Hint", "HintKind", "Inventory", "Known"]
