"""A workspace in which a stranger acts in the very instant before a chosen call of the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from filetools.app.opening import Opening
from filetools.paths.workspace import Workspace
from filetools.stores.store import Store
from tests.support.crashing import QUIET
from tests.support.faulty import FaultyStore, Plan

T = TypeVar("T")


@dataclass
class MeddlingPlan(Plan):
    """Lets a stranger act once before the first call of each named method."""

    acts: dict[str, Callable[[], None]] = field(default_factory=dict)

    def run(
        self, store: str, method: str, path: str, action: Callable[[], T], half: Callable[[], object] | None = None
    ) -> T:
        act = self.acts.pop(method, None)
        if act is not None:
            act()
        return super().run(store, method, path, action, half)


class MeddlingOpening(Opening):
    """Opens a root with a stranger beside it."""

    def __init__(self, root: Path, settings: Mapping[str, object] | None = None) -> None:
        super().__init__(root, None, None, {**QUIET, **(settings or {})})
        self.plan = MeddlingPlan()

    def _open_store(self, workspace: Workspace, private_directory: Path) -> Store:
        return FaultyStore(super()._open_store(workspace, private_directory), self.plan)
