"""The registry: holds tools by name, publishes their definitions, and calls them."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct, field, structs
from msgspec.structs import replace

from filetools.errors import (
    AbortedError,
    CallTimeoutError,
    DirectoryNotFoundError,
    FileToolsError,
    InternalError,
    InvalidArgumentError,
    PathNotFoundError,
    ToolBlockedError,
    UnknownToolError,
)
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.models.result import Result
from filetools.permissions.call_watch import watched
from filetools.tools.answers.nearby import suggest_paths
from filetools.tools.answers.offered import Names, Offered
from filetools.tools.answers.seen import ShownCall, TextLimits
from filetools.tools.answers.shown import shown, shown_failure
from filetools.tools.arguments import MAX_SHOWN_CHARACTERS, Parameters, nearest_name, read_arguments
from filetools.tools.call_log import CallLog, CallReport
from filetools.tools.deadline import WARNING_SHARE, AbortSignal, Deadline
from filetools.tools.envelope import failure_envelope, news_of, success_envelope
from filetools.tools.handlers.announcing import Announcer
from filetools.tools.handlers.buffers import BUFFERS
from filetools.tools.handlers.changing import CHANGING
from filetools.tools.handlers.context import CONTEXT, RUNS
from filetools.tools.handlers.descriptors import DESCRIPTORS, OneFd, wrapped
from filetools.tools.handlers.reading import READING
from filetools.tools.handlers.searching import SEARCHING
from filetools.tools.roots import Roots
from filetools.tools.tool import AnyTool, ReportPart, ReportProgress, ToolContext

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
        nearest = nearest_name(name, sorted(known))
        hint = f"did you mean {nearest!r}?" if nearest else f"known are {', '.join(sorted(known))}"
        message = f"There is no tool and no group of tools named {name!r}; {hint}"
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
        self.log = CallLog() if log is None else log
        if require_version is None:
            require_version = files.actor.kind == "agent" and not require_read
        is_told = files.actor.kind == "agent" and files.settings.announce_instructions
        self._desk = CallDesk(
            files=files.for_actor(files.actor, require_version=True) if require_version else files,
            find=self.tool,
            log=self.log,
            offered=Offered(self._tools, OWN_NAMES, dialect or Names()),
            require_read=require_read,
            roots=roots,
            announcer=Announcer(files, roots) if is_told else None,
            descriptors=descriptors,
            limits=TextLimits(lines=files.settings.max_text_lines, characters=files.settings.max_text_characters),
        )
        for tool in tools:
            self.register(tool)

    def register(self, tool: AnyTool) -> None:
        """Add a tool.

        Raises:
            InvalidArgumentError: A tool with that name exists.
        """
        if tool.name in self._tools:
            raise InvalidArgumentError(f"There is a tool named {tool.name!r} already")
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
            meant = self._desk.offered.meant(name) or nearest_name(name, self.names())
            raise UnknownToolError(name, self.names(), meant)
        return found

    def select(self, wanted: Iterable[str] | None = None) -> list[AnyTool]:
        """Return the tools of the given groups and names, each once, in the order of registration; by default all.

        Raises:
            InvalidArgumentError: A name is neither a group nor a tool.
        """
        present = self._tools.values()
        return list(present) if wanted is None else chosen(present, wanted)

    @property
    def descriptors(self) -> DescriptorCalls | None:
        """Stores results that are too long; None if they are returned unchanged."""
        return self._desk.descriptors

    @property
    def limits(self) -> TextLimits:
        """Maximum amount of text that a model receives at once."""
        return self._desk.limits

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
        partial: ReportPart | None = None,
    ) -> dict[str, Any]:
        """Call a tool and return its envelope. Never raises, except CancelledError when the caller is cancelled.

        A call that is aborted or times out has ended when this returns: its locks are released, and nothing is half written.

        Args:
            name: Name of the tool.
            arguments: JSON object; synonyms of parameters, and nulls for optional ones, are accepted.
            tool_call_id: The caller's ID of the call, used in the journal, the log and the events.
            abort: Stops the call.
            progress: Called with current, total and message of long work.
            partial: Called with the first rows of a long result; the complete result repeats them.

        Returns:
            `{"success": True, "data": …, "warnings": […]}`, or `{"success": False, "error", "error_code", "retryable",
            "suggested_action", "details", "attempts"}`; warnings and suggested_action only if there are any. If others have
            changed files that the actor has read, also `changed_since_read`: path, by, version of each. On an agent's first
            successful look into a folder below the root, `instructions`: paths of the instruction files there.
        """
        call_id = tool_call_id or f"call-{secrets.token_hex(8)}"
        shown = str(name)[:MAX_SHOWN_CHARACTERS]
        return await ToolCall(self._desk, shown, call_id, abort=abort, progress=progress, partial=partial).run(
            arguments
        )


logger = logging.getLogger(__name__)

PAUSES_SECONDS: Final = (1, 2, 4)
"""Pauses before retries of a call that failed for lack of a system resource, such as too many open files."""
_SHORTAGES: Final = frozenset(("NETWORK_ERROR", "RATE_LIMITED"))
_UNCHANGED: Final = "Nothing was changed; repeat the call if it is still wanted."
_LOOK_FIRST: Final = "The change may have been made all the same: look before repeating the call."


class CallDesk(Struct, frozen=True, kw_only=True):
    """Objects that all calls of a registry share."""

    files: FileToolsFacade
    find: Callable[[str], AnyTool]
    log: CallLog
    offered: Offered
    """Rewrites hints for the offered tools."""
    require_read: bool
    descriptors: DescriptorCalls | None = None
    """Stores results that are too long; None returns them unchanged."""
    limits: TextLimits = field(default_factory=TextLimits)
    """Maximum amount of text that a model receives at once."""
    roots: Roots | None = None
    """The folders served by absolute paths; `files` is the first."""
    announcer: Announcer | None = None
    """Reports instruction files; None for callers that do not receive them."""

    @property
    def known(self) -> FileToolsFacade | Roots:
        """The workspaces whose files the actor may have read."""
        return self.files if self.roots is None else self.roots


class ToolCall:
    """One call. Use once.

    Args:
        desk: The objects shared with other calls.
        name: The requested tool, known or not.
        call_id: ID of the call in log, events and journal.
        abort: Stops it.
        progress: Called with the same values as the event `tool:progress`.
        partial: Called with the first rows of a long result.
    """

    def __init__(
        self,
        desk: CallDesk,
        name: str,
        call_id: str,
        *,
        abort: AbortSignal | None,
        progress: ReportProgress | None,
        partial: ReportPart | None = None,
    ) -> None:
        self._desk = desk
        self._name = name
        self._id = call_id
        self._partial = partial
        self._abort = abort or AbortSignal()  # lets the log stop a call without a signal
        self._report = CallReport(desk.log, desk.files.bus, name, call_id, progress=progress)
        self._attempts = 1
        self._parameters: Parameters | None = None
        self._repairs: tuple[str, ...] = ()

    async def run(self, arguments: object) -> dict[str, Any]:
        """Return the envelope of the call; raises nothing but CancelledError."""
        envelope = await self._enveloped(arguments)
        if self._desk.descriptors is not None and envelope["success"]:
            tool, limits = self._desk.find(self._name), self._desk.limits
            envelope = await wrapped(tool, self._parameters, envelope, self._desk.descriptors, limits)
        if self._repairs and envelope["success"]:
            told = {"code": "REPAIRED", "message": f"Arguments: {'; '.join(self._repairs)}"}
            envelope["warnings"] = [told, *envelope.get("warnings", ())]
        if self._desk.announcer is not None and self._parameters is not None and envelope["success"]:
            envelope |= await self._desk.announcer.news(self._desk.find(self._name), self._parameters)
        return envelope | news_of(self._desk.known.changed_since_read())

    async def _enveloped(self, arguments: object) -> dict[str, Any]:
        self._report.begin(arguments, self._desk.files.actor, self._abort)
        try:
            envelope = success_envelope(await self._perform(arguments))
            envelope["data"] = self._desk.offered.rephrased(envelope["data"])
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

    async def _perform(self, arguments: object) -> Result | Mapping[str, Any]:
        tool = self._desk.find(self._name)
        try:
            parameters, self._repairs = read_arguments(tool.parameters, arguments)
        except InvalidArgumentError as error:
            if isinstance(arguments, Mapping) and issubclass(tool.parameters, OneFd):
                error.details["fd"] = str(arguments.get("fd", ""))
            raise
        self._parameters = parameters
        self._report.path = parameters.about()
        if tool.level == "block":
            raise ToolBlockedError(tool.name, self._report.path, "this tool is switched off")
        if self._abort.is_aborted():
            raise AbortedError(self._name)
        self._report.accepted()
        await self._desk.known.recall()
        try:
            return await self._within_limit(tool, parameters)
        except (CallTimeoutError, AbortedError) as error:
            if tool.effect != "read" and error.suggested_action == error.action:
                error.suggested_action = _UNCHANGED if tool.is_all_or_nothing else _LOOK_FIRST
            raise
        except (PathNotFoundError, DirectoryNotFoundError) as error:
            # Most dialects use their own messages for failures.
            if tool.present is None or self._desk.offered.suggests_paths:
                await suggest_paths(self._desk.files, error)
            raise

    async def _within_limit(self, tool: AnyTool, parameters: Parameters) -> Result | Mapping[str, Any]:
        limit = tool.time_limit_seconds or self._desk.files.settings.tool_timeout_seconds
        deadline = Deadline(tool.name, limit, lambda: self._report.warn(limit, limit * WARNING_SHARE))
        self._abort.add_callback(deadline.abort)
        try:
            if self._abort.is_aborted():  # set meanwhile; callbacks added afterwards never run
                raise AbortedError(self._name)
            with watched(deadline):
                async with deadline:
                    return await self._attempted(tool, self._context(), parameters)
        finally:
            self._report.approval = deadline.approval
            self._abort.remove_callback(deadline.abort)

    def _context(self) -> ToolContext:
        files, roots = self._desk.files, self._desk.roots
        actor = structs.replace(files.actor, call=self._id)
        served = None if roots is None else roots.for_actor(actor)
        return ToolContext(
            files=files.for_actor(actor) if served is None else served.first.files,
            served=served,
            call_id=self._id,
            report=self._report.progress,
            abort=self._abort,
            require_read=self._desk.require_read,
            # If the result becomes a descriptor, rows sent early would be sent twice.
            partial=None if self._partial is None or self._desk.descriptors is not None else self._tell_part,
            kept=self._desk.descriptors,
        )

    def _tell_part(self, part: Result) -> None:
        try:
            if self._partial is not None:
                self._partial(part)
        except Exception:  # the callback is foreign code; its errors must not fail the call
            logger.exception("The callback for parts of call %s failed", self._id)

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
        self._desk.offered.rephrase(error, self._name)
        self._report.failed(error, self._attempts)
        return failure_envelope(error, self._attempts)
