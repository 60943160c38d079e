"""What every step of a call works with: the opened parts of one workspace."""

from __future__ import annotations

from msgspec import Struct, structs

from filetools.content.facts import FactsCache
from filetools.editors.documents import Documents
from filetools.events.bus import EventBus
from filetools.facade.background.observing import TreeObserver
from filetools.journal.changes import View
from filetools.journal.journal import Journal
from filetools.paths.workspace import Workspace
from filetools.permissions.gatekeeper import Gatekeeper
from filetools.settings import Settings
from filetools.stores.store import Store
from filetools.sync.manager import SyncManager
from filetools.sync.recovery import Recovery
from filetools.versions.read_tracker import ReadTracker
from filetools.writer.worker_pool import WorkerPool


class Parts(Struct, frozen=True, kw_only=True):
    """The parts of one opened workspace; they live until it is closed."""

    workspace: Workspace
    store: Store
    journal: Journal
    bus: EventBus
    sync: SyncManager
    recovery: Recovery
    gatekeeper: Gatekeeper
    settings: Settings
    facts: FactsCache
    tracker: ReadTracker
    documents: Documents
    workers: WorkerPool
    observer: TreeObserver
    is_inner: bool = False
    """Whether these are the parts of a transaction: its exit meets unsaved text, and settles what a dead process left."""

    def view(self, key: str) -> View:
        """Return what is known of the path of a key; inside a transaction as if no editor had it open."""
        view = self.journal.view(key)
        return structs.replace(view, document=None) if self.is_inner else view
