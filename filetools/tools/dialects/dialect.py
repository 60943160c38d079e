"""Defines a dialect: tools with the names and schemas of another product, on our engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct, field, structs

from filetools.content.ends import split_lines
from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.printable import with_printable_names
from filetools.tools.answers.offered import Names
from filetools.tools.answers.seen import ShownCall, TextLimits, clipped
from filetools.tools.answers.shown import news_lines, repair_lines
from filetools.tools.call_log import CallLog
from filetools.tools.registry import ToolRegistry
from filetools.tools.roots import Roots
from filetools.tools.tool import AnyTool

UNSAVED: Final = "The change is in the unsaved text of an open document; the file has it when the person saves."
Present: TypeAlias = Callable[[Mapping[str, Any], TextLimits], ShownCall]
E = TypeVar("E", bound=FileToolsError)


def numbered(text: str, first: int = 1) -> str:
    """Return a text with each line prefixed by its number and a tab; every line ends in LF."""
    lines = (line.rstrip("\r\n") for line in split_lines(text))
    return "".join(f"{number:6}\t{line}\n" for number, line in enumerate(lines, first))


def snippet(hunks: list[dict[str, Any]]) -> str:
    """Return the new and context lines of a structured patch, numbered."""
    parts = (
        numbered("".join(f"{line[1:]}\n" for line in hunk["lines"] if line[:1] in " +"), hunk["newStart"])
        for hunk in hunks
    )
    return "".join(parts)


def reworded(error: E, sentence: str, action: str | None = None) -> E:
    """Replace the message and suggested action of an error; its code and details stay."""
    error.message = sentence
    error.suggested_action = action
    return error


def repairs_of(warnings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the warnings that a model must know about its change: repaired input and broken hard links."""
    kept = [each for each in warnings if each["code"] in ("REPAIRED", "HARD_LINK_BROKEN")]
    return {"warnings": kept} if kept else {}


def presented(text_of: Callable[[Mapping[str, Any], TextLimits], str | ShownCall]) -> Present:
    """Return a `present` function that shows data as text by `text_of`, and failures with their message first."""

    def present(envelope: Mapping[str, Any], limits: TextLimits) -> ShownCall:
        if not envelope["success"]:
            first = (str(envelope["error"]), f"[{envelope['error_code']}]")
            lines = (*first, *repair_lines(envelope), *news_lines(envelope))
            return ShownCall(text=clipped("\n".join(lines), limits)[0], is_error=True)
        made = text_of(with_printable_names(envelope["data"]), limits)
        seen = made if isinstance(made, ShownCall) else ShownCall(text=made)
        hints = (f"hint: {each}" for each in envelope["data"].get("hints", ()))
        news = (*hints, *news_lines(envelope))
        return seen if not news else ShownCall(text=seen.text, media=seen.media, links=seen.links, notes=news)

    return present


class Dialect(Struct, frozen=True, kw_only=True):
    """A set of tools that models or programs know from elsewhere. Their group is the name of the dialect."""

    name: str
    tools: tuple[AnyTool, ...]
    instructions: str | None = None
    """Instructions for clients about the tools as a whole."""
    takes_absolute_paths: bool = False
    """True if its paths are absolute paths inside a root."""
    takes_several_roots: bool = False
    """True if one set of its tools can serve several roots."""
    hosted: Mapping[str, Any] | None = None
    """The definition expected by a provider that has these tools built in, instead of their own definitions."""
    names: Names = field(default_factory=Names)
    """Its names for our tools and actions; `registry` adds the names of its own tools."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Its own defaults for settings."""

    def registry(
        self,
        files: FileToolsFacade | Roots,
        *,
        tools: Iterable[AnyTool] | None = None,
        log: CallLog | None = None,
    ) -> ToolRegistry:
        """Return the tools of one actor.

        Args:
            files: The actor's workspace, or the folders served to it.
            tools: The tools to offer, if not all.
            log: Log of the calls.
        """
        if isinstance(files, FileToolsFacade) and self.takes_absolute_paths:
            files = Roots.of(files)
        first, served = (files.first.files, files) if isinstance(files, Roots) else (files, None)
        offered = self.tools if tools is None else tools
        names = structs.replace(self.names, all=frozenset(tool.name for tool in self.tools))
        # Its tools cannot name a version, so replacing a file requires an actor that has read all of it.
        return ToolRegistry(
            first, offered, require_version=False, require_read=True, roots=served, log=log, dialect=names
        )
