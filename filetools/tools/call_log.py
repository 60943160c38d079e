"""Log and events of calls, without secrets; running calls can be stopped through the log."""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal

from msgspec import Struct, structs

from filetools.errors import AccessDeniedError, FileToolsError
from filetools.events.bus import EventBus
from filetools.events.types import ToolCompleted, ToolFailed, ToolProgress, ToolStarted
from filetools.models.records import Actor
from filetools.tools.tool import AbortSignal, ReportProgress

MAX_CHARACTERS: Final = 200
MAX_ITEMS: Final = 20
MAX_NAME_CHARACTERS: Final = 64
MAX_DEPTH: Final = 4
HIDDEN: Final = "***"

_BODIES: Final = frozenset(
    (
        "content", "text", "old", "new", "patch", "diff", "input", "output", "base64", "oldstring", "newstring", "oldstr",
        "newstr", "oldtext", "newtext", "filetext", "inserttext", "patchtext", "originalfile",
    )
)  # fmt: skip
"""Names of parameters with file contents, ours and those of dialects, in lower case without underscores."""
_SECRET_NAME: Final = re.compile(
    r"pass(?:word|wd|phrase)|secret|api[_-]?key|private[_-]?key|access[_-]?key|credential|authorization|cookie"
    r"|(?:^|[_-])(?:token|auth|pwd)$|(?<=[a-z])Token$",
    re.IGNORECASE,
)
_SECRET_VALUE: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*"
    r"|\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\b(?:sk|pk|rk)[-_][\w-]{16,}"
    r"|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bA(?:KIA|SIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|(?:password|passwd|secret|token|api[_-]?key)\s*[=:]\s*[^\s&;,]+",
    re.IGNORECASE,
)


def summarised(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of arguments that is safe to log.

    File contents are replaced by their length, and values that look like secrets, or whose names do, by `***`; long texts
    and lists are cut. The copy shares nothing with the arguments.
    """
    return _of_mapping(arguments, MAX_DEPTH)


def facts_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scalar values of a result, without contents."""
    return summarised({name: value for name, value in data.items() if not isinstance(value, Mapping | list | tuple)})


def _of_mapping(values: Mapping[str, Any], depth: int) -> dict[str, Any]:
    named = ((str(name)[:MAX_NAME_CHARACTERS], value) for name, value in islice(values.items(), MAX_ITEMS))
    more = {"...": f"{len(values) - MAX_ITEMS} more"} if len(values) > MAX_ITEMS else {}
    return {name: _of_value(name, value, depth) for name, value in named} | more


def _of_value(name: str, value: Any, depth: int) -> Any:
    if value is not None and _SECRET_NAME.search(name):
        return HIDDEN
    if isinstance(value, str):
        return f"<{len(value)} characters>" if name.replace("_", "").lower() in _BODIES else _short(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth == 0:
        return "..."
    if isinstance(value, Mapping):
        return _of_mapping(value, depth - 1)
    if isinstance(value, Sequence):
        more = [f"... {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else []
        return [_of_value("", item, depth - 1) for item in value[:MAX_ITEMS]] + more
    return f"<{type(value).__name__}>"


def _short(text: str) -> str:
    # Cut first so that the patterns never scan megabytes; a secret that crosses the limit is still hidden completely.
    cut = _SECRET_VALUE.sub(HIDDEN, text[: 2 * MAX_CHARACTERS])
    if len(text) <= MAX_CHARACTERS:
        return cut
    return f"{cut[:MAX_CHARACTERS]}... ({len(text)} characters)"


MOST_A_SECOND: Final = 10
MOST_A_CALL: Final = 101
AT_ONCE: Final = 3
"""Number of reports sent without a pause, for short calls."""
SLOWER: Final = 1.05
"""Growth of the pause with each report, so that a long call is reported until its end."""


class Pace:
    """Limits the rate of one call's progress reports.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = -math.inf
        self._count = 0
        self._newest: object = None

    def allows(self, report: object, *, is_last: bool) -> bool:
        """Return True if a report may be sent. One slot is reserved for the last report, which says that all is done."""
        now = self._clock()
        is_free = is_last or self._count < AT_ONCE
        pause = 0 if is_free else SLOWER**self._count / (MOST_A_SECOND - AT_ONCE - 1)
        if report == self._newest or self._count >= MOST_A_CALL - (not is_last) or now - self._last < pause:
            return False
        self._last, self._newest = now, report
        self._count += 1
        return True


MAX_RECORDS: Final = 1000

CallStatus = Literal["running", "completed", "failed", "cancelled"]


class CallRecord(Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    id: str
    """The caller's ID of the call, or a generated one."""
    tool: str
    arguments: Mapping[str, Any]
    """Shortened, without file contents and secrets."""
    status: CallStatus = "running"
    started: float
    """Seconds since the epoch."""
    actor: Actor | None = None
    """The caller."""
    duration_ms: int | None = None
    """None while it runs."""
    approval: str | None = None
    """A person's answer: "allow", "allow_for_run", "denied"; "required" without one; None if nobody was asked."""
    error_code: str | None = None
    attempts: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without the fields that are None."""
        plain = {name: value for name, value in structs.asdict(self).items() if value is not None}
        if self.actor is not None:
            plain["actor"] = self.actor.to_dict()
        return plain


class CallLog:
    """The running calls, and the latest that have ended.

    Args:
        limit: Number of ended calls to keep.
    """

    def __init__(self, limit: int = MAX_RECORDS) -> None:
        self._next = 0
        self._ended: deque[CallRecord] = deque(maxlen=limit)
        self._running: dict[int, tuple[CallRecord, AbortSignal]] = {}

    def __iter__(self) -> Iterator[CallRecord]:
        return iter([*self._ended, *self.running()])

    def begin(self, record: CallRecord, abort: AbortSignal) -> int:
        """Record a new call, and return its number for `finish`.

        Args:
            record: The call.
            abort: The signal that stops it.
        """
        self._next += 1
        self._running[self._next] = record, abort
        return self._next

    def finish(self, number: int, **changes: Any) -> None:
        """Complete the record of a call that has ended."""
        record, _ = self._running.pop(number)
        self._ended.append(structs.replace(record, **changes))

    def running(self) -> list[CallRecord]:
        """Return the running calls, oldest first."""
        return [record for record, _ in self._running.values()]

    def abort(self, call_id: str, by: Actor) -> int:
        """Stop the running calls with an ID, and return their number. They end soon and leave nothing half done.

        Args:
            call_id: ID of the calls.
            by: The requesting actor: a person may stop any call, an agent only calls of its own session.

        Raises:
            AccessDeniedError: The calls belong to other actors.
        """
        found = [(record, signal) for record, signal in self._running.values() if record.id == call_id]
        allowed = [signal for record, signal in found if by.kind == "editor" or _is_same(record.actor, by)]
        if found and not allowed:
            raise AccessDeniedError(call_id, "the call belongs to another actor")
        for signal in allowed:
            signal.abort()
        return len(allowed)

    def abort_all(self) -> None:
        """Stop every call, because nobody is left to receive the results."""
        for _, signal in list(self._running.values()):
            signal.abort()

    def to_json(self) -> str:
        """Return the log as a JSON array: the calls that have ended, in that order, then the running ones."""
        return json.dumps([record.to_dict() for record in self], ensure_ascii=False)


def _is_same(one: Actor | None, other: Actor) -> bool:
    return one is not None and (one.kind, one.id, one.session) == (other.kind, other.id, other.session)


logger = logging.getLogger(__name__)

_APPROVALS: Final = {"APPROVAL_DENIED": "denied", "APPROVAL_REQUIRED": "required"}


class CallReport:
    """Reports one call to the log and the event bus.

    Args:
        log: The log; the record is added at once.
        bus: The bus for its events.
        record: The call.
        abort: The signal that stops it.
        progress: Called with the same values as the event `tool:progress`.
    """

    def __init__(
        self, log: CallLog, bus: EventBus, record: CallRecord, abort: AbortSignal, progress: ReportProgress | None
    ) -> None:
        self._log = log
        self._bus = bus
        self._record = record
        self._progress = progress
        self._started = time.perf_counter()
        self._number = log.begin(record, abort)
        self._pace = Pace()
        self.path: str | None = None
        self.approval: str | None = None

    def accepted(self) -> None:
        """Report that the arguments are valid and the work begins."""
        self._publish(ToolStarted, arguments=self._record.arguments)

    def completed(self, data: Mapping[str, Any], attempts: int) -> None:
        """Report that the call succeeded."""
        duration_ms = self._finish("completed", None, attempts)
        self._publish(ToolCompleted, duration_ms=duration_ms, result=data)

    def failed(self, error: FileToolsError, attempts: int, *, status: CallStatus = "failed") -> None:
        """Report that the call failed or was cancelled."""
        duration_ms = self._finish(status, error.code, attempts)
        facts = {"error": error.message, "error_code": error.code, "retryable": error.retryable}
        self._publish(ToolFailed, **facts, duration_ms=duration_ms)

    def progress(self, current: int, total: int | None, message: str | None) -> None:
        """Report the progress of the call, within the rate limit; the work itself may report as often as it likes."""
        if not self._pace.allows((current, total, message), is_last=total is not None and current >= total):
            return
        self._bus.publish(ToolProgress(tool_call_id=self._record.id, current=current, total=total, message=message))
        if self._progress is not None:
            try:
                self._progress(current, total, message)
            except Exception:  # the callback is foreign code; its errors must not fail the call
                logger.exception("The progress callback of call %s failed", self._record.id)

    def _publish(self, kind: type[ToolStarted | ToolCompleted | ToolFailed], **facts: Any) -> None:
        if self._bus.has_listeners(kind.name):
            facts |= {"result": facts_of(facts["result"])} if "result" in facts else {}
            self._bus.publish(kind(tool_name=self._record.tool, tool_call_id=self._record.id, path=self.path, **facts))

    def _finish(self, status: CallStatus, error_code: str | None, attempts: int) -> int:
        duration_ms = round((time.perf_counter() - self._started) * 1000)
        self._log.finish(
            self._number,
            status=status,
            duration_ms=duration_ms,
            approval=_APPROVALS.get(error_code or "", self.approval),
            error_code=error_code,
            attempts=attempts,
        )
        return duration_ms
