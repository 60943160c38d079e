"""What a tool is, and what its handler gets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Literal

from msgspec import Struct

from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.models.result import Result
from filetools.permissions.rules import Level
from filetools.tools.answers.seen import ShownCall, TextLimits
from filetools.tools.arguments import P
from filetools.tools.deadline import AbortSignal
from filetools.tools.envelope import input_schema
from filetools.tools.roots import Roots

Effect = Literal["read", "change", "delete"]
ReportProgress = Callable[[int, int | None, str | None], None]
ReportPart = Callable[[Result], None]


class ToolContext(Struct, frozen=True, kw_only=True):
    """What one call of a tool works with; lives as long as the call."""

    files: FileToolsFacade
    """The workspace, bound to the actor and this call."""
    call_id: str
    report: ReportProgress
    """Tells current, total and message of long work."""
    abort: AbortSignal | None = None
    require_read: bool = False
    """Whether replacing a file without its version needs a caller that has read all of it."""
    served: Roots | None = None
    """The folders that the door serves by absolute paths; None for the workspace alone."""
    partial: ReportPart | None = None
    """Tells the first rows of a long result; None if nobody listens."""
    kept: DescriptorCalls | None = None
    """The descriptors of the door's caller; None for the actor's own."""

    @property
    def descriptors(self) -> DescriptorCalls:
        """The descriptors that the caller can read."""
        return self.files.descriptors() if self.kept is None else self.kept

    @property
    def roots(self) -> Roots:
        """The folders whose absolute paths the caller may use."""
        return Roots.of(self.files) if self.served is None else self.served

    def is_aborted(self) -> bool:
        """Whether the caller wants the call to stop; for work in other threads, which cancelling does not reach."""
        return self.abort is not None and self.abort.is_aborted()

    def percent(self, done: int) -> None:
        """Tell progress from 0 to 100."""
        self.report(done, 100, None)


class Published(Struct, frozen=True, kw_only=True):
    """What a tool publishes to the letter, because others know it by that."""

    title: str | None = None
    input_schema: Mapping[str, Any] | None = None
    """None for the one made from the parameters."""
    output_schema: Mapping[str, Any] | None = None
    """None for none."""
    annotations: Mapping[str, Any] | None = None
    """Hints by the names of MCP; None for those that follow from the tool."""


class Tool(Struct, Generic[P], frozen=True, kw_only=True):
    """One tool, as the registry, every export and every door see it."""

    name: str
    description: str
    """Written for a model: when to use it, what comes back, what to do when it fails."""
    parameters: type[P]
    handler: Callable[[ToolContext, P], Awaitable[Result | Mapping[str, Any]]]
    group: str
    """What it is switched on by; "core" is the default set."""
    level: Level = "prompt"
    """What the preset "ask" does with it; the facade decides by the policy in force, "block" is refused at once."""
    effect: Effect = "change"
    is_idempotent: bool = False
    """Whether the same call once more changes nothing further."""
    is_all_or_nothing: bool = False
    """Whether a call that fails, is aborted or out of time has changed nothing."""
    has_body: bool = False
    """Whether it returns a body, which a model gets as text."""
    result: type[Result] | None = None
    """The shape of its data, where that is a model."""
    looks_at: Literal["file", "folder"] | None = None
    """What its path names, if it reads there: agents are then told of the instructions that apply there."""
    time_limit_seconds: float | None = None
    """Its own time limit; None for that of the settings."""
    published: Published | None = None
    """What a dialect publishes of it, where that must be exact."""
    present: Callable[[Mapping[str, Any], TextLimits], ShownCall] | None = None
    """How an envelope of it, of a success or a failure, is shown to a model; None for the usual way."""

    def definition(self) -> dict[str, Any]:
        """Return name, description and JSON schema of the parameters."""
        exact = None if self.published is None else self.published.input_schema
        schema = input_schema(self.parameters) if exact is None else dict(exact)
        return {"name": self.name, "description": self.description, "input_schema": schema}


AnyTool = Tool[Any]
