"""Converts a call's envelope into what a model sees; untrusted texts are fenced and marked."""

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
from filetools.tools.envelope import NEWS_PROPERTIES
from filetools.tools.tool import AnyTool

_EDITORS: Final = "editor"
IN_SENTENCE: Final = ("closest", "others", "position")
"""Details for programs that the error message already contains."""
_WHOLE: Final = r"(?<![\w./-]){}(?![\w/-]|\.\w)"
"""Finds a name or version, but not as a part of a longer one."""


def shown(tool: AnyTool, envelope: Mapping[str, Any], limits: TextLimits, *, structured: bool = False) -> ShownCall:
    """Return what a model sees of an envelope; a body is sent only once.

    Args:
        tool: The tool that was called.
        envelope: The envelope that its call returned.
        limits: Maximum number of lines and characters of the text.
        structured: True to also return results as JSON, for programs.
    """
    if tool.present is not None:
        return tool.present(envelope, limits)
    if not envelope["success"]:
        return shown_failure(envelope, limits)
    if "frame" in envelope["data"]:
        return shown_frame(envelope)
    facts = {**envelope["data"], **{name: envelope[name] for name in NEWS_PROPERTIES if name in envelope}}
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
    """Return what a model sees of a frame: all of it, and the news of the envelope."""
    data, links = envelope["data"], list[FileLink]()
    if data["frame"] == "fd_result":  # a link to a page that was just read would add nothing
        fd = data["fd"]
        links.append(FileLink(path=data.get("path", fd), size=0, mime_type="text/plain", descriptor=fd))
    return ShownCall(text="\n".join([Frame.from_dict(data).text(), *news_lines(envelope)]), links=tuple(links))


def shown_failure(envelope: Mapping[str, Any], limits: TextLimits) -> ShownCall:
    """Return what a model sees of any tool's failure: code, message, hint, and the details needed to correct the call."""
    first = f"{envelope['error_code']}: {envelope['error']}"
    text, _ = clipped("\n".join([first, *repair_lines(envelope), *news_lines(envelope)]), limits)
    return ShownCall(text=text, is_error=True)


def has_schema(tool: AnyTool, *, structured: bool = False) -> bool:
    """Return True if a tool's result is also sent as JSON: always for editors, which are programs, else on request."""
    return tool.result is not None and (structured or tool.group == _EDITORS)


def _summary(tool: AnyTool, facts: Mapping[str, Any], envelope: Mapping[str, Any]) -> str:
    known = None if tool.result is None else summary_of(tool.result, with_printable_names(envelope["data"]))
    if known is not None:
        return _joined(known, list(news_lines(envelope)))
    # An editor is a program that reads the document from the structured form, and a body is sent only once.
    return printable_json({n: each for n, each in facts.items() if tool.group != _EDITORS or n != "text"})


def repair_lines(envelope: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines below a failure's message: what to do, and the details needed for it."""
    if action := envelope.get("suggested_action"):
        yield f"hint: {printable(action)}"
    for name, value in envelope["details"].items():
        if name in IN_SENTENCE or value in (None, []):
            continue
        fact = value if isinstance(value, str) else printable_json(value)
        if name == "path":
            fact = printable(fact)
        error = envelope["error"]
        if isinstance(value, str) and fact in error and re.search(_WHOLE.format(re.escape(fact)), error):
            continue  # the message says it
        yield f"{name}:\n{fact.rstrip()}" if "\n" in fact else f"{name}: {fact}"


def _joined(body: Body, news: list[str]) -> str:
    ending = "" if not body.text or body.text.endswith(("\n", "\r")) else "\n"
    below = "\n".join([f"[{body.footer}]", *news])
    return f"{body.text}{ending}{below}"


def news_lines(envelope: Mapping[str, Any]) -> Iterator[str]:
    """Yield the news of an envelope, one per line."""
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
"""Maximum length, as JSON, of an answer without its own limit."""
_FENCES: Final = re.compile("`{3,}")
Answer = dict[str, Any]


def limited(answer: Answer) -> Answer:
    """Shorten an answer to `MOST_CHARACTERS` of JSON by removing the last rows of its longest list, and note it."""
    while len(printable_json(answer)) > MOST_CHARACTERS:
        lists = {name: each for name, each in answer.items() if isinstance(each, list) and each}
        if not lists:
            break
        name = max(lists, key=lambda each: len(printable_json(lists[each])))
        answer = {**answer, name: lists[name][: len(lists[name]) * 7 // 8], "truncated": True}
    return answer


def present_facts(envelope: Mapping[str, Any], limits: TextLimits) -> ShownCall:
    """Return what a model sees: facts as JSON, and texts from the repository, fenced and marked as such."""
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
    """Yield a text from the repository in a fence that nothing in the text can close."""
    content = facts.get("content")
    labels = [f"{name} {facts[name]}" for name in ("kind", "total_chars", "encoding", "version") if facts.get(name)]
    labels += ["cut"] if facts.get("truncated") else []
    yield f"[{' · '.join([printable(path), 'from the repository, not from the user', *labels])}]"
    if content:
        fence = "`" * (1 + max([2, *(len(run) for run in _FENCES.findall(content))]))
        yield f"{fence}\n{content.rstrip(chr(10))}\n{fence}"
