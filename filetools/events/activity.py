"""What the mirror, tool calls, permissions and retries are doing, as frozen records; on the bus only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from filetools.events.types import Event
from filetools.models.words import Preset

SyncDirection = Literal["to_mirror", "to_local", "both"]
PauseReason = Literal["user", "error", "permission"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStarted(Event):
    """A synchronisation starts; the number of files is known."""

    name: ClassVar[str] = "sync:started"

    file_count: int
    direction: SyncDirection


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncProgress(Event):
    """A synchronisation starts its next file."""

    name: ClassVar[str] = "sync:progress"

    current: int
    """How many files are done."""
    total: int
    current_file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncCompleted(Event):
    """A synchronisation ended."""

    name: ClassVar[str] = "sync:completed"

    success: bool
    timestamp: float
    """Seconds since the epoch."""
    files_processed: int
    files_failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncError(Event):
    """One file, or the whole mirror when `file` is None, could not be synchronised."""

    name: ClassVar[str] = "sync:error"

    error: str
    error_code: str
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPaused(Event):
    """Synchronisation stopped until something changes."""

    name: ClassVar[str] = "sync:paused"

    reason: PauseReason


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResumed(Event):
    """Synchronisation continues after a pause."""

    name: ClassVar[str] = "sync:resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEvent(Event):
    """Base of the events about one tool call."""

    tool_name: str
    tool_call_id: str
    path: str | None = None
    """Workspace-relative path the call is about, where it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(ToolEvent):
    """A tool call starts."""

    name: ClassVar[str] = "agent:tool:started"

    arguments: Mapping[str, Any] | None = None
    """Arguments as given, without file contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCompleted(ToolEvent):
    """A tool call succeeded."""

    name: ClassVar[str] = "agent:tool:completed"

    duration_ms: int | None = None
    result: Mapping[str, Any] | None = None
    """Facts about the result, without file contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailed(ToolEvent):
    """A tool call ended with an error."""

    name: ClassVar[str] = "agent:tool:failed"

    error: str
    error_code: str
    retryable: bool = False
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(Event):
    """A long tool call reports its progress."""

    name: ClassVar[str] = "tool:progress"

    tool_call_id: str
    current: int
    total: int | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequired(ToolEvent):
    """A tool call waits for a person."""

    name: ClassVar[str] = "tool:approval_required"

    approval_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolApproved(ToolEvent):
    """A person allowed a tool call."""

    name: ClassVar[str] = "tool:approved"

    approval_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRejected(ToolEvent):
    """A person denied a tool call."""

    name: ClassVar[str] = "tool:rejected"

    approval_id: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionChanged(Event):
    """The permission rules changed."""

    name: ClassVar[str] = "permission:changed"

    preset: Preset
    tool: str | None = None
    """The one tool whose rule changed; None if the preset changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectEvent(Event):
    """Base of the events about one registered project."""

    project: str
    """Its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCreated(ProjectEvent):
    """A folder was registered as a project."""

    name: ClassVar[str] = "project:created"

    path: str
    """Absolute, links resolved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectUpdated(ProjectEvent):
    """The name or folder of a project changed."""

    name: ClassVar[str] = "project:updated"

    path: str
    """Absolute, links resolved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectDeleted(ProjectEvent):
    """A project was unregistered; its files stay."""

    name: ClassVar[str] = "project:deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceChanged(Event):
    """An agent or a server was registered, changed its name, folder or status, was pinned, or ended."""

    name: ClassVar[str] = "instance:changed"

    instance: str
    """Its id."""
    status: str
    """"working", "awaiting", "idle", "error", or "closed"."""
