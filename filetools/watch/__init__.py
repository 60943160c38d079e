"""Noticing what others do: foreign changes of the tree, and the bell that other filetools processes ring."""

from __future__ import annotations

from filetools.watch.bell import Bell, BellListener
from filetools.watch.hints import Hint, HintKind
from filetools.watch.watcher import ForeignWatcher

__all__ = ["Bell", "BellListener", "ForeignWatcher", "Hint", "HintKind"]
