"""Tools for models: names, schemas, strict arguments, calls that never raise, retries, and the log of it all."""

from __future__ import annotations

from filetools.tools.abort import AbortSignal
from filetools.tools.arguments import NoParameters, Parameters, nearest_name
from filetools.tools.bodies import bounded
from filetools.tools.call_log import CallLog, CallRecord
from filetools.tools.clipping import TextLimits
from filetools.tools.deadline import Deadline
from filetools.tools.descriptors import GROUP as DESCRIPTOR_GROUP
from filetools.tools.descriptors import descriptors_for
from filetools.tools.envelope import failure_envelope, success_envelope
from filetools.tools.execution import Execution, ParsingRuns, execute
from filetools.tools.files import DescriptorTable, Files
from filetools.tools.media import FileLink, Medium
from filetools.tools.registry import FILE_TOOLS, ToolRegistry, chosen
from filetools.tools.retrying import RetryPolicy, retry
from filetools.tools.roots import Place, Root, Roots
from filetools.tools.schemas import output_schema
from filetools.tools.seen import Shown
from filetools.tools.shown import has_schema, shown, shown_failure
from filetools.tools.step_counter import StepCounter
from filetools.tools.tool import AnyTool, Effect, Published, Tool, ToolContext

__all__ = [
    "DESCRIPTOR_GROUP",
    "FILE_TOOLS",
    "AbortSignal",
    "AnyTool",
    "CallLog",
    "CallRecord",
    "Deadline",
    "DescriptorTable",
    "Effect",
    "Execution",
    "FileLink",
    "Files",
    "Medium",
    "NoParameters",
    "Parameters",
    "ParsingRuns",
    "Place",
    "Published",
    "RetryPolicy",
    "Root",
    "Roots",
    "Shown",
    "StepCounter",
    "TextLimits",
    "Tool",
    "ToolContext",
    "ToolRegistry",
    "bounded",
    "chosen",
    "descriptors_for",
    "execute",
    "failure_envelope",
    "has_schema",
    "nearest_name",
    "output_schema",
    "retry",
    "shown",
    "shown_failure",
    "success_envelope",
]
