"""What happened, told to whoever subscribed: the typed events and the bus that carries them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.events.activity import (
        ApprovalRequired,
        InstanceChanged,
        PermissionChanged,
        ProjectCreated,
        ProjectDeleted,
        ProjectEvent,
        ProjectInstanceLinked,
        ProjectUpdated,
        RetryAttempted,
        RetryEvent,
        RetryExhausted,
        RetryFailed,
        RetryQueued,
        RetrySucceeded,
        SyncCompleted,
        SyncError,
        SyncPaused,
        SyncProgress,
        SyncResumed,
        SyncStarted,
        ToolApproved,
        ToolCompleted,
        ToolEvent,
        ToolFailed,
        ToolProgress,
        ToolRejected,
        ToolStarted,
    )
    from filetools.events.buffers import (
        BufferAbandoned,
        BufferBehind,
        BufferChanged,
        BufferClosed,
        BufferEvent,
        BufferMoved,
        BufferOpened,
        BufferSaved,
    )
    from filetools.events.bus import BusStatistics, EventBus
    from filetools.events.listeners import Listener
    from filetools.events.queries import Responder
    from filetools.events.records import from_record
    from filetools.events.subscriptions import Subscription, known_pattern
    from filetools.events.types import (
        ContentEvent,
        ContentLoader,
        DirectoryCreated,
        DirectoryDeleted,
        DirectoryRenamed,
        Event,
        FileCreated,
        FileDeleted,
        FileModified,
        FileRead,
        FileRenamed,
        Resync,
        TreeEvent,
    )
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.events.activity": "ApprovalRequired, InstanceChanged, PermissionChanged, "
            "ProjectCreated, ProjectDeleted, ProjectEvent, "
            "ProjectInstanceLinked, ProjectUpdated, "
            "RetryAttempted, RetryEvent, RetryExhausted, "
            "RetryFailed, RetryQueued, RetrySucceeded, "
            "SyncCompleted, SyncError, SyncPaused, SyncProgress, "
            "SyncResumed, SyncStarted, ToolApproved, "
            "ToolCompleted, ToolEvent, ToolFailed, ToolProgress, "
            "ToolRejected, ToolStarted",
            "filetools.events.buffers": "BufferAbandoned, BufferBehind, BufferChanged, "
            "BufferClosed, BufferEvent, BufferMoved, BufferOpened, "
            "BufferSaved",
            "filetools.events.bus": "BusStatistics, EventBus",
            "filetools.events.listeners": "Listener",
            "filetools.events.queries": "Responder",
            "filetools.events.records": "from_record",
            "filetools.events.subscriptions": "Subscription, known_pattern",
            "filetools.events.types": "ContentEvent, ContentLoader, DirectoryCreated, "
            "DirectoryDeleted, DirectoryRenamed, Event, FileCreated, "
            "FileDeleted, FileModified, FileRead, FileRenamed, "
            "Resync, TreeEvent",
        },
    )

__all__ = [
    "ApprovalRequired",
    "BufferAbandoned",
    "BufferBehind",
    "BufferChanged",
    "BufferClosed",
    "BufferEvent",
    "BufferMoved",
    "BufferOpened",
    "BufferSaved",
    "BusStatistics",
    "ContentEvent",
    "ContentLoader",
    "DirectoryCreated",
    "DirectoryDeleted",
    "DirectoryRenamed",
    "Event",
    "EventBus",
    "FileCreated",
    "FileDeleted",
    "FileModified",
    "FileRead",
    "FileRenamed",
    "InstanceChanged",
    "Listener",
    "PermissionChanged",
    "ProjectCreated",
    "ProjectDeleted",
    "ProjectEvent",
    "ProjectInstanceLinked",
    "ProjectUpdated",
    "Responder",
    "Resync",
    "RetryAttempted",
    "RetryEvent",
    "RetryExhausted",
    "RetryFailed",
    "RetryQueued",
    "RetrySucceeded",
    "Subscription",
    "SyncCompleted",
    "SyncError",
    "SyncPaused",
    "SyncProgress",
    "SyncResumed",
    "SyncStarted",
    "ToolApproved",
    "ToolCompleted",
    "ToolEvent",
    "ToolFailed",
    "ToolProgress",
    "ToolRejected",
    "ToolStarted",
    "TreeEvent",
    "from_record",
    "known_pattern",
]
