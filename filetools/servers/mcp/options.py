"""Options of an MCP server, which are the operator's decision and not the client's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from filetools.errors import InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.tools.call_log import CallLog
from filetools.tools.dialects import Dialect
from filetools.tools.handlers.descriptors import descriptors_for
from filetools.tools.registry import FILE_TOOLS, ToolRegistry, chosen
from filetools.tools.roots import Roots
from filetools.tools.tool import AnyTool

DEFAULT_GROUP = "core"
EDITOR_GROUP = "editor"


class McpOptions(Struct, frozen=True, kw_only=True):
    """Options of one MCP server."""

    tools: tuple[str, ...] | None = None
    """Names of groups and tools; None selects the group "core", or all tools of the dialect."""
    dialect: Dialect | None = None
    """The dialect of the tools' names and schemas; None for our own."""
    is_editor: bool = False
    """True if the client is an editor used by a person: its calls are the person's, and it gets the group "editor"."""
    only_reads: bool = False
    """True to leave out tools that change something; refusing such calls is the job of the permissions."""
    structured: bool = False
    """True to also return results as JSON with an output schema, for programs."""
    is_deferred: bool = False
    """True to let clients that load tools on demand do so with the file tools, too."""
    asks: bool = True
    """True to send questions to the person at the client, which is trusted to show them."""
    is_shared: bool = False
    """True if clients connect over a network; the IDs of their descriptors are then random and expire."""
    session: str | None = None
    """Session of requests that name none, for a client over standard streams; None creates one for the server."""
    file_root: Path | None = None
    """The root, if `file://` URIs below it are supported; for clients on the same machine."""

    @property
    def kind(self) -> Literal["agent", "editor"]:
        """The actor kind of the clients."""
        return "editor" if self.is_editor else "agent"

    def selected(self) -> list[AnyTool]:
        """Return the tools that the server offers.

        Raises:
            InvalidArgumentError: A name is neither a group nor a tool, or the dialect does not support an option.
        """
        if self.dialect is not None:
            if self.is_editor or self.structured:
                what = "the tools of editors" if self.is_editor else "results as JSON"
                raise InvalidArgumentError(f"The dialect {self.dialect.name!r} does not support {what}")
            present, wanted = self.dialect.tools, self.tools or (self.dialect.name,)
        else:
            present, wanted = FILE_TOOLS, self.tools or (DEFAULT_GROUP,)
        if self.is_editor:
            wanted = (*wanted, EDITOR_GROUP)
        return [tool for tool in chosen(present, wanted) if tool.effect == "read" or not self.only_reads]

    def registry(
        self, files: FileToolsFacade | Roots, tools: Sequence[AnyTool], log: CallLog, *, owner: str
    ) -> ToolRegistry:
        """Return the tools of one caller, identified by `owner`, in one workspace or, of a dialect, in several folders."""
        if self.dialect is not None:
            return self.dialect.registry(files, tools=tools, log=log)
        assert isinstance(files, FileToolsFacade)  # only dialects serve several folders
        # A name given over a network must not give access to the descriptors of a client on this machine.
        owner = f"shared {owner}" if self.is_shared else owner
        # Programs that request JSON get whole results: a page of a descriptor would not match the published schema.
        kept = None if self.structured else descriptors_for(files, tools, owner=owner, is_opaque=self.is_shared)
        # Callers may share a session unknowingly: a version that one has read must not let another overwrite the file.
        return ToolRegistry(files, tools, require_version=True, log=log, descriptors=kept)
