"""Calls that name their tool in the body, and the limit on context calls of one parsing run."""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final, Self

from pydantic import Field, ValidationError

from filetools.errors import InvalidArgumentError, RateLimitedError
from filetools.tools.arguments import Parameters
from filetools.tools.envelope import failure_envelope
from filetools.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)

LIMITED_GROUP: Final = "context"
MOST_A_RUN: Final = 30
MOST_A_MINUTE: Final = 120
FORGOTTEN_SECONDS: Final = 600.0
_MINUTE_SECONDS: Final = 60.0
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

    @classmethod
    def read(cls, request: object) -> Self:
        """Parse a JSON object as a call.

        Raises:
            InvalidArgumentError: A part is missing, unknown or of a wrong type.
        """
        try:
            return cls.model_validate(request)
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_context=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            message = f"A call is {{tool, input, parsing_run}}: {place + ': ' if place else ''}{first['msg']}"
            raise InvalidArgumentError(message) from exc


class ParsingRuns:
    """Counts the calls of each parsing run, and forgets a run 10 minutes after its last call.

    The number of runs held is bounded by the number of calls allowed in that time.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._runs: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """Number of calls and time of the last one by run ID, ordered by the time of the last call."""
        self._newest: deque[float] = deque(maxlen=MOST_A_MINUTE)

    def count(self, run: str) -> None:
        """Count a call; refused calls do not count.

        Raises:
            RateLimitedError: The run has made 30 calls, or all runs together 120 within a minute.
        """
        now = self._clock()
        while self._runs and next(iter(self._runs.values()))[1] + FORGOTTEN_SECONDS <= now:
            self._runs.popitem(last=False)
        calls, last = self._runs.get(run, (0, now))
        if calls >= MOST_A_RUN:
            raise _refusal(
                f"A parsing run may call tools for context {MOST_A_RUN} times", last + FORGOTTEN_SECONDS - now
            )
        if len(self._newest) == MOST_A_MINUTE and (left := self._newest[0] + _MINUTE_SECONDS - now) > 0:
            raise _refusal(f"Parsing runs may call tools for context {MOST_A_MINUTE} times a minute", left)
        self._newest.append(now)
        self._runs[run] = (calls + 1, now)
        self._runs.move_to_end(run)


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
        wanted = request if isinstance(request, Execution) else Execution.read(request)
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


def _refusal(rule: str, left_seconds: float) -> RateLimitedError:
    wait_seconds = math.ceil(left_seconds)
    return RateLimitedError(f"{rule}; wait {wait_seconds} s", wait_seconds=wait_seconds)
