"""Calls that name their tool in the body, and the limit on context calls of one parsing run."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from pydantic import Field

from filetools.errors import InvalidArgumentError, RateLimitedError
from filetools.tools.arguments import Parameters, read_arguments
from filetools.tools.envelope import failure_envelope
from filetools.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)

LIMITED_GROUP: Final = "context"
MOST_A_RUN: Final = 30
MOST_A_MINUTE: Final = 120
RUN_SECONDS: Final = 600
MINUTE_SECONDS: Final = 60
_CRASHED: Final = {
    "error": "Tool execution failed",
    "suggested_action": "Continue without it; the log says why it failed.",
    "details": {},
}


class Execution(Parameters):
    """A call that names its tool."""

    tool: str
    input: dict[str, Any] = Field(default_factory=dict)
    """The arguments."""
    parsing_run: str | None = Field(default=None, min_length=1, max_length=120)
    """Which parsing of a person's words the call belongs to; limits how often it calls tools of the group `context`."""


class ParsingRuns:
    """Counts the calls of each parsing run in the last 10 minutes, and those of all runs in the last minute.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # The limit for all runs bounds how many calls the window of one run can have.
        self._calls: deque[tuple[float, str]] = deque(maxlen=round(MOST_A_MINUTE * RUN_SECONDS / MINUTE_SECONDS))

    def count(self, run: str) -> None:
        """Count a call; refused calls do not count.

        Raises:
            RateLimitedError: The run has made 30 calls, or all runs together 120 within a minute.
        """
        now = self._clock()
        own = [moment for moment, each in self._calls if each == run]
        of_all = [moment for moment, _ in self._calls]
        for who, moments, most, seconds in (
            ("A parsing run", own, MOST_A_RUN, RUN_SECONDS),
            ("All parsing runs together", of_all, MOST_A_MINUTE, MINUTE_SECONDS),
        ):
            if len(moments) >= most and (left := moments[-most] + seconds - now) > 0:
                rule, wait_seconds = f"{who} may call tools for context {most} times in {seconds} s", math.ceil(left)
                raise RateLimitedError(f"{rule}; wait {wait_seconds} s", wait_seconds=wait_seconds)
        self._calls.append((now, run))


async def execute(
    registry: ToolRegistry, request: Execution | object, *, runs: ParsingRuns | None = None, **options: Any
) -> dict[str, Any]:
    """Call the tool named in a request, and return the envelope. Never raises, except CancelledError.

    `registry.definitions()` returns the available tools.

    Args:
        registry: The tools.
        request: `{"tool": name, "input"?: arguments, "parsing_run"?: id}`.
        runs: Limits calls of context tools that name their parsing run; None for no limit.
        options: As for `ToolRegistry.call`.

    Returns:
        The envelope of `ToolRegistry.call`. If a tool crashed, the error is only "Tool execution failed" and the rest is
        logged. A call over the limit fails with `RATE_LIMITED` and `wait_seconds` in its details.
    """
    try:
        wanted = request if isinstance(request, Execution) else read_arguments(Execution, request)[0]
        limited = {tool.name for tool in registry.select() if tool.group == LIMITED_GROUP}
        if runs is not None and wanted.parsing_run is not None and wanted.tool in limited:
            runs.count(wanted.parsing_run)
    except (InvalidArgumentError, RateLimitedError) as error:
        return failure_envelope(error)
    envelope = await registry.call(wanted.tool, wanted.input, **options)
    if envelope.get("error_code") != "INTERNAL":
        return envelope
    logger.error("Tool %s failed: %s", wanted.tool, envelope["error"])
    return envelope | _CRASHED
