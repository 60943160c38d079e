"""The registry: holds tools by name, publishes their definitions, and calls them."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import structs
from msgspec.structs import replace

from filetools.errors import (
    AbortedError,
    CallTimeoutError,
    DirectoryNotFoundError,
    FileToolsError,
    InternalError,
    InvalidArgumentError,
    PathNotFoundError,
    UnknownToolError,
)
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.locks.deadline import Deadline
from filetools.models.result import Result
from filetools.tools.answers.nearby import suggest_paths
from filetools.tools.answers.offered import Names, Offered
from filetools.tools.answers.seen import ShownCall, TextLimits
from filetools.tools.answers.shown import shown, shown_failure
from filetools.tools.arguments import MAX_SHOWN_CHARACTERS, Parameters, meant, nearest_name, read_arguments
from filetools.tools.call_log import CallLog, CallRecord, CallReport, summarised
from filetools.tools.envelope import failure_envelope, news_of, success_envelope
from filetools.tools.handlers.announcing import Announcer
from filetools.tools.handlers.buffers import BUFFERS
from filetools.tools.handlers.changing import CHANGING
from filetools.tools.handlers.context import CONTEXT, RUNS
from filetools.tools.handlers.descriptors import DESCRIPTORS, wrapped
from filetools.tools.handlers.reading import READING
from filetools.tools.handlers.searching import SEARCHING
from filetools.tools.roots import Roots
from filetools.tools.tool import AbortSignal, AnyTool, ReportProgress, ToolContext

FILE_TOOLS: Final[tuple[AnyTool, ...]] = (
    *(replace(tool, is_all_or_nothing=True) for tool in (*READING, *SEARCHING, *CHANGING)),
    *BUFFERS,
    *DESCRIPTORS,
    *CONTEXT,
    *RUNS,
)
"""The file tools; interfaces offer the group "core" by default."""

OWN_NAMES: Final = frozenset(tool.name for tool in FILE_TOOLS)


def chosen(tools: Iterable[AnyTool], wanted: Iterable[str]) -> list[AnyTool]:
    """Return the tools selected by groups and names, each once, in the order of `tools`.

    Args:
        tools: The available tools.
        wanted: Groups and names of tools, as typed by a person.

    Raises:
        InvalidArgumentError: A name is neither a group nor a tool.
    """
    present, names = list(tools), {wanted} if isinstance(wanted, str) else set(wanted)
    known = {tool.group for tool in present} | {tool.name for tool in present}
    for name in sorted(names - known):
        message = f"There is no tool or group named {name!r}; {meant(name, sorted(known))}"
        raise InvalidArgumentError(message, details={"available": sorted(known)})
    return [tool for tool in present if tool.name in names or tool.group in names]


class ToolRegistry:
    """The tools of one actor on one workspace.

    Args:
        files: The facade that handlers work with.
        tools: The initial tools.
        require_version: True if replacing an existing file requires `expected_version`; None means True for agents, whose
            tools have that parameter, because several may share one actor.
        require_read: True if replacing one without `expected_version` requires an actor that has read all of it; for
            interfaces whose tools lack that parameter.
        roots: Folders that handlers may access by absolute paths, the first of them in `files`; news of changed files then
            uses absolute paths, too.
        descriptors: Stores results whose text is too long, to be read in pages; None returns them unchanged.
        log: Log of the calls; registries may share one.
        dialect: Names used in hints for another product's tools; None for our own.
    """

    def __init__(
        self,
        files: FileToolsFacade,
        tools: Iterable[AnyTool] = FILE_TOOLS,
        *,
        require_version: bool | None = None,
        require_read: bool = False,
        roots: Roots | None = None,
        descriptors: DescriptorCalls | None = None,
        log: CallLog | None = None,
        dialect: Names | None = None,
    ) -> None:
        self._tools: dict[str, AnyTool] = {}
        self.log: Final = CallLog() if log is None else log
        is_agent, settings = files.actor.kind == "agent", files.settings
        if require_version is None:
            require_version = is_agent and not require_read
        self.files: Final = files.for_actor(files.actor, require_version=True) if require_version else files
        self.roots: Final = roots
        self.require_read: Final = require_read
        self.descriptors: Final = descriptors
        self.limits: Final = TextLimits(lines=settings.max_text_lines, characters=settings.max_text_characters)
        self.offered: Final = Offered(self._tools, OWN_NAMES, dialect or Names())
        self.announcer: Final = Announcer(files, roots) if is_agent and settings.announce_instructions else None
        for tool in tools:
            self.register(tool)

    def register(self, tool: AnyTool) -> None:
        """Add a tool.

        Raises:
            InvalidArgumentError: A tool with that name exists.
        """
        if tool.name in self._tools:
            raise InvalidArgumentError(f"A tool named {tool.name!r} is registered already")
        self._tools[tool.name] = tool

    def names(self) -> list[str]:
        """Return the names of all tools, in the order they were registered."""
        return list(self._tools)

    def tool(self, name: str) -> AnyTool:
        """Return a tool by its name.

        Raises:
            UnknownToolError: The name is unknown; names all tools and the most similar one.
        """
        found = self._tools.get(name)
        if found is None:
            nearest = self.offered.equivalent(name) or nearest_name(name, self.names())
            raise UnknownToolError(name, self.names(), nearest)
        return found

    def select(self, wanted: Iterable[str] | None = None) -> list[AnyTool]:
        """Return the tools of the given groups and names, each once, in the order of registration; by default all.

        Raises:
            InvalidArgumentError: A name is neither a group nor a tool.
        """
        present = self._tools.values()
        return list(present) if wanted is None else chosen(present, wanted)

    @property
    def workspaces(self) -> FileToolsFacade | Roots:
        """The workspaces whose files the actor may have read."""
        return self.files if self.roots is None else self.roots

    def show(self, name: str, envelope: Mapping[str, Any]) -> ShownCall:
        """Return what a model sees of the envelope of a call.

        Args:
            name: The tool that was called, known or not.
            envelope: The envelope that `call` returned.
        """
        tool = self._tools.get(name)
        if tool is None:
            return shown_failure(envelope, self.limits)
        return shown(tool, envelope, self.limits)

    def definitions(self, wanted: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return `name`, `description` and `input_schema` of the selected tools; arguments as for `select`."""
        return [tool.definition() for tool in self.select(wanted)]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        tool_call_id: str | None = None,
        abort: AbortSignal | None = None,
        progress: ReportProgress | None = None,
    ) -> dict[str, Any]:
        """Call a tool and return its envelope. Never raises, except CancelledError when the caller is cancelled.

        A call that is aborted or times out has ended when this returns: its locks are released, and nothing is half written.

        Args:
            name: Name of the tool.
            arguments: JSON object; synonyms of parameters, and nulls for optional ones, are accepted.
            tool_call_id: The caller's ID of the call, used in the journal, the log and the events.
            abort: Stops the call.
            progress: Called with current, total and message of long work.

        Returns:
            `{"success": True, "data": …, "warnings": […]}`, or `{"success": False, "error", "error_code", "retryable",
            "suggested_action", "details", "attempts"}`; warnings and suggested_action only if there are any. If others have
            changed files that the actor has read, also `changed_since_read`: path, by, version of each. On an agent's first
            successful look into a folder below the root, `instructions`: paths of the instruction files there.
        """
        call_id = tool_call_id or f"call-{secrets.token_hex(8)}"
        shown = str(name)[:MAX_SHOWN_CHARACTERS]
        call = ToolCall(self, shown, call_id, arguments, abort=abort, progress=progress)
        return await call.run()


logger = logging.getLogger(__name__)

PAUSES_SECONDS: Final = (1, 2, 4)
"""Pauses before retries of a call that failed for lack of a system resource, such as too many open files."""
_SHORTAGES: Final = frozenset(("NETWORK_ERROR", "RATE_LIMITED"))
_UNCHANGED: Final = "Nothing was changed; repeat the call if it is still wanted."
_LOOK_FIRST: Final = "The change may have been made: check before repeating the call."


class ToolCall:
    """One call. Use once.

    Args:
        registry: The registry that was called.
        name: The requested tool, known or not.
        call_id: ID of the call in log, events and journal.
        arguments: The arguments as sent.
        abort: Stops it.
        progress: Called with the same values as the event `tool:progress`.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        name: str,
        call_id: str,
        arguments: object,
        *,
        abort: AbortSignal | None,
        progress: ReportProgress | None,
    ) -> None:
        self._registry = registry
        self._name = name
        self._id = call_id
        self._arguments = arguments
        self._abort = abort or AbortSignal()  # lets the log stop a call without a signal
        logged = summarised(arguments) if isinstance(arguments, Mapping) else {}
        record = CallRecord(id=call_id, tool=name, arguments=logged, started=time.time(), actor=registry.files.actor)
        self._report = CallReport(registry.log, registry.files.bus, record, self._abort, progress)
        self._attempts = 1
        self._parameters: Parameters | None = None
        self._repairs: tuple[str, ...] = ()

    async def run(self) -> dict[str, Any]:
        """Return the envelope of the call; raises nothing but CancelledError."""
        envelope = await self._enveloped()
        if self._registry.descriptors is not None and envelope["success"]:
            tool, limits = self._registry.tool(self._name), self._registry.limits
            envelope = await wrapped(tool, self._parameters, envelope, self._registry.descriptors, limits)
        if self._repairs and envelope["success"]:
            repaired = {"code": "REPAIRED", "message": f"Arguments: {'; '.join(self._repairs)}"}
            envelope["warnings"] = [repaired, *envelope.get("warnings", ())]
        if self._registry.announcer is not None and self._parameters is not None and envelope["success"]:
            envelope |= await self._registry.announcer.news(self._registry.tool(self._name), self._parameters)
        return envelope | news_of(self._registry.workspaces.changed_since_read())

    async def _enveloped(self) -> dict[str, Any]:
        try:
            envelope = success_envelope(await self._perform())
            envelope["data"] = self._registry.offered.rephrased(envelope["data"])
        except asyncio.CancelledError:
            self._report.failed(AbortedError(self._name), self._attempts, status="cancelled")
            raise
        except FileToolsError as error:
            return self._failed(error)
        except Exception:  # handlers may be foreign code; their exceptions must not reach the caller
            logger.exception("Tool %s failed unexpectedly in call %s", self._name, self._id)
            message = f"{self._name} failed unexpectedly; the log says why"
            return self._failed(InternalError(message, details={"call_id": self._id}))
        self._report.completed(envelope["data"], self._attempts)
        return envelope

    async def _perform(self) -> Result | Mapping[str, Any]:
        tool = self._registry.tool(self._name)
        parameters, self._repairs = read_arguments(tool.parameters, self._arguments)
        self._parameters = parameters
        self._report.path = parameters.about()
        if self._abort.is_aborted():
            raise AbortedError(self._name)
        self._report.accepted()
        await self._registry.workspaces.recall()
        try:
            return await self._within_limit(tool, parameters)
        except (CallTimeoutError, AbortedError) as error:
            if tool.effect != "read" and error.suggested_action == error.action:
                error.suggested_action = _UNCHANGED if tool.is_all_or_nothing else _LOOK_FIRST
            raise
        except (PathNotFoundError, DirectoryNotFoundError) as error:
            # Most dialects use their own messages for failures.
            if tool.present is None or self._registry.offered.names.suggests_paths:
                await suggest_paths(self._registry.files, error)
            raise
        except FileToolsError as error:
            error.suggested_action = tool.actions.get(error.code, error.suggested_action)
            raise

    async def _within_limit(self, tool: AnyTool, parameters: Parameters) -> Result | Mapping[str, Any]:
        limit = tool.time_limit_seconds or self._registry.files.settings.tool_timeout_seconds
        deadline = Deadline(tool.name, limit)
        self._abort.add_callback(deadline.abort)
        try:
            if self._abort.is_aborted():  # set meanwhile; callbacks added afterwards never run
                raise AbortedError(self._name)
            async with deadline:
                return await self._attempted(tool, self._context(), parameters)
        finally:
            self._report.approval = deadline.approval

    def _context(self) -> ToolContext:
        files, roots = self._registry.files, self._registry.roots
        actor = structs.replace(files.actor, call=self._id)
        served = None if roots is None else roots.for_actor(actor)
        return ToolContext(
            files=files.for_actor(actor) if served is None else served.first.files,
            served=served,
            report=self._report.progress,
            abort=self._abort,
            require_read=self._registry.require_read,
            kept=self._registry.descriptors,
        )

    async def _attempted(
        self, tool: AnyTool, context: ToolContext, parameters: Parameters
    ) -> Result | Mapping[str, Any]:
        # Other retryable errors are left to the caller: the facade has already waited for locks and busy files.
        for pause in PAUSES_SECONDS:
            try:
                return await tool.handler(context, parameters)
            except FileToolsError as error:
                if error.code not in _SHORTAGES:
                    raise
            await asyncio.sleep(pause)
            self._attempts += 1
        return await tool.handler(context, parameters)

    def _failed(self, error: FileToolsError) -> dict[str, Any]:
        if isinstance(self._arguments, Mapping) and "fd" in self._arguments:  # the frames of all errors name it
            error.details.setdefault("fd", str(self._arguments["fd"]))
        self._registry.offered.rephrase(error, self._name)
        self._report.failed(error, self._attempts)
        return failure_envelope(error, self._attempts)
