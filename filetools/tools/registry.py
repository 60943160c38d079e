"""The registry: every tool of the product by name, what doors publish of it, and the one way to call it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from filetools.errors import InvalidArgumentError, UnknownToolError
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.tools.announcing import Announcer
from filetools.tools.arguments import MAX_SHOWN_CHARACTERS, nearest_name
from filetools.tools.buffers import BUFFERS
from filetools.tools.call import CallDesk, ToolCall
from filetools.tools.call_log import CallLog
from filetools.tools.changing import CHANGING
from filetools.tools.context import CONTEXT, RUNS
from filetools.tools.deadline import AbortSignal
from filetools.tools.descriptors import DESCRIPTORS
from filetools.tools.offered import Names, Offered
from filetools.tools.reading import READING
from filetools.tools.roots import Roots
from filetools.tools.searching import SEARCHING
from filetools.tools.seen import ShownCall, TextLimits
from filetools.tools.shown import shown, shown_failure
from filetools.tools.tool import AnyTool, ReportPart, ReportProgress

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
