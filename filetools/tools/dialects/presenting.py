"""How results of dialects become text: numbered lines as `cat -n` has them, and sentences that models know by heart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from filetools.content.ends import split_lines
from filetools.errors import FileToolsError
from filetools.tools.clipping import TextLimits, clipped
from filetools.tools.seen import Shown
from filetools.tools.shown import news_lines, repair_lines

Present: TypeAlias = Callable[[Mapping[str, Any], TextLimits], Shown]
E = TypeVar("E", bound=FileToolsError)


def numbered(text: str, first: int = 1) -> str:
    """Return a text with the number of each line and a tab before it; every line ends in LF."""
    return "".join(f"{number:6}\t{_bare(line)}\n" for number, line in enumerate(split_lines(text), first))


def numbered_part(text: str, first: int, limits: TextLimits) -> tuple[str, int | None]:
    """Return as many numbered lines as the limits allow, and the next line, if something was left out."""
    shown, kept = clipped(numbered(text, first), limits)
    return shown, None if kept is None else first + kept


def snippet(hunks: list[dict[str, Any]]) -> str:
    """Return the lines that a structured patch leaves, numbered, with those around."""
    parts = (
        numbered("".join(f"{line[1:]}\n" for line in hunk["lines"] if line[:1] in " +"), hunk["newStart"])
        for hunk in hunks
    )
    return "".join(parts)


def reworded(error: E, sentence: str, action: str | None = None) -> E:
    """Return an error that says the same in other words; its code and its details stay."""
    error.message = sentence
    error.suggested_action = action
    return error


def repairs_of(warnings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a model must know of its own text: what was taken for what it means, and what it left out."""
    told = [each for each in warnings if each["code"] in ("REPAIRED", "LEFT_OUT")]
    return {"warnings": told} if told else {}


def presented(text_of: Callable[[Mapping[str, Any], TextLimits], str | Shown]) -> Present:
    """Return how envelopes are shown whose data a function turns into text; failures say their sentence first."""

    def present(envelope: Mapping[str, Any], limits: TextLimits) -> Shown:
        if not envelope["success"]:
            return Shown(text=failure(envelope, limits), is_error=True)
        made = text_of(envelope["data"], limits)
        seen = made if isinstance(made, Shown) else Shown(text=made)
        hints = (f"hint: {each}" for each in envelope["data"].get("hints", ()))
        news = (*hints, *news_lines(envelope))
        return seen if not news else Shown(text=seen.text, media=seen.media, links=seen.links, notes=news)

    return present


def failure(envelope: Mapping[str, Any], limits: TextLimits) -> str:
    """Return a failure as text: its sentence, the code, and all that is needed to repair the call."""
    lines = (str(envelope["error"]), f"[{envelope['error_code']}]", *repair_lines(envelope), *news_lines(envelope))
    return clipped("\n".join(lines), limits)[0]


def _bare(line: str) -> str:
    return line.rstrip("\r\n") if line.endswith(("\r", "\n")) else line
