"""Tools whose handlers do what a test tells them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from filetools.models.result import Result
from filetools.tools.arguments import NoParameters
from filetools.tools.tool import AnyTool, Effect, Tool, ToolContext

Handler = Callable[[ToolContext, NoParameters], Awaitable[Result | Mapping[str, Any]]]


def probe(handler: Handler, *, effect: Effect = "change", time_limit_seconds: float | None = None) -> AnyTool:
    """Return a tool named "probe" with this handler."""
    return Tool(
        name="probe",
        description="Do what the test says.",
        parameters=NoParameters,
        handler=handler,
        group="test",
        effect=effect,
        time_limit_seconds=time_limit_seconds,
    )
