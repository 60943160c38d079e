"""The public names of the package, which `filetools/__init__.py` loads when the first of them is used."""

import filetools.errors as errors
import filetools.events as events
import filetools.models as models
from filetools.app.blocking import BlockingFacade, open_sync
from filetools.app.opening import open_workspace as open  # noqa: A004 - read as filetools.open(), like io.open()
from filetools.content.editing.edits import Edit
from filetools.content.editing.text_edits import TextEdit
from filetools.descriptors.descriptors import Descriptors
from filetools.editors.editor_state import EditorState
from filetools.editors.shown import Selection
from filetools.editors.tree_state import TreeState
from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.permissions.requests import ApprovalAnswer, ApprovalDecision, ApprovalRequest
from filetools.settings import Settings
from filetools.stores.store import Store
from filetools.sync.manager import SyncManager

__all__ = [
    "Actor",
    "ApprovalAnswer",
    "ApprovalDecision",
    "ApprovalRequest",
    "BlockingFacade",
    "Descriptors",
    "Edit",
    "EditorState",
    "FileToolsError",
    "FileToolsFacade",
    "Selection",
    "Settings",
    "Store",
    "SyncManager",
    "TextEdit",
    "TreeState",
    "errors",
    "events",
    "models",
    "open",
    "open_sync",
]
