"""What a dialect is: the tools of somebody else's product, by their names and in their shapes, on our engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from filetools.facade.facade import FileToolsFacade
from filetools.tools.call_log import CallLog
from filetools.tools.offered import Names
from filetools.tools.registry import ToolRegistry
from filetools.tools.roots import Roots
from filetools.tools.tool import AnyTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A set of tools that models or programs know from elsewhere. Their group is the name of the dialect."""

    name: str
    tools: tuple[AnyTool, ...]
    instructions: str | None = None
    """What a client is told of all of them together."""
    require_read: bool = True
    """Whether replacing a file needs an actor that has read all of it: for tools that cannot name a version."""
    takes_absolute_paths: bool = False
    """Whether its paths are those of the machine, inside a root."""
    takes_several_roots: bool = False
    """Whether one set of its tools serves several roots."""
    hosted: Mapping[str, Any] | None = None
    """What a provider that knows the tools by itself wants in place of their definitions."""
    called: Mapping[str, str] = field(default_factory=dict)
    """Our own tools, as hints name them, that it has by another name."""
    actions: Mapping[str, str] = field(default_factory=dict)
    """What it says to do next, by the code of an error."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the usual ones where nobody has set them."""

    def registry(
        self,
        *files: FileToolsFacade,
        roots: Roots | None = None,
        tools: Iterable[AnyTool] | None = None,
        log: CallLog | None = None,
    ) -> ToolRegistry:
        """Return the tools of one actor.

        Args:
            files: The workspace, or the workspaces, of the actor.
            roots: What of them is served, if that is not all.
            tools: Those to offer, if not all.
            log: Where calls are logged.
        """
        served = roots or (Roots.of(*files) if self.takes_absolute_paths else None)
        first = files[0] if served is None else served.first.files
        offered = self.tools if tools is None else tools
        names = Names(all=frozenset(tool.name for tool in self.tools), called=self.called, actions=self.actions)
        return ToolRegistry(
            first, offered, require_version=False, require_read=self.require_read, roots=served, log=log, dialect=names
        )
