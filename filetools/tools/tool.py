"""Defines a tool and the context of its handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, Literal

from msgspec import Struct, field

from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.models.result import Result
from filetools.tools.answers.seen import ShownCall, TextLimits
from filetools.tools.arguments import P
from filetools.tools.envelope import input_schema
from filetools.tools.roots import Roots

Effect = Literal["read", "change", "delete"]
ReportProgress = Callable[[int, int | None, str | None], None]


class AbortSignal:
    """A signal, set once, that stops the calls it was given to. Belongs to their event loop; make a new one for later calls."""

    __slots__ = ("_callbacks", "_is_aborted")

    def __init__(self) -> None:
        self._is_aborted = False
        self._callbacks: list[Callable[[], None]] = []

    def is_aborted(self) -> bool:
        """Return True if the calls should stop. Thread-safe."""
        return self._is_aborted

    def abort(self) -> None:
        """Stop the current and later calls that use this signal. Idempotent."""
        if self._is_aborted:
            return
        self._is_aborted = True
        for callback in self._callbacks:
            callback()

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Add a function to be called when the signal is set; never called if it is set already."""
        self._callbacks.append(callback)


class ToolContext(Struct, frozen=True, kw_only=True):
    """The context of one call of a tool."""

    files: FileToolsFacade
    """The workspace, bound to the actor and this call."""
    report: ReportProgress
    """Reports current, total and message of long work."""
    abort: AbortSignal | None = None
    require_read: bool = False
    """True if replacing a file without its version requires a caller that has read all of it."""
    served: Roots | None = None
    """The folders served by absolute paths; None for the workspace alone."""
    allowed: Sequence[str] = ()
    """Folders that context tools may read in addition to the workspace, registered projects and those in the settings."""
    above: bool = False
    """True if context tools include instructions above the workspace."""
    kept: DescriptorCalls | None = None
    """The descriptors for results of this caller; None for the actor's own."""

    @property
    def descriptors(self) -> DescriptorCalls:
        """The descriptors that the caller can read."""
        return self.files.descriptors() if self.kept is None else self.kept

    @property
    def roots(self) -> Roots:
        """The folders whose absolute paths the caller may use."""
        return Roots.of(self.files) if self.served is None else self.served

    def is_aborted(self) -> bool:
        """Return True if the call should stop; for work in other threads, which cancellation does not reach."""
        return self.abort is not None and self.abort.is_aborted()

    def percent(self, done: int) -> None:
        """Report progress from 0 to 100."""
        self.report(done, 100, None)


class Tool(Struct, Generic[P], frozen=True, kw_only=True):
    """One tool, as used by the registry, the exports and every interface."""

    name: str
    description: str
    """Written for a model: when to use it, what comes back, what to do when it fails."""
    parameters: type[P]
    handler: Callable[[ToolContext, P], Awaitable[Result | Mapping[str, Any]]]
    group: str
    """The group that enables it; "core" is the default."""
    effect: Effect = "change"
    is_idempotent: bool = False
    """True for a tool that changes something if repeating the same call changes nothing further."""
    is_all_or_nothing: bool = False
    """True if a call that fails, is aborted or times out has changed nothing."""
    has_body: bool = False
    """True if it returns a body, which a model receives as text."""
    result: type[Result] | None = None
    """The type of its data, if that is a model."""
    looks_at: Literal["file", "folder"] | None = None
    """What its path names, if it reads it: agents then receive the instructions that apply there."""
    time_limit_seconds: float | None = None
    """Its own time limit; None for that of the settings."""
    actions: Mapping[str, str] = field(default_factory=dict)
    """Suggested actions in the words of its parameters, by error code; they replace those of the errors."""
    published: Mapping[str, Any] | None = None
    """Title, schemas and annotations, by their MCP names, that must be published exactly as another product does."""
    present: Callable[[Mapping[str, Any], TextLimits], ShownCall] | None = None
    """Converts its envelopes, of success or failure, into what a model sees; None for the default."""

    def definition(self) -> dict[str, Any]:
        """Return name, description and JSON schema of the parameters."""
        schema = input_schema(self.parameters) if self.published is None else self.published["inputSchema"]
        return {"name": self.name, "description": self.description, "input_schema": schema}


AnyTool = Tool[Any]
