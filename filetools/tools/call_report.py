"""What one call leaves behind: its row in the log and its events."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, Final

from filetools.errors import FileToolsError
from filetools.events.activity import ToolCompleted, ToolFailed, ToolProgress, ToolStarted
from filetools.events.bus import EventBus
from filetools.models.records import Actor
from filetools.tools.abort import AbortSignal
from filetools.tools.call_log import CallLog, CallRecord, CallStatus
from filetools.tools.pace import Pace
from filetools.tools.redaction import facts_of, summarised
from filetools.tools.tool import ReportProgress

logger = logging.getLogger(__name__)

_APPROVALS: Final = {"APPROVAL_DENIED": "denied", "APPROVAL_REQUIRED": "required"}


class CallReport:
    """Tells log and bus about one call; lives as long as the call.

    Args:
        log: Where its row is.
        bus: Carries its events.
        tool: Name of the tool asked for, known or not.
        call_id: Id of the call.
        progress: Told what `tool:progress` tells.
    """

    def __init__(
        self, log: CallLog, bus: EventBus, tool: str, call_id: str, *, progress: ReportProgress | None
    ) -> None:
        self._log = log
        self._bus = bus
        self._tool = tool
        self._id = call_id
        self._progress = progress
        self._started = time.perf_counter()
        self._arguments: Mapping[str, Any] = {}
        self._row = 0
        self._pace = Pace()
        self.path: str | None = None
        self.approval: str | None = None

    def begin(self, arguments: object, actor: Actor, abort: AbortSignal) -> None:
        """Note that the call arrived, whose it is, and what stops it."""
        self._arguments = summarised(arguments) if isinstance(arguments, Mapping) else {}
        record = CallRecord(id=self._id, tool=self._tool, arguments=self._arguments, started=time.time(), actor=actor)
        self._row = self._log.begin(record, abort)

    def accepted(self) -> None:
        """Tell that the arguments are good and the work begins."""
        if not self._bus.has_listeners(ToolStarted.name):
            return
        self._bus.publish(
            ToolStarted(tool_name=self._tool, tool_call_id=self._id, path=self.path, arguments=self._arguments)
        )

    def completed(self, data: Mapping[str, Any], attempts: int) -> None:
        """Tell that the call succeeded."""
        duration_ms = self._finish("completed", None, attempts)
        if not self._bus.has_listeners(ToolCompleted.name):
            return
        self._bus.publish(
            ToolCompleted(
                tool_name=self._tool,
                tool_call_id=self._id,
                path=self.path,
                duration_ms=duration_ms,
                result=facts_of(data),
            )
        )

    def failed(self, error: FileToolsError, attempts: int, *, status: CallStatus = "failed") -> None:
        """Tell that the call failed, or was cancelled."""
        duration_ms = self._finish(status, error.code, attempts)
        self._bus.publish(
            ToolFailed(
                tool_name=self._tool,
                tool_call_id=self._id,
                path=self.path,
                error=error.message,
                error_code=error.code,
                retryable=error.retryable,
                duration_ms=duration_ms,
            )
        )

    def progress(self, current: int, total: int | None, message: str | None) -> None:
        """Tell how far the call is, unless that has been told often enough: work reports as it likes."""
        if not self._pace.allows((current, total, message), is_last=total is not None and current >= total):
            return
        self._bus.publish(ToolProgress(tool_call_id=self._id, current=current, total=total, message=message))
        if self._progress is not None:
            try:
                self._progress(current, total, message)
            except Exception:  # a caller's callback is foreign code, and must not fail the work it follows
                logger.exception("The progress callback of call %s failed", self._id)

    def warn(self, limit_seconds: float, used_seconds: float) -> None:
        """Tell that the call comes near its time limit."""
        message = f"{self._tool} has used {used_seconds:g} of its {limit_seconds:g} seconds"
        self.progress(round(used_seconds), round(limit_seconds), message)

    def _finish(self, status: CallStatus, error_code: str | None, attempts: int) -> int:
        duration_ms = round((time.perf_counter() - self._started) * 1000)
        self._log.finish(
            self._row,
            status=status,
            duration_ms=duration_ms,
            approval=_APPROVALS.get(error_code or "", self.approval),
            error_code=error_code,
            attempts=attempts,
        )
        return duration_ms
