"""What whoever starts the door decides about it; no client can."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filetools.tools import FILE_TOOLS, AnyTool, chosen

DEFAULT_GROUP = "core"
EDITOR_GROUP = "editor"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorOptions:
    """How one door is built."""

    tools: tuple[str, ...] = (DEFAULT_GROUP,)
    """Names of groups and of single tools."""
    is_editor: bool = False
    """Whether the client is an editor that a person uses: its calls are the person's, and it gets the group "editor"."""
    only_reads: bool = False
    """Whether tools that change something are left out; that they are refused, too, is for the permissions."""
    structured: bool = False
    """Whether bodies go to programs, too, with an output schema."""
    file_root: Path | None = None
    """Where the root lies, if `file://` addresses below it are understood; for clients on the same machine."""

    @property
    def kind(self) -> Literal["agent", "editor"]:
        """What sort of party the clients are."""
        return "editor" if self.is_editor else "agent"

    def selected(self, registered: Iterable[AnyTool] = FILE_TOOLS) -> list[AnyTool]:
        """Return the tools that the door offers.

        Raises:
            InvalidArgumentError: There is no group and no tool of a name.
        """
        wanted = (*self.tools, EDITOR_GROUP) if self.is_editor else self.tools
        return [tool for tool in chosen(registered, wanted) if tool.effect == "read" or not self.only_reads]
