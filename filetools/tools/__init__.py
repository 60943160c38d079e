"""Tools for models: names, schemas, strict arguments, calls that never raise, retries, and the log of it all."""

from __future__ import annotations

from filetools.tools.abort import AbortSignal
from filetools.tools.arguments import NoParameters, Parameters
from filetools.tools.call_log import CallLog, CallRecord
from filetools.tools.deadline import Deadline
from filetools.tools.envelope import failure_envelope, success_envelope
from filetools.tools.files import Files
from filetools.tools.registry import FILE_TOOLS, ToolRegistry
from filetools.tools.retrying import RetryPolicy, retry
from filetools.tools.step_counter import StepCounter
from filetools.tools.tool import AnyTool, Effect, Tool, ToolContext

__all__ = [
    "FILE_TOOLS",
    "AbortSignal",
    "AnyTool",
    "CallLog",
    "CallRecord",
    "Deadline",
    "Effect",
    "Files",
    "NoParameters",
    "Parameters",
    "RetryPolicy",
    "StepCounter",
    "Tool",
    "ToolContext",
    "ToolRegistry",
    "failure_envelope",
    "retry",
    "success_envelope",
]
