"""What the operator decides about a door; no client can."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from filetools.errors import InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.tools.call_log import CallLog
from filetools.tools.dialects import Dialect
from filetools.tools.handlers.descriptors import descriptors_for
from filetools.tools.registry import FILE_TOOLS, ToolRegistry, chosen
from filetools.tools.tool import AnyTool

DEFAULT_GROUP = "core"
EDITOR_GROUP = "editor"


class DoorOptions(Struct, frozen=True, kw_only=True):
    """How one door is built."""

    tools: tuple[str, ...] | None = None
    """Names of groups and of single tools; None for the group "core", or all of the dialect."""
    dialect: Dialect | None = None
    """Whose names and shapes the tools have; None for our own."""
    is_editor: bool = False
    """Whether the client is an editor that a person uses: its calls are the person's, and it gets the group "editor"."""
    only_reads: bool = False
    """Whether tools that change something are left out; that they are refused, too, is for the permissions."""
    structured: bool = False
    """Whether results go to programs, too, as JSON with an output schema."""
    is_deferred: bool = False
    """Whether a client that loads tools when they are searched for may do so with the tools of files, too."""
    asks: bool = True
    """Whether questions go to the person at the client; for clients that are trusted to show them to one."""
    is_shared: bool = False
    """Whether clients reach it over a network: ids of their descriptors are random then, and expire."""
    session: str | None = None
    """Session of requests that name none, for a client over standard streams; None for one of the door's own."""
    file_root: Path | None = None
    """Where the root lies, if `file://` addresses below it are understood; for clients on the same machine."""

    @property
    def kind(self) -> Literal["agent", "editor"]:
        """What sort of party the clients are."""
        return "editor" if self.is_editor else "agent"

    def selected(self, registered: Iterable[AnyTool] = FILE_TOOLS) -> list[AnyTool]:
        """Return the tools that the door offers.

        Raises:
            InvalidArgumentError: There is no group and no tool of a name, or a dialect is asked for what it has not.
        """
        if self.dialect is not None:
            if self.is_editor or self.structured:
                what = "the tools of editors" if self.is_editor else "other results than those of its product"
                raise InvalidArgumentError(f"The dialect {self.dialect.name!r} has not {what}")
            present, wanted = self.dialect.tools, self.tools or (self.dialect.name,)
        else:
            present, wanted = tuple(registered), self.tools or (DEFAULT_GROUP,)
        if self.is_editor:
            wanted = (*wanted, EDITOR_GROUP)
        return [tool for tool in chosen(present, wanted) if tool.effect == "read" or not self.only_reads]

    def registry(self, files: FileToolsFacade, tools: Sequence[AnyTool], log: CallLog, *, owner: str) -> ToolRegistry:
        """Return the tools of one caller, who is told from others by `owner`."""
        if self.dialect is not None:
            return self.dialect.registry(files, tools=tools, log=log)
        # A name that a client gives itself over a network opens nothing that a client on this machine was given.
        owner = f"shared {owner}" if self.is_shared else owner
        # Programs that ask for results as JSON get them whole: a frame does not have the published shape.
        kept = None if self.structured else descriptors_for(files, tools, owner=owner, is_opaque=self.is_shared)
        return ToolRegistry(files, tools, log=log, descriptors=kept)
