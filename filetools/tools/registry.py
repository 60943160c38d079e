"""The registry: every tool of the product by name, what doors publish of it, and the one way to call it."""

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
"""The tools over files; those of the group "core" are what doors offer by default."""

OWN_NAMES: Final = frozenset(tool.name for tool in FILE_TOOLS)


def chosen(tools: Iterable[AnyTool], wanted: Iterable[str]) -> list[AnyTool]:
    """Return the tools that a list of groups and names asks for, each once, in the order they are given.

    Args:
        tools: What there is.
        wanted: Groups and names of tools, as a person types them.

    Raises:
        InvalidArgumentError: There is no group and no tool of a name.
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
    """The tools of one actor on one workspace; lives as long as the actor's facade.

    Args:
        files: The facade that handlers work with.
        tools: Tools to begin with.
        require_version: Whether replacing an existing file needs `expected_version`; None is yes for agents, whose tools
            have that parameter, as several may share one actor.
        require_read: Whether replacing one without `expected_version` needs an actor that has read all of it; for doors
            whose tools have no such parameter.
        roots: Folders that handlers may reach by absolute paths, the first of them in `files`; news of changed files
            are then told by absolute paths, too.
        descriptors: Where results whose text is too long are kept, to be read in pages; None leaves them as they are.
        log: Where calls are logged; registries may share one.
        dialect: How hints name the tools of another product; None for our own.
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
            InvalidArgumentError: There is one of that name.
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
            UnknownToolError: There is none; names all there are, and the nearest.
        """
        found = self._tools.get(name)
        if found is None:
            meant = self._desk.offered.meant(name) or nearest_name(name, self.names())
            raise UnknownToolError(name, self.names(), meant)
        return found

    def select(self, wanted: Iterable[str] | None = None) -> list[AnyTool]:
        """Return the tools of these groups and names, each once, in the order they were registered; by default all.

        Raises:
            InvalidArgumentError: There is no tool and no group of a name.
        """
        present = self._tools.values()
        return list(present) if wanted is None else chosen(present, wanted)

    @property
    def descriptors(self) -> DescriptorCalls | None:
        """Where results go that are too long; None if they stay as they are."""
        return self._desk.descriptors

    @property
    def limits(self) -> TextLimits:
        """Most of a text that a model gets at once."""
        return self._desk.limits

    def show(self, name: str, envelope: Mapping[str, Any]) -> ShownCall:
        """Return what a model gets to see of the envelope that a call of a tool returned.

        Args:
            name: The tool that was called, known or not.
            envelope: What `call` returned.
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
        """Call a tool and return its envelope; never raises, except CancelledError when the caller is cancelled.

        A call that is aborted or out of time ends before this returns: its locks are free, nothing is half written.

        Args:
            name: Name of the tool.
            arguments: JSON object; other names of parameters, and nulls for optional ones, are understood.
            tool_call_id: The caller's id; the same id stands in the journal, the log and the events.
            abort: Stops the call.
            progress: Called with current, total, message of long work.
            partial: Called with the first rows of a long result; the whole one has them again.

        Returns:
            `{"success": True, "data": …, "warnings": […]}`, or `{"success": False, "error", "error_code", "retryable",
            "suggested_action", "details", "attempts"}`; warnings and suggested_action only where there are any. Where
            others have changed files that the actor knows, also `changed_since_read`: path, by, version of each. At an
            agent's first successful look into a folder below the root, `instructions`: paths of the instruction files there.
        """
        call_id = tool_call_id or f"call-{secrets.token_hex(8)}"
        shown = str(name)[:MAX_SHOWN_CHARACTERS]
        return await ToolCall(self._desk, shown, call_id, abort=abort, progress=progress, partial=partial).run(
            arguments
        )


logger = logging.getLogger(__name__)

PAUSES_SECONDS: Final = (1, 2, 4)
"""Before a call is tried again that met a shortage of the machine, such as too many open files."""
_SHORTAGES: Final = frozenset(("NETWORK_ERROR", "RATE_LIMITED"))
_UNCHANGED: Final = "Nothing was changed; repeat the call if it is still wanted."
_LOOK_FIRST: Final = "The change may have been made all the same: look before repeating the call."


class CallDesk(Struct, frozen=True, kw_only=True):
    """What all calls of a registry share."""

    files: FileToolsFacade
    find: Callable[[str], AnyTool]
    log: CallLog
    offered: Offered
    """How hints name what the caller can do."""
    require_read: bool
    descriptors: DescriptorCalls | None = None
    """Where results go that are too long; None leaves them as they are."""
    limits: TextLimits = field(default_factory=TextLimits)
    """Most of a text that a model gets at once."""
    roots: Roots | None = None
    """What is served by absolute paths; `files` is the first of it."""
    announcer: Announcer | None = None
    """Tells of instruction files; None for callers that are not told."""

    @property
    def known(self) -> FileToolsFacade | Roots:
        """What the actor may know files of."""
        return self.files if self.roots is None else self.roots


class ToolCall:
    """One call. Used once.

    Args:
        desk: What it shares with other calls.
        name: The tool asked for, known or not.
        call_id: Id under which log, events and journal know it.
        abort: Stops it.
        progress: Told what `tool:progress` tells.
        partial: Told the first rows of a long result.
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
        self._abort = abort or AbortSignal()  # the log can stop a call that came without one
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
        except Exception:  # handlers are foreign code too; what they raise must reach neither the model nor the door
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
            # Most dialects tell of failures in words of their own.
            if tool.present is None or self._desk.offered.suggests_paths:
                await suggest_paths(self._desk.files, error)
            raise

    async def _within_limit(self, tool: AnyTool, parameters: Parameters) -> Result | Mapping[str, Any]:
        limit = tool.time_limit_seconds or self._desk.files.settings.tool_timeout_seconds
        deadline = Deadline(tool.name, limit, lambda: self._report.warn(limit, limit * WARNING_SHARE))
        self._abort.add_callback(deadline.abort)
        try:
            if self._abort.is_aborted():  # since the work was told to begin; a signal that is set calls nobody back
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
            # Rows that are told at once would travel twice where the whole result becomes a descriptor.
            partial=None if self._partial is None or self._desk.descriptors is not None else self._tell_part,
            kept=self._desk.descriptors,
        )

    def _tell_part(self, part: Result) -> None:
        try:
            if self._partial is not None:
                self._partial(part)
        except Exception:  # a caller's callback is foreign code, and must not fail the work it follows
            logger.exception("The callback for parts of call %s failed", self._id)

    async def _attempted(
        self, tool: AnyTool, context: ToolContext, parameters: Parameters
    ) -> Result | Mapping[str, Any]:
        # Other retryable errors are the caller's to repeat: the facade has waited for locks and busy files already.
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
