"""The objects of one opened workspace that the steps of a call use."""

from __future__ import annotations

from msgspec import Struct, structs

from filetools.changes.read_tracker import ReadTracker
from filetools.content.facts import ContentFacts
from filetools.content.identity_cache import IdentityCache
from filetools.editors.documents import Documents
from filetools.events.bus import EventBus
from filetools.journal.journal import Journal, View
from filetools.paths.workspace import Workspace
from filetools.permissions.gatekeeper import Gatekeeper
from filetools.settings import Settings
from filetools.stores.store import PrimaryStore
from filetools.sync.manager import SyncManager
from filetools.tree.observer import TreeObserver
from filetools.writer.recovery import Recovery
from filetools.writer.worker_pool import WorkerPool


class Parts(Struct, frozen=True, kw_only=True):
    """The objects of one opened workspace, usable until it is closed."""

    workspace: Workspace
    store: PrimaryStore
    journal: Journal
    bus: EventBus
    sync: SyncManager
    recovery: Recovery
    gatekeeper: Gatekeeper
    settings: Settings
    facts: IdentityCache[ContentFacts]
    """Facts of recently read files."""
    tracker: ReadTracker
    documents: Documents
    workers: WorkerPool
    observer: TreeObserver
    is_inner: bool = False
    """True inside a transaction: unsaved text and recovery are left to its commit."""

    def view(self, key: str) -> View:
        """Return the journal's view of a path; inside a transaction without its open document."""
        view = self.journal.view(key)
        return structs.replace(view, document=None) if self.is_inner else view
