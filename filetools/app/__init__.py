"""Building an opened workspace from its settings, and what doors need to know of it."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.app.agent_runs import AgentRun, AgentRuns
    from filetools.app.blocking import BlockingFacade, open_sync
    from filetools.app.folders import Folder, folder_at, outermost
    from filetools.app.health import Health, Repair, Rescue, examine, repair
    from filetools.app.installed import extras, facts, installation
    from filetools.app.mirror_list import ListedMirror, add_mirror, list_mirrors, remove_mirror
    from filetools.app.opening import Opening, open_workspace
    from filetools.app.registration import Registration
    from filetools.app.state import keeps_state, lacks_state, prepare_state
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
    from filetools.paths.patterns import ExcludeRules, compile_patterns
    from filetools.permissions import ApprovalAnswer, ApprovalDecision, ApprovalRequest
    from filetools.sessions.agent_text import AgentText
    from filetools.sessions.discovery import attach, is_enabled, sse
    from filetools.sessions.runs import Run
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.app.agent_runs": "AgentRun, AgentRuns",
            "filetools.app.blocking": "BlockingFacade, open_sync",
            "filetools.app.folders": "Folder, folder_at, outermost",
            "filetools.app.health": "Health, Repair, Rescue, examine, repair",
            "filetools.app.installed": "extras, facts, installation",
            "filetools.app.mirror_list": "ListedMirror, add_mirror, list_mirrors, remove_mirror",
            "filetools.app.opening": "Opening, open_workspace",
            "filetools.app.registration": "Registration",
            "filetools.app.state": "keeps_state, lacks_state, prepare_state",
            "filetools.app.surroundings": "Check, look_around",
            "filetools.app.token": "TOKEN_FILE, own_token, read_token",
            "filetools.content": "Edit, TextEdit",
            "filetools.events": "BufferEvent, Event, Subscription, TreeEvent, from_record",
            "filetools.facade": "FeedPage, FileToolsFacade, OpenedFile, Transaction, TransactionResult, "
            "Upload, change_entry",
            "filetools.paths.patterns": "ExcludeRules, compile_patterns",
            "filetools.permissions": "ApprovalAnswer, ApprovalDecision, ApprovalRequest",
            "filetools.sessions.agent_text": "AgentText",
            "filetools.sessions.discovery": "attach, is_enabled, sse",
            "filetools.sessions.runs": "Run",
        },
    )

__all__ = [
    "TOKEN_FILE",
    "AgentRun",
    "AgentRuns",
    "AgentText",
    "ApprovalAnswer",
    "ApprovalDecision",
    "ApprovalRequest",
    "BlockingFacade",
    "BufferEvent",
    "Check",
    "Edit",
    "Event",
    "ExcludeRules",
    "FeedPage",
    "FileToolsFacade",
    "Folder",
    "Health",
    "ListedMirror",
    "OpenedFile",
    "Opening",
    "Registration",
    "Repair",
    "Rescue",
    "Run",
    "Subscription",
    "TextEdit",
    "Transaction",
    "TransactionResult",
    "TreeEvent",
    "Upload",
    "add_mirror",
    "attach",
    "change_entry",
    "compile_patterns",
    "examine",
    "extras",
    "facts",
    "folder_at",
    "from_record",
    "installation",
    "is_enabled",
    "keeps_state",
    "lacks_state",
    "list_mirrors",
    "look_around",
    "open_sync",
    "open_workspace",
    "outermost",
    "own_token",
    "prepare_state",
    "read_token",
    "remove_mirror",
    "repair",
    "sse",
]
