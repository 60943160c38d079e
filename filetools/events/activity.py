"""Events of the mirror, tool calls, permissions, projects and instances, as frozen records; on the bus only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from filetools.events.types import Event

SyncDirection = Literal["to_mirror", "to_local", "both"]
PauseReason = Literal["user", "error", "permission"]


class SyncStarted(Event, frozen=True, kw_only=True):
    """A synchronisation starts; the number of files is known."""

    name: ClassVar[str] = "sync:started"

    file_count: int
    direction: SyncDirection


class SyncProgress(Event, frozen=True, kw_only=True):
    """A synchronisation starts its next file."""

    name: ClassVar[str] = "sync:progress"

    current: int
    """How many files are done."""
    total: int
    current_file: str


class SyncCompleted(Event, frozen=True, kw_only=True):
    """A synchronisation ended."""

    name: ClassVar[str] = "sync:completed"

    success: bool
    timestamp: float
    """Seconds since the epoch."""
    files_processed: int
    files_failed: int


class SyncError(Event, frozen=True, kw_only=True):
    """One file, or the whole mirror when `file` is None, could not be synchronised."""

    name: ClassVar[str] = "sync:error"

    error: str
    error_code: str
    file: str | None = None


class SyncPaused(Event, frozen=True, kw_only=True):
    """Synchronisation stopped until something changes."""

    name: ClassVar[str] = "sync:paused"

    reason: PauseReason


class SyncResumed(Event, frozen=True, kw_only=True):
    """Synchronisation continues after a pause."""

    name: ClassVar[str] = "sync:resumed"


class ToolEvent(Event, frozen=True, kw_only=True):
    """Base of the events about one tool call."""

    tool_name: str
    tool_call_id: str
    path: str | None = None
    """Workspace-relative path of the call, if it has one."""


class ToolStarted(ToolEvent, frozen=True, kw_only=True):
    """A tool call starts."""

    name: ClassVar[str] = "agent:tool:started"

    arguments: Mapping[str, Any] | None = None
    """Arguments as given, without file contents."""


class ToolCompleted(ToolEvent, frozen=True, kw_only=True):
    """A tool call succeeded."""

    name: ClassVar[str] = "agent:tool:completed"

    duration_ms: int | None = None
    result: Mapping[str, Any] | None = None
    """Facts about the result, without file contents."""


class ToolFailed(ToolEvent, frozen=True, kw_only=True):
    """A tool call ended with an error."""

    name: ClassVar[str] = "agent:tool:failed"

    error: str
    error_code: str
    retryable: bool = False
    duration_ms: int | None = None


class ToolProgress(Event, frozen=True, kw_only=True):
    """A long tool call reports its progress."""

    name: ClassVar[str] = "tool:progress"

    tool_call_id: str
    current: int
    total: int | None = None
    message: str | None = None


class ApprovalRequired(ToolEvent, frozen=True, kw_only=True):
    """A tool call waits for a person."""

    name: ClassVar[str] = "tool:approval_required"

    approval_id: str
    reason: str


class ToolApproved(ToolEvent, frozen=True, kw_only=True):
    """A person allowed a tool call."""

    name: ClassVar[str] = "tool:approved"

    approval_id: str


class ToolRejected(ToolEvent, frozen=True, kw_only=True):
    """A person denied a tool call."""

    name: ClassVar[str] = "tool:rejected"

    approval_id: str
    reason: str | None = None


class ProjectEvent(Event, frozen=True, kw_only=True):
    """Base of the events about one registered project."""

    project: str
    """Its id."""


class ProjectCreated(ProjectEvent, frozen=True, kw_only=True):
    """A folder was registered as a project."""

    name: ClassVar[str] = "project:created"

    path: str
    """Absolute, links resolved."""


class ProjectUpdated(ProjectEvent, frozen=True, kw_only=True):
    """The name or folder of a project changed."""

    name: ClassVar[str] = "project:updated"

    path: str
    """Absolute, links resolved."""


class ProjectDeleted(ProjectEvent, frozen=True, kw_only=True):
    """A project was unregistered; its files stay."""

    name: ClassVar[str] = "project:deleted"


class InstanceChanged(Event, frozen=True, kw_only=True):
    """An agent or a server was registered, changed its name, folder or status, was pinned, or ended."""

    name: ClassVar[str] = "instance:changed"

    instance: str
    """Its id."""
    status: str
    """"working", "awaiting", "idle", "error", or "closed"."""
