"""Tools for models: names, schemas, strict arguments, calls that never raise, retries, and the log of it all."""

from __future__ import annotations

from filetools.tools.abort import AbortSignal
from filetools.tools.arguments import NoParameters, Parameters
from filetools.tools.call_log import CallLog, CallRecord
from filetools.tools.clipping import TextLimits
from filetools.tools.deadline import Deadline
from filetools.tools.envelope import failure_envelope, success_envelope
from filetools.tools.files import Files
from filetools.tools.media import FileLink, Medium
from filetools.tools.registry import FILE_TOOLS, ToolRegistry, chosen
from filetools.tools.retrying import RetryPolicy, retry
from filetools.tools.schemas import output_schema
from filetools.tools.shown import Shown, has_schema, shown
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
    "FileLink",
    "Files",
    "Medium",
    "NoParameters",
    "Parameters",
    "RetryPolicy",
    "Shown",
    "StepCounter",
    "TextLimits",
    "Tool",
    "ToolContext",
    "ToolRegistry",
    "chosen",
    "failure_envelope",
    "has_schema",
    "output_schema",
    "retry",
    "shown",
    "success_envelope",
]
