"""What every step of a call works with: the opened parts of one workspace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from filetools.editors import Documents
from filetools.events import EventBus
from filetools.facade.known_names import KnownNames
from filetools.facade.linked import LinkedNames
from filetools.facade.remembered_views import RememberedViews
from filetools.facade.worker_pool import WorkerPool
from filetools.locks import LockTable
from filetools.paths import Workspace
from filetools.permissions import Gatekeeper
from filetools.settings import Settings
from filetools.sync import Recovery, SyncManager
from filetools.versions import ReadTracker, RememberedLines

if TYPE_CHECKING:
    from filetools.content import FactsCache
    from filetools.journal import Journal
    from filetools.stores import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one opened workspace; they live until it is closed."""

    workspace: Workspace
    store: Store
    journal: Journal
    locks: LockTable
    bus: EventBus
    sync: SyncManager
    recovery: Recovery
    gatekeeper: Gatekeeper
    settings: Settings
    facts: FactsCache
    tracker: ReadTracker
    documents: Documents
    crew: WorkerPool
    names: KnownNames
    views: RememberedViews = field(default_factory=RememberedViews)
    links: LinkedNames = field(default_factory=LinkedNames)
    lines: RememberedLines = field(default_factory=RememberedLines)
