"""Building an opened workspace from its settings, and what doors need to know of it."""

from filetools.app.blocking import BlockingFacade, open_sync
from filetools.app.folders import Folder, folder_at, outermost
from filetools.app.health import Health, Repair, Rescue, examine, repair
from filetools.app.installation import extras, facts, installation
from filetools.app.opening import Opening, open_workspace
from filetools.app.surroundings import Check, look_around
from filetools.app.token import TOKEN_FILE, own_token, read_token
from filetools.content import Edit, TextEdit
from filetools.events import BufferEvent, Event, Subscription, TreeEvent, from_record
from filetools.facade import (
    FeedPage,
    FileToolsFacade,
    OpenedFile,
    Transaction,
    TransactionResult,
    Upload,
    change_entry,
)
from filetools.permissions import ApprovalAnswer, ApprovalDecision, ApprovalRequest

__all__ = [
    "TOKEN_FILE",
    "ApprovalAnswer",
    "ApprovalDecision",
    "ApprovalRequest",
    "BlockingFacade",
    "BufferEvent",
    "Check",
    "Edit",
    "Event",
    "FeedPage",
    "FileToolsFacade",
    "Folder",
    "Health",
    "OpenedFile",
    "Opening",
    "Repair",
    "Rescue",
    "Subscription",
    "TextEdit",
    "Transaction",
    "TransactionResult",
    "TreeEvent",
    "Upload",
    "change_entry",
    "examine",
    "extras",
    "facts",
    "folder_at",
    "from_record",
    "installation",
    "look_around",
    "open_sync",
    "open_workspace",
    "outermost",
    "own_token",
    "read_token",
    "repair",
]
