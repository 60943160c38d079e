"""What a door shows a model of one call: the text, what stands beside it, and texts of strangers fenced and marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from filetools.descriptors.frames import Frame
from filetools.models.records import sayable
from filetools.printable import printable, printable_json, with_printable_names
from filetools.tools.answers.bodies import Body, body_of, short
from filetools.tools.answers.seen import FileLink, ShownCall, TextLimits, clipped, media_of
from filetools.tools.answers.summaries import summary_of
from filetools.tools.tool import AnyTool

_EDITORS: Final = "editor"
NEWS: Final = ("warnings", "changed_since_read", "changed_since_read_more", "instructions")
"""What an envelope tells beside its data."""
IN_SENTENCE: Final = ("closest", "others")
"""Details for programs, of which the sentence of the error has all."""


def shown(tool: AnyTool, envelope: Mapping[str, Any], limits: TextLimits, *, structured: bool = False) -> ShownCall:
    """Return what a model gets to see of an envelope; a body travels once.

    Args:
        tool: The tool that was called.
        envelope: What its call returned.
        limits: Most lines and characters of the text.
        structured: Whether programs asked for results as JSON, too.
    """
    if tool.present is not None:
        return tool.present(envelope, limits)
    if not envelope["success"]:
        return shown_failure(envelope, limits)
    if "frame" in envelope["data"]:
        return shown_frame(envelope)
    facts = {**envelope["data"], **{name: envelope[name] for name in NEWS if name in envelope}}
    program = facts if has_schema(tool, structured=structured) else None
    if not tool.has_body:
        return ShownCall(text=_summary(tool, facts, envelope), structured=program)
    media, links = media_of(envelope["data"])
    body = body_of(with_printable_names(envelope["data"]), limits)
    cut = (FileLink.of(envelope["data"]),) if body.is_cut and not links and "size" in envelope["data"] else ()
    hints = (f"hint: {each}" for each in envelope["data"].get("hints", ()))
    text = _joined(body, [*hints, *news_lines(envelope)])
    return ShownCall(text=text, structured=program, media=media, links=links or cut)


def shown_frame(envelope: Mapping[str, Any]) -> ShownCall:
    """Return what a model gets to see of a frame: the whole of it, and what is told beside it."""
    data, links = envelope["data"], list[FileLink]()
    if data["frame"] == "fd_result":  # of a page that was read there is nothing more behind the link
        fd = data["fd"]
        links.append(FileLink(path=data.get("path", fd), size=0, mime_type="text/plain", descriptor=fd))
    return ShownCall(text="\n".join([Frame.from_dict(data).text(), *news_lines(envelope)]), links=tuple(links))


def shown_failure(envelope: Mapping[str, Any], limits: TextLimits) -> ShownCall:
    """Return what a model gets to see of a failure, of whatever tool: code, hint, and what is needed to repair the call."""
    first = f"{envelope['error_code']}: {envelope['error']}"
    text, _ = clipped("\n".join([first, *repair_lines(envelope), *news_lines(envelope)]), limits)
    return ShownCall(text=text, is_error=True)


def has_schema(tool: AnyTool, *, structured: bool = False) -> bool:
    """Whether a tool's result goes to programs, too: always to editors, which are programs, else where it was asked for."""
    return tool.result is not None and (structured or tool.group == _EDITORS)


def _summary(tool: AnyTool, facts: Mapping[str, Any], envelope: Mapping[str, Any]) -> str:
    known = None if tool.result is None else summary_of(tool.result, with_printable_names(envelope["data"]))
    if known is not None:
        return _joined(known, list(news_lines(envelope)))
    # An editor is a program: it takes the document from the structured form, and a body travels once.
    return printable_json({n: each for n, each in facts.items() if tool.group != _EDITORS or n != "text"})


def repair_lines(envelope: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a failure tells below its sentence: what to do, and what is needed for it."""
    if action := envelope.get("suggested_action"):
        yield f"hint: {printable(action)}"
    for name, value in envelope["details"].items():
        if name in IN_SENTENCE or value in (None, []):
            continue
        if name == "path":
            yield f"path: {printable(value)}"
        elif isinstance(value, str) and "\n" in value:
            yield f"{name}:"
            yield value.rstrip("\n")
        else:
            yield f"{name}: {value if isinstance(value, str) else printable_json(value)}"


def _joined(body: Body, news: list[str]) -> str:
    ending = "" if not body.text or body.text.endswith(("\n", "\r")) else "\n"
    below = "\n".join([f"[{body.footer}]", *news])
    return f"{body.text}{ending}{below}"


def news_lines(envelope: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an envelope tells beside its data, a line each."""
    for warning in envelope.get("warnings", ()):
        yield printable(f"warning: {warning.get('code', '')}: {warning.get('message', '')}")
    for changed in envelope.get("changed_since_read", ()):
        became = f"version {short(changed['version'])}" if "version" in changed else "deleted"
        yield f"changed since you saw it: {printable(changed['path'])} by {printable(sayable(changed['by']))}, {became}"
    if more := envelope.get("changed_since_read_more"):
        yield f"changed since you saw them: {more} more files"
    for path in envelope.get("instructions", ()):
        yield f"instructions: {printable(path)} applies here; read it before you change files here"


MOST_CHARACTERS: Final = 8_000
"""Of an answer, as JSON, that has no limit of its own."""
_FENCES: Final = re.compile("`{3,}")
Answer = dict[str, Any]


def limited(answer: Answer, most: int = MOST_CHARACTERS) -> Answer:
    """Return an answer whose JSON has at most so many characters: the longest list loses its last rows, and it says so."""
    while len(printable_json(answer)) > most:
        lists = {name: each for name, each in answer.items() if isinstance(each, list) and each}
        if not lists:
            break
        name = max(lists, key=lambda each: len(printable_json(lists[each])))
        answer = {**answer, name: lists[name][: len(lists[name]) * 7 // 8], "truncated": True}
    return answer


def present_facts(envelope: Mapping[str, Any], limits: TextLimits) -> ShownCall:
    """Return what a model gets to see: facts as JSON; texts of the repository fenced, and marked as such."""
    if not envelope["success"]:
        return shown_failure(envelope, limits)
    data = dict(envelope["data"])
    rows: list[str] = []
    if isinstance(data.get("content"), str):
        rows += _quoted(data.pop("path"), data)
    elif data.get("files") and "kind" in data["files"][0]:
        for each in data.pop("files"):
            rows += _quoted(each["path"], each)
    if data and (not rows or "content" not in data):
        rows.append(printable_json(data))
    return ShownCall(text="\n".join([*rows, *news_lines(envelope)]))


def _quoted(path: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield a text that stands in the repository: nothing in it can end the fence around it."""
    content = facts.get("content")
    told = [f"{name} {facts[name]}" for name in ("kind", "total_chars", "encoding", "version") if facts.get(name)]
    told += ["cut"] if facts.get("truncated") else []
    yield f"[{' · '.join([printable(path), 'from the repository, not from the user', *told])}]"
    if content:
        fence = "`" * (1 + max([2, *(len(run) for run in _FENCES.findall(content))]))
        yield f"{fence}\n{content.rstrip(chr(10))}\n{fence}"
